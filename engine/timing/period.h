/*
 * period.h - the distance of iterations in the steady state.
 *
 * A loop walks so many iterations that they have become alike, or cannot be; a formula then reads the period from the
 * ends of the workers' iterations. Regular times repeat after 1 to 8 iterations, over hosts after as many as are in
 * flight, which is looked for. Irregular ones never do: their period is a mean over the later half of 64 iterations.
 * With memory that is shared no two iterations agree to the last bit: it is a mean over the last 8 of 12. Each loop
 * walks as many more as the plan takes to become steady, and fewer where its body is long.
 */
#ifndef MR_TIMING_PERIOD_H
#define MR_TIMING_PERIOD_H

#include "timing/timed.h"

/** The period of @of; 0 for a plan without a body. Errors: those of mr_plan_walk. */
mr_status mr_period_find(const mr_walked *of, double *period) MR_MUST_USE;

#endif
