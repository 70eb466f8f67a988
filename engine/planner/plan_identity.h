/*
 * plan_identity.h - which plan a run is of: a hash of what decides the weights.
 *
 * mr_plan_hash is of everything that an executor obeys. But the same compute instructions, under the same contract,
 * give the same weights to the bit whether a step is an instruction of its own or is carried out inside the B before
 * it, whatever the number of slots and buffers, and whether a step that is not clipped is followed by a barrier or not.
 * Such plans are one plan to a checkpoint, to a benchmark and to readers of two lines of output, also where one
 * was lowered for a run, another one for a picture and a third one was read from a file.
 */
#ifndef MR_PLANNER_PLAN_IDENTITY_H
#define MR_PLANNER_PLAN_IDENTITY_H

#include "ir/plan.h"

/**
 * *@out: mr_plan_hash of @plan as it would be, had it been lowered with no options, and with MR_FLUSH_LOCAL for a
 * barrier without clipping, and every W at home. @plan is lowered and has passed mr_plan_check. One that could not have
 * come from the lowering (versions or sums set by hand) keeps its own mr_plan_hash. Errors: MR_ERESOURCE.
 */
mr_status mr_plan_identity(const mr_plan *plan, uint64_t *out) MR_MUST_USE;

/** The compute instructions of the lowered @plan as a schedule emits them, under the same contract: to be lowered
 * otherwise. The caller destroys *@out. Errors: MR_ERESOURCE. */
mr_status mr_plan_emitted(const mr_plan *plan, mr_plan **out) MR_MUST_USE;

#endif
