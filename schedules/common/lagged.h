/*
 * lagged.h - shared by zb_h1 and zb_h2: 1F1B with split backwards in which worker w goes r (D - w) - (r - 1) forwards
 * ahead and lets W lag r w micro-batches behind I. zb_h1 has r = 1, zb_h2 r = 2.
 *
 * Every worker keeps r (D - 1) + 1 micro-batches until their W. From this many micro-batches on, an iteration takes its
 * work plus
 *	(D - 1) max(0, i - (r - 1) f, f + i - r w)    back to back without a barrier
 *	(D - 1) max(f, i - (r - 1) f, f + i - r w)    alone
 */
#ifndef MR_SCHEDULES_LAGGED_H
#define MR_SCHEDULES_LAGGED_H

#include "ir/sched.h"

/**
 * Emit the plan called @name for @reach r. Between iterations it flushes by @flush, or validates if the
 * system's option `optimizer` (MR_LOOPED_OPTIMIZER) is "validated". Errors: those of mr_looped_create.
 */
mr_status mr_lagged_emit(const mr_sched_args *args, const char *name, uint32_t reach, mr_flush flush,
			 mr_plan **out) MR_MUST_USE;

/** The figures above, as claims. */
void mr_lagged_claims(const mr_sched_args *args, uint32_t reach, double f, double i, double w, mr_sched_claims *out);

#endif
