/*
 * sum_order.h - the order in which a plan adds up the gradients of a commit.
 *
 * Plans that flush and add in the same order make the same weights, to the bit, however the model is cut and whatever
 * the system is called: each stage computes the same products from the same weights.
 */
#ifndef MR_IR_SUM_ORDER_H
#define MR_IR_SUM_ORDER_H

#include "ir/plan.h"

/**
 * A hash of the order that all stages of @p share: micro-batches of each pipe, the pipes in theirs. A product of
 * several micro-batches adds them in their order, so spans are no difference. False: there is none, since the plan does
 * not flush at each commit, its stages have different orders, or its replicas differ.
 */
bool mr_plan_sum_order(const mr_plan *p, uint64_t *hash);

#endif
