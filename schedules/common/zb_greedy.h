/*
 * zb_greedy.h - the search behind zb_auto: which of F, I and W each worker does next, for given costs and memory.
 *
 * A plan is put together in order of micro-batches while the times of all that was placed are kept, so that each
 * choice can ask "would the worker wait for this, and could a weight gradient fill the wait?". Eight ways of choosing
 * are tried and the best is kept. What a way is: see the three switches in zb_greedy.c.
 *
 * Memory is counted in forwards: F takes 1, I gives back one half (what the weight gradient does not need), W the
 * other. Within one kind micro-batches go in order on every worker, so a list of kinds says all.
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
	double span; /* the longest worker's last end - first start, every instruction as soon as it can */
} mr_zb_order;

/**
 * Find an order for @p; the caller frees out->op. Time: O(D T). The same costs give the same order: sums are formed in
 * one fixed way. Errors: MR_ERESOURCE.
 */
mr_status mr_zb_greedy(const mr_zb_problem *p, mr_zb_order *out) MR_MUST_USE;

#endif
