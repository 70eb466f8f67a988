/* eval_plan.h - the forward-only plan of evaluation, on the workers and stages of a training plan. */
#ifndef MR_RUN_EVAL_PLAN_H
#define MR_RUN_EVAL_PLAN_H

#include "ir/plan.h"

/**
 * One F a micro-batch at every stage where @train has it, endless; checked. One slot a stage, two buffers a boundary, so that a
 * stage computes while the next one reads. The caller destroys *@out.
 */
mr_status mr_eval_plan_create(const mr_plan *train, mr_plan **out) MR_MUST_USE;

#endif
