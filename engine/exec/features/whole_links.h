/*
 * whole_links.h - whole steps (ir/plan.h) by workers that share no memory.
 *
 * Workers that share memory have one copy of weights and optimizer state (mr_run.copy_of). Each copy makes all steps in
 * their order, from the same sums of gradients, so all copies have the same bits at each version:
 *
 *	a pipe that steps --[gradients]--> each other copy   the sum of a stage, once its own copy has made all steps
 *	                                                     before this one
 *	ring: pipe p - 1  --[gradients]--> pipe p            the sum so far, to where that one adds to it
 *
 * Who makes a step that another copy has begun? A worker that would wait looks whether the next one has come to its
 * copy, and makes it (mr_instead.help); at the end of its list it waits until all have been made. One worker of a copy
 * looks at a time. Another one that wants to asks it to look again, so it may sleep: what comes later wakes all of them
 * (mr_channel.beside).
 *
 * Rooms. Where each micro-batch is a step, a worker sends its sum when its copy has made all steps before. So what a
 * copy has not stepped yet lies between two steps of its own workers: it needs as many rooms for a pipe as that one
 * makes steps between these. In a ring B waits until its copy has made the step before, and no step is complete without
 * a B of each copy: so one room is enough. There the pipe that steps sends the sum behind its own step, and the first B
 * of the next sum waits for that step in its copy, so the buffer of a copy is free when a sum comes to it.
 *
 *	edge   writer                         reader                              what becomes visible
 *	W6/R6  a worker has looked (seq_cst)  the next one that looks (seq_cst)   which steps are next, the channels
 *
 * Thread: workers; create, choose, open and reset while none runs.
 */
#ifndef MR_EXEC_FEATURES_WHOLE_LINKS_H
#define MR_EXEC_FEATURES_WHOLE_LINKS_H

#include "exec/exec_internal.h"
#include "weights/ranges.h"

/* The workers that have one copy. */
typedef struct mr_whole_copy {
	_Alignas(MR_CACHE_LINE) _Atomic uint32_t turn; /* 0: no worker looks; 1: one does; 2: another wants to, too */
	/* What the worker that looks has, and what is constant. */
	_Alignas(MR_CACHE_LINE) uint64_t *next; /* [n_stages] the version that comes next */
	mr_parker **parker;                     /* [n_parkers] of its workers */
	uint32_t n_parkers;
} mr_whole_copy;

typedef struct mr_whole_links {
	uint32_t n_steps;    /* of an iteration */
	uint8_t *by;         /* [n_steps] the pipe that makes each */
	uint32_t *place;     /* [n_steps] of each among those of its pipe */
	uint32_t *n_of;      /* [n_pipes] steps of each pipe in an iteration */
	uint8_t *at;         /* [n_workers] the copy of each */
	mr_whole_copy *copy; /* [n_copies] */
	mr_range *totals;    /* [n_stages][n_pipes][n_copies] sums that a pipe steps, to the other copies, by the number
	                        of the pipe's steps */
	mr_range *sums;      /* [n_stages][n_pipes] ring: sums so far, to each pipe from the one before, by micro-batch
	                        */
} mr_whole_links;

/** For @run, whose micro-batches go through the pipes @pipe_of [n_micro] and which has several copies. Errors:
 * MR_ERESOURCE. */
mr_status mr_whole_links_create(mr_run *run, const uint8_t *pipe_of, mr_whole_links **out) MR_MUST_USE;
void mr_whole_links_destroy(const mr_run *run, mr_whole_links *l);

/** Choose the kinds of link. Errors: MR_ECONFIG; a copy that makes no step is one, too. */
mr_status mr_whole_links_choose(mr_run *run, mr_whole_links *l) MR_MUST_USE;

/** Open them: @sum [n_stages][n_pipes] are the pipes' own sums where there is no ring. Errors: MR_ERESOURCE, the
 * kind's. */
mr_status mr_whole_links_open(mr_run *run, mr_whole_links *l, uint8_t *const *sum) MR_MUST_USE;

/** Bytes outside the workers' regions of what @pipe sends of stage @s, and of its copy's rooms, which count in its
 * first pipe; chosen. */
uint64_t mr_whole_links_bytes(const mr_run *run, const mr_whole_links *l, uint8_t pipe, uint16_t s);

/** See mr_exec_each_sum. */
void mr_whole_links_each(const mr_run *run, const mr_whole_links *l,
			 void (*put)(void *arg, const mr_channel *c, double times), void *arg);

/** Nothing is under way to @copy of stage @s, which is at version @latest. */
void mr_whole_links_reset(mr_run *run, mr_whole_links *l, uint32_t copy, uint16_t s, uint64_t latest);

/** The sum of the step of @t's copy to its version, if it came from another copy; NULL: it is the copy's own. */
uint8_t *mr_whole_links_sum(const mr_run *run, const mr_whole_links *l, const mr_task *t);

/** The pipe of @t, a step of its own, sends what it steps to the other copies. */
void mr_whole_links_send(const mr_run *run, const mr_whole_links *l, const mr_task *t);

/** Ring: has the sum so far come, to which the B of @t adds? */
bool mr_whole_links_has_sum(const mr_run *run, const mr_whole_links *l, const mr_task *t);

/** Ring: the B of @t has added to it. */
void mr_whole_links_pass_sum(const mr_run *run, const mr_whole_links *l, const mr_task *t);

/** As mr_instead.help: make the next step of @w's copy of some stage that another copy has begun, if it has come. */
bool mr_whole_links_help(mr_worker *w, const mr_whole_links *l, mr_wait_cause cause, uint64_t since,
			 mr_status *status);

/** Wait until the copy of @w, whose list is carried out up to @step, has made all steps up to there. Errors: those of a
 * step, MR_ESTOPPED. */
mr_status mr_whole_links_leave(mr_worker *w, const mr_whole_links *l, uint64_t step) MR_MUST_USE;

#endif
