/*
 * liveness.h - how many versions of a stage's weights are live at once, by the lists of a lowered plan.
 *
 * A version is live from its commit on, as long as it is the latest or an instruction is yet to read it. So the number
 * can only rise at a commit, and with the commit of v it is 1 and the older versions that are read behind it. A plan
 * keeps every version in a buffer of its own until the commit of v + n_versions, so n_versions is at least as large; it
 * is larger where reads leave versions out (drawn delays).
 *
 * What counts as a read: F, R, B, I and W of what they say (mr_instr_read), but not of weights that were made before,
 * for the F of the same micro-batch or of the same commit (mr_instr_takes_made, MR_READ_FIRST); V of the version that
 * it would go back to; and with keep_read the commit, of the oldest version that an F of its count has read.
 */
#ifndef MR_IR_LIVENESS_H
#define MR_IR_LIVENESS_H

#include "ir/plan.h"

/**
 * Fill @live [plan->n_stages] with the most versions of each stage live at once, of replicas in any of them; of
 * repeating plans in the steady state and before it. Errors: MR_EINVAL not lowered; those of mr_unroll_create.
 */
mr_status mr_plan_liveness(const mr_plan *plan, uint16_t *live) MR_MUST_USE;

#endif
