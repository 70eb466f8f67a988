/*
 * bend.h - applies the options of a walk to times, as hooks of the function that computes them
 * (timing/unroll_time.h), or of single instructions for an executor that finds its order as it goes.
 */
#ifndef MR_TIMING_BEND_H
#define MR_TIMING_BEND_H

#include "timing/walk.h"

typedef struct mr_bend {
	const mr_walk_opts *p; /* borrowed */
	mr_time_hooks hooks;
	bool *slow;             /* [n_workers] the worker has stragglers */
	uint64_t first;         /* the iteration of the plan that is iteration 0 of the graph */
} mr_bend;

/** Check @p and @cost for @plan and fill @b, which must not move. The caller calls fini, also after an
 * error. Errors: MR_EINVAL with a message; MR_ERESOURCE. */
mr_status mr_bend_init(mr_bend *b, const mr_plan *plan, const mr_cost *cost, const mr_walk_opts *p) MR_MUST_USE;
void mr_bend_fini(mr_bend *b);

/** The end of @in of micro-batch @micro on worker @w, which begins at @begin and takes @duration by the table. */
double mr_bend_end(const mr_bend *b, const mr_instr *in, uint64_t micro, uint16_t w, double begin, double duration);

#endif
