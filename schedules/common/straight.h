/*
 * straight.h - shared by the systems with one stage per worker: the empty plan with stage s on worker s, and 1F1B
 * order.
 */
#ifndef MR_SCHEDULES_STRAIGHT_H
#define MR_SCHEDULES_STRAIGHT_H

#include "ir/sched.h"

/**
 * Make an empty plan called @name with S = D and stage s on worker s, in which each worker will see at most @n_micro
 * micro-batches. Errors: MR_ECONFIG for more than a plan may hold.
 */
mr_status mr_straight_create(const mr_sched_args *args, const char *name, uint32_t n_micro, mr_plan **out) MR_MUST_USE;

/**
 * Append to the list of @worker, whose stage has the same number, @n_micro micro-batches from @first on in 1F1B order:
 * @warmup forwards (at most @n_micro), then a forward and the oldest backward in turn, then the backwards that are
 * left. @recompute: before each backward its R, except on a worker where every backward directly follows its forward.
 */
mr_status mr_straight_emit_1f1b(mr_plan *plan, uint16_t worker, mr_section section, uint32_t warmup, uint32_t first,
				 uint32_t n_micro, bool recompute) MR_MUST_USE;

#endif
