/*
 * unflushed.h - shared by the asynchronous systems in static 1F1B order: a straight pipeline that never drains.
 *
 * Stage k runs ahead(k) = max(0, in_flight - 1 - k) forwards before its first backward, then a forward and the oldest
 * backward in turn: so stage k holds at most ahead(k) + 1 micro-batches, stage 0 in_flight. The systems differ in the
 * versions that they read and in the number of micro-batches that a commit sums, as their contracts say.
 */
#ifndef MR_SCHEDULES_UNFLUSHED_H
#define MR_SCHEDULES_UNFLUSHED_H

#include "ir/sched.h"

static inline uint32_t mr_unflushed_ahead(uint32_t in_flight, uint32_t stage)
{
	return in_flight > stage + 1 ? in_flight - 1 - stage : 0;
}

/**
 * Make the plan called @name with stage s on worker s and @in_flight (at least 1) micro-batches under way.
 * @contract->need micro-batches make a commit. Endless: the prologue is the run-ahead, the body `need` times a forward
 * and a backward. With args->finite, @n_micro micro-batches (a multiple of `need`) and their drain, all in the
 * prologue. @recompute: an R right before each B, where the stage runs ahead. With @contract->sync_steps this many
 * commits come first, each drained before the next. Errors: MR_ECONFIG for more than a plan may hold.
 */
mr_status mr_unflushed_emit(const mr_sched_args *args, const char *name, uint32_t in_flight,
			    const mr_contract *contract, uint64_t n_micro, bool recompute, mr_plan **out) MR_MUST_USE;

/* How many commits a pass of stage @s of @n_stages predicts ahead (or, less than 0, back). */
typedef int32_t mr_unflushed_horizon(uint16_t n_stages, uint16_t s);

/** Give all F the horizon @f and all B the horizon @b of their stages; NULL: none. Errors: MR_ERESOURCE. */
mr_status mr_unflushed_aim(mr_plan *plan, mr_unflushed_horizon *f, mr_unflushed_horizon *b) MR_MUST_USE;

/** The contract of the systems that keep one copy, commit every micro-batch and read what is latest, without aiming. */
mr_contract mr_unflushed_latest(const mr_sched_args *args);

/** The time and memory that these systems claim. */
void mr_unflushed_claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out);

/** Micro-batches of a finite list of a system that accumulates: its commits times T. */
static inline uint64_t mr_unflushed_micro(const mr_sched_args *args)
{
	return (uint64_t)args->n_commits * args->n_micro;
}

#endif
