/*
 * greedy.h - greedy 1F1B: the order in which each stage of a straight pipeline takes the instructions that are ready.
 */
#ifndef MR_SCHEDULES_GREEDY_H
#define MR_SCHEDULES_GREEDY_H

#include "ir/cost.h"
#include "ir/plan.h"

typedef struct mr_greedy {
	uint16_t n_stages;
	uint32_t n_micro;
	uint8_t *op; /* [n_stages][2 * n_micro] MR_OP_F or MR_OP_B, each of the next micro-batch of its kind. Owned */
} mr_greedy;

/**
 * Run @n_micro micro-batches through @n_stages stages of costs @cost (a row a stage; B is i + w) on a virtual clock.
 * Stage 0 has at most @in_flight under way, the others as many as reach them. Where both are ready, a stage takes B
 * until it has done one, and from then on whichever it did not do last. Workers look at the clock at the same moments,
 * so nothing depends on their number. Time: O(n_stages^2 n_micro). Errors: MR_ERESOURCE.
 */
mr_status mr_greedy_run(const mr_stage_cost *cost, uint16_t n_stages, uint32_t in_flight, uint32_t n_micro,
			mr_greedy *out) MR_MUST_USE;
void mr_greedy_fini(mr_greedy *g);

/**
 * The first version from which on every stage makes each with one F and one B, in this order, as far as the record
 * shows (until the forwards run out). UINT32_MAX: it does not settle.
 */
uint32_t mr_greedy_steady(const mr_greedy *g, uint32_t in_flight);

#endif
