/*
 * width_depth.h - how many pipelines of how many stages: the planner of PipeDream-2BW (Narayanan et al.,
 * arXiv:2006.09503) for a model of n equal blocks.
 *
 * Each of w pipelines has d stages of q = n / d blocks, w d = workers, and takes batch / (w b) micro-batches of b
 * samples, at least d. With t the time of a block for a sample, a its output, A what it keeps, p its weights, P = q p:
 *
 *	a batch   batch / (w b) max(q t b, 2 a b / B) + 2 (w - 1) / w P / B; recomputed: t with the forward pass twice
 *	memory    (2 + 1 + state) P + d q A b; recomputed: (2 + 1 + state) P + d a b + q A b
 *
 * The best is the one with the most samples a second that fits; of equal ones that without recomputation, then with the
 * larger b, then with the smaller d.
 */
#ifndef MR_PLANNER_WIDTH_DEPTH_H
#define MR_PLANNER_WIDTH_DEPTH_H

#include <stdbool.h>

#include "planner/layer_table.h"

typedef struct mr_width_depth_problem {
	mr_layer_row block;       /* of one sample */
	uint32_t n_blocks, n_workers;
	uint32_t batch;           /* samples */
	const uint32_t *micro;    /* [n_micro] sizes of a micro-batch to try */
	uint32_t n_micro;
	double bandwidth;         /* bytes per unit of time */
	double state;             /* bytes of the optimizer's state for each byte of weights */
	double capacity;          /* bytes of a worker; 0: no limit */
} mr_width_depth_problem;

typedef struct mr_width_depth {
	uint32_t width, depth, micro;
	bool recompute, fits;
	double bytes, time, rate; /* rate: samples per unit of time */
} mr_width_depth;

/**
 * All choices of @p with at least two stages, by depth, then micro-batch: the caller frees *@rows [*@n]. *@best is the
 * number of the best one, or *@n if none fits. Errors: MR_ERESOURCE.
 */
mr_status mr_width_depth_solve(const mr_width_depth_problem *p, mr_width_depth **rows, uint32_t *n,
			       uint32_t *best) MR_MUST_USE;

#endif
