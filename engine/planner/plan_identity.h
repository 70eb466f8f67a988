/*
 * plan_identity.h - the identity of a run's plan: a hash of everything that decides the weights.
 *
 * mr_plan_hash covers everything that executors follow. But the same compute instructions, under the same contract,
 * give the same weights to the bit whether a step is an instruction of its own or is carried out inside the B before
 * it, for any number of slots and buffers, and whether a step that is not clipped is followed by a barrier or not.
 * Such plans have one identity for a checkpoint, for a benchmark and for users who compare two outputs, also if one
 * was lowered for a run, another for a picture and a third was read from a file.
 */
#ifndef MR_PLANNER_PLAN_IDENTITY_H
#define MR_PLANNER_PLAN_IDENTITY_H

#include "ir/plan.h"

/**
 * *@out: the mr_plan_hash that @plan would have if it were lowered without options, with MR_FLUSH_LOCAL for a
 * barrier without clipping, and with every W on its stage's worker. @plan is lowered and has passed mr_plan_check. A
 * plan that the lowering cannot have made (versions or sums set by hand) keeps its own mr_plan_hash. Errors:
 * MR_ERESOURCE.
 */
mr_status mr_plan_identity(const mr_plan *plan, uint64_t *out) MR_MUST_USE;

/** The compute instructions of the lowered @plan as a schedule emits them, under the same contract, to be lowered
 * again. The caller destroys *@out. Errors: MR_ERESOURCE. */
mr_status mr_plan_emitted(const mr_plan *plan, mr_plan **out) MR_MUST_USE;

#endif
