/*
 * exec.h - the step loop: the one place that carries out an instruction.
 *
 * Training, evaluation, benchmark and replay all come through here. An instruction goes through three steps: acquire
 * what it waits for (messages, buffers, versions), compute, release what others wait for. Acquiring never blocks by
 * itself: the engine waits between tries, the replay turns to another worker. So both see the same arithmetic in the
 * same order per worker, and the bits agree whatever the timing.
 */
#ifndef MR_EXEC_EXEC_H
#define MR_EXEC_EXEC_H

#include "exec/run.h"

/* An instruction with its numbers resolved. */
typedef struct mr_task {
	mr_links *links;
	mr_links_stage *st; /* the instruction's, in its pipe; neighbours lie beside it */
	const mr_instr *in;
	uint64_t n, micro, version; /* version: read by F..W (whatever they commit), committed by N, AR, U */
} mr_task;

/** The next task of worker @w in @links before pause point @until, or false when it stands there (or has no part in
 * them). */
bool mr_exec_next(mr_worker *w, mr_links *links, uint64_t until, mr_task *out);

/** Move the cursor past the instruction that mr_exec_next showed. */
void mr_exec_advance(mr_worker *w, mr_links *links);

/** Try to acquire; MR_WAIT_NONE: all is there. What was acquired stays so until mr_exec_do. An impossible message is
 * MR_EINVAL in *@status. */
mr_wait_cause mr_exec_acquire(mr_worker *w, const mr_task *t, mr_status *status);

/** Forget what was acquired for an instruction that is not to come: its links are reset before a worker runs again.
 * Idle. */
void mr_exec_drop(mr_worker *w);

/** Acquire, sleeping in between; waits are booked by cause. Errors: MR_ESTOPPED. */
mr_status mr_exec_wait(mr_worker *w, mr_task *t) MR_MUST_USE;

/** Compute and release. */
mr_status mr_exec_do(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** All workers stand at one pause point: make steps of @w's stages certain that were taken on trust, and wait until
 * the latest weights have come. On the worker's thread. Errors: MR_ESTOPPED, MR_EDIVERGED. */
mr_status mr_exec_settle(mr_worker *w) MR_MUST_USE;

/**
 * Worker @w's whole part of @links up to pause point *@limit: next, wait, do, advance. On the worker's thread. The
 * limit is read at every pause point and may be moved meanwhile (engine.c); worker->begun says how many are passed.
 */
mr_status mr_exec_run(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit) MR_MUST_USE;

#endif
