/*
 * liveness.h - how many versions of a stage's weights are live at once, by the lists of a lowered plan.
 *
 * A version is live from its commit until it is no longer the latest and no later instruction reads it. So the number
 * of live versions can only rise at a commit: right after the commit of v it is 1 plus the number of older versions
 * that are still to be read. A plan keeps every version in a buffer of its own until the commit of v + n_versions, so
 * n_versions is at least as large; it is larger where reads skip versions (drawn delays).
 *
 * F, R, B, I and W read the version that mr_instr_read gives, unless they use weights that were made earlier, for the F
 * of the same micro-batch or commit (mr_instr_takes_made, MR_READ_FIRST). V reads the version that it would restore.
 * With keep_read a commit reads the oldest version that an F of its count has read.
 */#ifndef MR_IR_LIVENESS_H
#define MR_IR_LIVENESS_H

#include "ir/plan.h"

/**
 * Fill @live [plan->n_stages] with the most versions of each stage that are live at once: with replicas, the most of
 * any replica; of repeating plans, in the steady state and before it. Errors: MR_EINVAL not lowered; those of
 * mr_unroll_create.
 */
mr_status mr_plan_liveness(const mr_plan *plan, uint16_t *live) MR_MUST_USE;

#endif
