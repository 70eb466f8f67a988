/* bound_cases.h - random problems of ordering: the lower bound, every order, and the best order that search finds. */
#ifndef MR_TESTS_SCHEDULES_BOUND_CASES_H
#define MR_TESTS_SCHEDULES_BOUND_CASES_H

#include "ir/cost.h"

#define BOUND_MOST_WORKERS 4u

typedef struct bound_case {
	uint16_t n_workers; /* 1 to BOUND_MOST_WORKERS, a stage each */
	uint32_t n_micro;
	mr_stage_cost stage[BOUND_MOST_WORKERS];
	uint32_t cap[BOUND_MOST_WORKERS]; /* most activations, each from its F to its W; 0: any number */
} bound_case;

/** Problem number @n of at most @workers workers and @micro micro-batches. */
bound_case bound_draw(uint64_t n, uint16_t workers, uint32_t micro);

/** The shortest makespan of all orders, passes split in halves; 0 where that takes more than @nodes states. */
double bound_exhaustive(const bound_case *c, uint64_t nodes);

/* When passes begin: of each worker F, I and W of each micro-batch. */
typedef double bound_begins[BOUND_MOST_WORKERS][3][16];

/** The earliest begin of each pass in any order; false where that takes more than @nodes states. */
bool bound_exhaust_begins(const bound_case *c, uint64_t nodes, bound_begins out);

/* Of one problem: what nothing can undercut, what search finds. */
typedef struct bound_result {
	double bound, found;
} bound_result;

bound_result bound_of(const bound_case *c, const char *sets);

#endif
