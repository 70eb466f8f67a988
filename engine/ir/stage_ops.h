/* stage_ops.h - which instructions a stage has, by the contract of its plan. */
#ifndef MR_IR_STAGE_OPS_H
#define MR_IR_STAGE_OPS_H

#include "ir/plan.h"

/** The ops of @stage, 1 << mr_op each; where backward passes are cut in halves, B stands for them. Any thread. */
uint32_t mr_stage_ops(const mr_plan *plan, uint16_t stage);

/* Has @stage instructions of @op? AR: several pipes with the same weights, or the uses of a tied parameter, sum into
 * buffers of their own. */
static inline bool mr_stage_has(const mr_plan *plan, uint16_t stage, mr_op op)
{
	return mr_stage_ops(plan, stage) >> op & 1;
}

/* Does its backward pass write a gradient for the stage before it, which has one then? */
static inline bool mr_stage_hands_back(const mr_plan *plan, uint16_t stage)
{
	return stage > 0 && mr_stage_has(plan, (uint16_t)(stage - 1), MR_OP_I);
}

/* Of passes over layers: forward, for inputs, for weights. */
enum { MR_PASSES = 3 };
extern const uint32_t mr_pass_ops[MR_PASSES];

/** Instructions in the body of @worker that carry out one of @ops, 1 << mr_op each, on @stage of @pipe (UINT32_MAX: of
 * any); @each: one for each micro-batch of theirs. Any thread. */
uint32_t mr_stage_count(const mr_plan *plan, uint16_t worker, uint32_t pipe, uint16_t stage, uint32_t ops, bool each);

/** The stage that trains @by places above @stage, 1 or 2, or below (-1, -2), of those that do; plan->n_stages: none. */
uint16_t mr_trained_beside(const mr_plan *plan, uint16_t stage, int by);

#endif
