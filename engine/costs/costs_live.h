/*
 * costs_live.h - scales the times of layers to those of instructions in a run.
 *
 * Layers measured one by one show how the time of a stage is divided between them; the run (profile/profile_live.h)
 * shows how long the stage takes. So the F of all layers of a stage are multiplied by one number, chosen so that the F
 * of the stage take on the average as long as in the run, boundaries included; likewise their I and W, by one
 * number if the plan has B. Steps, reductions, norms and averages are replaced if the plan has them. Other times
 * stay as they were measured.
 */
#ifndef MR_COSTS_COSTS_LIVE_H
#define MR_COSTS_COSTS_LIVE_H

#include "costs/costs.h"

/** @live: [instructions of all bodies of the plan of @of] seconds, NAN: not measured. Errors: MR_ERESOURCE. */
mr_status mr_costs_follow_run(const mr_workload *of, const double *live, mr_costs *c) MR_MUST_USE;

#endif
