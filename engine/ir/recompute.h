/*
 * recompute.h - a plan that needs less memory: the same order, with the forward passes of some stages run again before
 * their backward passes.
 */
#ifndef MR_IR_RECOMPUTE_H
#define MR_IR_RECOMPUTE_H

#include "ir/plan.h"

/**
 * Copy @plan, one iteration that flushes, into *@out with an R before each backward pass of the stages on workers 0 to
 * @n_workers - 1, which keep most micro-batches; not where the backward pass directly follows its forward pass. *@n:
 * how many R; the caller destroys *@out. Errors: MR_ERESOURCE.
 */
mr_status mr_plan_recompute(const mr_plan *plan, uint16_t n_workers, mr_plan **out, uint32_t *n) MR_MUST_USE;

#endif
