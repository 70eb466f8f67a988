/*
 * zb_greedy.h - the search behind zb_auto: which of F, I and W each worker does next, for given costs and memory.
 *
 * A plan is built in the order of the micro-batches together with the times of its instructions, so that each choice
 * can depend on whether the worker would wait and whether a weight gradient could fill the wait. Eight rules of choice
 * are tried and the best is kept: all settings of the three switches in zb_greedy.c.
 *
 * Memory is counted in forwards: F takes 1, I frees one half (which the weight gradient does not need), W the other.
 * Within one kind micro-batches go in order on every worker, so a list of kinds determines the plan.
 */
#ifndef MR_SCHEDULES_ZB_GREEDY_H
#define MR_SCHEDULES_ZB_GREEDY_H

#include "ir/cost.h"
#include "ir/plan.h"

typedef struct mr_zb_problem {
	uint16_t n_workers;        /* D; worker w hosts stage w */
	uint32_t n_micro;          /* T */
	const mr_stage_cost *cost; /* [D] */
	double cap;                /* most that a worker may hold, in forwards, at least 1; INFINITY: no limit */
} mr_zb_problem;

typedef struct mr_zb_order {
	uint8_t *op; /* [D][3 T] MR_OP_F, I or W; the k-th of its kind is micro-batch k */
	double span; /* the longest last end - first start of a worker, with every instruction as early as possible */
} mr_zb_order;

/**
 * Find an order for @p; the caller frees out->op. Time: O(D T). The same costs give the same order: sums are formed in
 * one fixed way. Errors: MR_ERESOURCE.
 */
mr_status mr_zb_greedy(const mr_zb_problem *p, mr_zb_order *out) MR_MUST_USE;

#endif
