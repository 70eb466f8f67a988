/* eval_plan.h - the forward-only plan of evaluation, on the workers and stages of a training plan. */
#ifndef MR_EXEC_EVAL_PLAN_H
#define MR_EXEC_EVAL_PLAN_H

#include "ir/plan.h"

/**
 * One F a micro-batch at every stage where @train has it, endless; checked. In pipe 0, if that has a part for every
 * worker, else round robin over all pipes: micro-batch m in pipe m mod P. One slot a stage; at a boundary at least one
 * buffer more than the writer is ahead, so that a stage computes while the next one reads. Where a worker hosts several
 * stages the early ones are ahead of the last one, which is at micro-batches n * P to n * P + P - 1 in iteration n of
 * the body; a run over fewer micro-batches skips those beyond its end. The caller destroys *@out.
 */
mr_status mr_eval_plan_create(const mr_plan *train, mr_plan **out) MR_MUST_USE;

#endif
