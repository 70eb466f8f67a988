/*
 * rpd_draw.h - draws the steps of Randomized PipeDream: the block, the minibatch, and the age of each read.
 *
 * Everything is a pure function of the parameters and the seed, step by step: any part of a run can be drawn by itself.
 * Step k reads block j at min(delay, k) updates of age (timing/aged.h).
 */
#ifndef MR_SCHEDULES_RPD_DRAW_H
#define MR_SCHEDULES_RPD_DRAW_H

#include "base/option.h"
#include "timing/aged.h"

typedef enum mr_rpd_order {
	MR_RPD_UNIFORM,  /* at random, independent of everything else */
	MR_RPD_CYCLIC,   /* k mod n; minibatches only */
	MR_RPD_TIMELINE, /* as in the backward passes of a greedy 1F1B in unit time */
} mr_rpd_order;

typedef enum mr_rpd_delays {
	MR_RPD_DELAY_UNIFORM, /* 0 .. min(delta, k), each block by itself */
	MR_RPD_DELAY_MAX,     /* min(delta, k) */
	MR_RPD_DELAY_ZERO,
	MR_RPD_DELAY_EXACT,   /* those of the greedy 1F1B's k-th update */
} mr_rpd_delays;

#define MR_RPD_NO_END (UINT64_MAX / 8)

typedef struct mr_rpd_params {
	uint16_t n_stages;
	uint64_t first;       /* the step that the drawn sequence calls 0 */
	uint32_t n_steps;
	uint64_t n_all;       /* where the timeline ends, in steps; MR_RPD_NO_END: nowhere; 0: first + n_steps */
	uint32_t n_batches;   /* minibatches in the data */
	mr_rpd_order stage, batch;
	mr_rpd_delays delays;
	uint32_t delta;
	uint64_t seed;
} mr_rpd_params;

/* Do the steps depend on where the timeline ends? */
static inline bool mr_rpd_has_timeline(const mr_rpd_params *p)
{
	return p->stage == MR_RPD_TIMELINE || p->batch == MR_RPD_TIMELINE || p->delays == MR_RPD_DELAY_EXACT;
}

/** Steps @p->first to @p->first + @p->n_steps - 1. Errors: MR_EINVAL for empty counts, MR_ERESOURCE. */
mr_status mr_rpd_draw(const mr_rpd_params *p, mr_aged **out) MR_MUST_USE;

#endif
