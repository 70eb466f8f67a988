/*
 * search_recompute.h - orders of `search` that need less memory: the same order, with the forward passes of some stages
 * run again before their backward passes.
 */
#ifndef MR_SCHEDULES_SEARCH_RECOMPUTE_H
#define MR_SCHEDULES_SEARCH_RECOMPUTE_H

#include "ir/plan.h"

/**
 * Copy @plan, one iteration that flushes, into *@out with an R before each backward pass of the stages on workers 0 to
 * @n_workers - 1, which keep most micro-batches; not where the backward pass directly follows its forward pass. *@n:
 * how many R; the caller destroys *@out. Errors: MR_ERESOURCE.
 */
mr_status mr_search_recompute(const mr_plan *plan, uint16_t n_workers, mr_plan **out, uint32_t *n) MR_MUST_USE;

#endif
