/*
 * slow_start.h - learning rates that begin low at stages whose gradients are late (PipeMare's rescheduling).
 *
 * A stage of delay tau > 1 makes commit t, counted from 0 after the synchronous commits, at the rate
 * lr / tau^(1 - t / n) while t < n, and at the full rate from then on.
 *
 * Thread: constant after it is opened.
 */
#ifndef MR_WEIGHTS_SLOW_START_H
#define MR_WEIGHTS_SLOW_START_H

#include "ir/plan.h"
#include "weights/stage_weights.h"

struct mr_slow_start {
	uint32_t n;          /* number of commits with a lower rate */
	uint32_t sync_steps; /* synchronous commits before them, which have the full rate */
	double delay;        /* mr_plan_delay of the stage */
};

/**
 * Give @b, the weights of stage @s, a slow start of @n commits, unless @n is 0 or the stage's delay in @steady is at
 * most 1. @plan gives the number of synchronous commits. Errors: MR_ERESOURCE.
 */
mr_status mr_slow_start_open(mr_stage_weights *b, uint32_t n, const mr_plan *plan, const mr_plan *steady,
			     uint16_t s) MR_MUST_USE;

/** The rate of commit @version (from 1) where @full is the full one. */
double mr_slow_start_rate(const mr_slow_start *x, double full, uint64_t version);

#endif
