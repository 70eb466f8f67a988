/*
 * sum_lists.h - in which order and grouping a system sums gradients, read off what its schedule emits: the oracle's
 * order is data from the source, not from the lowering that it judges.
 */
#ifndef MR_TESTS_SYSTEM_SUM_LISTS_H
#define MR_TESTS_SYSTEM_SUM_LISTS_H

#include "ir/plan.h"
#include "planner/partition.h"
#include "oracle.h"

typedef struct sum_lists {
	oracle_lists lists; /* borrows the rest */
	uint32_t *first, *begin, *micro;
} sum_lists;

/** Of an emitted plan (not lowered), whose stages are those of @cut. Stages with the same lists become one part. */
void sum_lists_of(const mr_plan *emitted, const mr_partition *cut, sum_lists *out);
void sum_lists_fini(sum_lists *l);

bool sum_lists_equal(const sum_lists *a, const sum_lists *b);

#endif
