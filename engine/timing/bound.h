/*
 * bound.h - what no order of a plan's work can undercut, for the gap of a planner's choice.
 *
 * Three bounds of an iteration with the plan's cut, placement and micro-batches:
 *   the busiest worker, with all that its list does;
 *   of a plan that flushes, the chain of a micro-batch through all stages;
 *   of each worker of such a plan, the best preemptive order of its passes: a pass of stage s can begin when the passes
 *   before it on the way of its micro-batch are done (those of the c-th micro-batch c times the longest of them later),
 *   and when it ends those behind it are still to come, down to the step of stage 0. Backward passes count as split in
 *   halves.
 * Without a barrier passes of the weight half may overlap the next iteration, so only those of stage 0 count.
 */
#ifndef MR_TIMING_BOUND_H
#define MR_TIMING_BOUND_H

#include "ir/cost.h"
#include "ir/plan.h"

/** Lower bound of the time from one iteration of @plan to the next (of its whole list, if it has no body); @alone: of
 * the makespan of one iteration by itself, as always with a barrier. Errors: MR_ERESOURCE. */
mr_status mr_plan_bound(const mr_plan *plan, const mr_cost *cost, bool alone, double *bound) MR_MUST_USE;

#endif
