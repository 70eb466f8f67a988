/*
 * exec.h - the step loop: the one place where instructions are carried out.
 *
 * Training, evaluation, benchmark and replay all use it. An instruction takes three steps: acquire its inputs
 * (messages, buffers, versions), compute, release its outputs to the instructions that wait for them. Acquiring never
 * blocks by itself: the engine waits between tries, the replay continues with another worker. So both do the same
 * arithmetic in the same order per worker, and the bits agree whatever the timing.
 */
#ifndef MR_EXEC_EXEC_H
#define MR_EXEC_EXEC_H

#include "exec/run.h"

/* An instruction with its numbers resolved. */
typedef struct mr_task {
	mr_links *links;
	mr_links_stage *st; /* the instruction's stage and pipe; neighbour stages lie beside it */
	const mr_instr *in;
	uint64_t n, micro, version; /* version: read by F..W (even if they commit one), committed by N, AR, U */
} mr_task;

/** The next task of worker @w in @links before pause point @until; false when it has reached that point, or has no part
 * in them. */
bool mr_exec_next(mr_worker *w, mr_links *links, uint64_t until, mr_task *out);

/** Move the cursor past the instruction that mr_exec_next returned. */
void mr_exec_advance(mr_worker *w, mr_links *links);

/** Try to acquire; MR_WAIT_NONE: all is acquired. Partial acquisitions are kept until mr_exec_do. A message that the
 * plan rules out is MR_EINVAL in *@status. */
mr_wait_cause mr_exec_acquire(mr_worker *w, const mr_task *t, mr_status *status);

/** Forget the acquisitions for an instruction that will not be carried out; its links are reset before a worker runs
 * again. Idle. */
void mr_exec_drop(mr_worker *w);

/** Acquire, sleeping in between; waits are recorded by cause. Errors: MR_ESTOPPED. */
mr_status mr_exec_wait(mr_worker *w, mr_task *t) MR_MUST_USE;

/** What the engine does by itself. */
extern const mr_instead mr_exec_own;

/** Compute and release. */
mr_status mr_exec_do(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** All workers are at one pause point: make unvalidated steps of @w's stages certain, and wait until
 * the latest weights have come. On the worker's thread. Errors: MR_ESTOPPED, MR_EDIVERGED. */
mr_status mr_exec_settle(mr_worker *w) MR_MUST_USE;

/**
 * Carry out worker @w's whole part of @links up to pause point *@limit: next, wait, do, advance. On the worker's
 * thread. The limit is read at every pause point and may change meanwhile (engine.c); worker->begun counts the points
 * passed.
 */
mr_status mr_exec_run(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit) MR_MUST_USE;

/** Whole steps (ir/plan.h) of workers that share no memory: call @put with each channel that brings sums of gradients,
 * and how many messages it carries in a step of @run. */
void mr_exec_each_sum(const mr_run *run, void (*put)(void *arg, const mr_channel *c, double times), void *arg);

/** Sharded weights (ir/plan.h): how often a step of @run fetches @stage for @pipe. */
uint32_t mr_exec_fetches(const mr_run *run, uint8_t pipe, uint16_t stage);

#endif
