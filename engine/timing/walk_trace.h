/*
 * walk_trace.h - a walk as trace records, the form that every report reads.
 */
#ifndef MR_TIMING_WALK_TRACE_H
#define MR_TIMING_WALK_TRACE_H

#include "ir/trace.h"
#include "timing/walk.h"

/**
 * Make one record for each instruction of @walk, in the order of its workers' lists. Trace times are integers: they are
 * the walk's times @scale, rounded (1000 keeps three decimals of costs in units; 1e9 makes nanoseconds of seconds). The
 * time between two instructions is booked as a wait under the cause that the walk found.
 * The caller frees *@recs. Errors: MR_EINVAL @scale is not positive or too large for the makespan; MR_ERESOURCE.
 */
mr_status mr_walk_trace(const mr_plan *plan, const mr_walk *walk, double scale, mr_trace_rec **recs,
			size_t *n) MR_MUST_USE;

#endif
