/*
 * interval_costs.h - what any run of a model's layers costs a team, for a planner that compares many cuts.
 *
 * By the cost model (cost_model.h), with the weights and activations of the run in the second caches or the L3 of the
 * team, whichever they fit, and what fits neither in memory; with measured costs, from those. Sums over all layers
 * before each one are made once, so a question takes no time. The workers of a node do not share its memory here: the
 * simulation of the finished plan lets them.
 */
#ifndef MR_COSTS_INTERVAL_COSTS_H
#define MR_COSTS_INTERVAL_COSTS_H

#include "costs/costs.h"

typedef struct mr_interval_sums mr_interval_sums;

typedef struct mr_interval_costs {
	mr_interval_sums *sum; /* [nodes + 1]; owned */
	double fits[2];        /* bytes that the team has in its second caches, in its L3 */
	double far_s, near_s;  /* of a byte that crosses to another worker */
} mr_interval_costs;

/* Of layers [first, end) and one micro-batch. */
typedef struct mr_interval_cost {
	mr_stage_cost time;     /* seconds */
	double weights, steps;  /* bytes of weights, one copy; of those that train */
	double kept;            /* bytes of activations that a micro-batch keeps until its backward pass */
	double in;              /* bytes that enter, and the gradients that leave the other way */
} mr_interval_cost;

/** For micro-batches of @samples samples and teams of @threads threads. The caller calls fini. Errors:
 * MR_ERESOURCE. */
mr_status mr_interval_costs_init(mr_interval_costs *c, const mr_workload *of, int64_t samples,
				 uint32_t threads) MR_MUST_USE;
void mr_interval_costs_fini(mr_interval_costs *c);

/** Seconds of a byte that crosses to another worker of @threads threads, of the same node and of another one. */
void mr_transfer_costs(const mr_workload *of, uint32_t threads, double *near_s, double *far_s);

mr_interval_cost mr_interval_costs_of(const mr_interval_costs *c, uint32_t first, uint32_t end);

#endif
