/*
 * 1f1b.c - one forward, one backward, with a flush: the time of gpipe in less memory (3 stages, 4 micro-batches, b = 2 f).
 *
 *   w0 F0F1F2........B0--F3B1--..B2--..B3--
 *   w1 ..F0F1....B0--F2B1--F3B2--..B3--....
 *   w2 ....F0B0--F1B1--F2B2--F3B3--........
 *
 * Problem: gpipe holds the activations of all T micro-batches at once, so memory, not speed, limits T. Idea: a micro-batch's
 * activations are freed by its backward, so begin the backwards as soon as they can begin. Worker w runs ahead by D - 1 - w
 * forwards, just enough to keep the last worker fed, then alternates, then drains.
 *
 * Time: that of gpipe, bubble (D - 1)(f + b). Memory: worker w keeps at most min(T, D - w) micro-batches, whatever T is, so
 * that a larger T buys a smaller share of bubble for nothing. Weights: one version, no staleness. Gradients are summed in
 * the order 0..T-1. Fewer micro-batches than workers are fine: the run-ahead is clamped to T.
 *
 * recompute = always keeps of a micro-batch in flight its stage's input alone, and one micro-batch's activations: before each
 * backward an R runs the forward again. It waits for nobody but its own worker, so in the drain it fills the wait for the
 * gradient: bubble (D - 1)(f + b) - min(2f, f + b), of a longer T(2f + b). Where a backward directly follows its forward (the
 * last worker, or a lone micro-batch) there is nothing to gain, and no R.
 *
 *   w0 F0F1F2R0......B0--F3R1B1--R2..B2--R3B3--
 *   w1 ..F0F1R0..B0--F2R1B1--F3R2B2--R3B3--....
 *   w2 ....F0B0--F1B1--F2B2--..F3B3--..........
 *
 * Source: Fan et al., DAPPLE, PPoPP 2021, section 3 (policy A: K_w = D - w in flight); the same order is called
 * PipeDream-flush in Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML 2021.
 */
#include <string.h>

#include "schedules/straight.h"

static const mr_option options[] = {
	{"recompute", MR_OPT_ENUM, "never", 0, 0, "never|always", NULL,
	 "keep the input of a stage alone and run its forward again before the backward"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return 2u * n_workers;
}

static bool recomputes(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "recompute"), "always");
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;
	mr_status st = MR_OK;

	MR_TRY(mr_straight_create(args, "1f1b", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = mr_straight_emit_1f1b(plan, w, MR_BODY, plan->n_workers - 1u - w, args->n_micro, recomputes(args));
	return mr_sched_finish(plan, st, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = args->n_micro < args->n_workers ? args->n_micro : args->n_workers;
	if (recomputes(args) && args->n_workers > 1 && args->n_micro > 1) {
		out->bubble_time -= 2 * f < f + i + w ? 2 * f : f + i + w;
		out->peak_slots_first = 1;
	}
	out->peak_slots_last = 1;
	out->versions_first = 1;
	out->versions_last = 1;
}

const mr_sched_ops mr_sched_1f1b = {
	.name = "1f1b",
	.alias = "pipedream_flush",
	.summary = "one forward, one backward, with a flush before each update",
	.source = "Fan et al., DAPPLE, PPoPP 2021, section 3",
	.options = options,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
