/*
 * costs_live.h - bring the times of layers up to those of instructions in a run.
 *
 * Layers measured one by one say how the time of a stage is shared out among them; the run (profile/profile_live.h)
 * says how long the stage takes. So the F of all layers of a stage are multiplied by one number, with which the F of
 * the stage take on the average as long as its F did in the run, boundaries included; their I and W likewise, by one
 * number where the plan has B. Steps, reductions, norms and averages are replaced where the plan has them. What it does
 * not have stays as it was measured.
 */
#ifndef MR_SESSION_COSTS_LIVE_H
#define MR_SESSION_COSTS_LIVE_H

#include "session/costs.h"

/** @live: [instructions of all bodies of the plan of @s] seconds, NAN: not measured. Errors: MR_ERESOURCE. */
mr_status mr_costs_follow_run(const mr_session *s, const double *live, mr_costs *c) MR_MUST_USE;

#endif
