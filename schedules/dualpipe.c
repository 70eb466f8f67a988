/*
 * dualpipe.c - two pipes in opposite directions with split backwards (4 stages, 8 micro-batches, f = i = w = 1).
 *
 *   w0 F0F1F2F4I4W4F5F3B5--F6B0--B6--F7..B1--B7--I2W2I3W3        down: micro-batches 0 to 3, stage s on worker s
 *   w1 ..F0F4F1F5F2B4--F6B0--F3B5--F7B1--B6--B2--I7I3W7W3        up:   micro-batches 4 to 7, stage s on worker D - 1 - s
 *   w2 ..F4F0F5F1F6B0--F2B4--F7B1--F3B5--B2--B6--I3I7W3W7
 *   w3 F4F5F6F0I0W0F1F7B1--F2B4--B2--F3..B5--B3--I6W6I7W7
 *
 * Problem: chimera's bubble, and on clusters the hand-overs of mixture-of-experts layers. Idea: both pipes stay full
 * until all micro-batches are in, and a worker always has a forward of one and a backward of the other at hand, which a
 * cluster carries out as one fused block, hiding the hand-overs of one behind the arithmetic of the other. At the ends
 * backwards are split, so that input gradients, for which others wait, go first. The eight steps of the order are in
 * dual.h.
 *
 * Here nothing is fused: on one machine a hand-over costs next to nothing, and F then B hands F's output on at once,
 * where a fused block would keep it to its end.
 *
 * Time, T at least 2 D, i <= f <= i + w: bubble (D/2 - 1) max(f, f + i - w) (the published (D/2 - 1)(FB + b - 3w) counts
 * a fused block FB), and b more with an odd T, when the up pipe has one micro-batch less. Memory: D + 1 micro-batches on
 * every worker. Weights: one version, one shared copy or one a pipe. Gradients: ascending within a pipe, then pipe by
 * pipe.
 *
 * Any T: with T < 2 D the order for 2 D is emitted without the micro-batches that do not exist, which takes no longer
 * than 1f1b, but zb_v is made for that. D must be even.
 *
 * Source: DeepSeek-AI, DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1, and the published DualPipe program.
 */
#include <math.h>

#include "schedules/dual.h"
#include "schedules/twoway.h"

static const mr_option options[] = {MR_TWOWAY_WEIGHTS, {0}};

static uint32_t default_micro(uint16_t n_workers)
{
	return 2u * n_workers;
}

static mr_status fill(mr_plan *plan)
{
	uint32_t d = plan->n_workers, down = (plan->n_micro + 1) / 2;

	for (uint16_t w = 0; w < d; w++) {
		mr_dual_leg to[2] = {{w, 0, 0, down}, {(uint16_t)(d - 1 - w), 1, down, plan->n_micro - down}};
		mr_dual_leg fro[2] = {to[1], to[0]};

		if (w < d / 2)
			MR_TRY(mr_dual_emit(plan, w, w, d / 2, to));
		else
			MR_TRY(mr_dual_emit(plan, w, d - 1 - w, d / 2, fro));
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t d = args->n_workers;
	mr_plan *plan;

	if (d % 2)
		return mr_fail(MR_ECONFIG,
			       "two opposite pipes share the workers in pairs, so they must be even, got %u; dualpipe_v does the "
			       "same in one folded pipe on any number",
			       d);
	MR_TRY(mr_twoway_create(args, "dualpipe", 2, &plan));
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	out->versions_first = 1;
	out->versions_last = 1;
	if (args->n_micro < 2u * args->n_workers)
		return;
	if (i <= f && f <= i + w)
		out->bubble_time = (args->n_workers / 2 - 1) * fmax(f, f + i - w) + args->n_micro % 2 * (i + w);
	out->bubble_period = out->bubble_time;
	out->peak_first = args->n_workers + 1;
	out->peak_last = args->n_workers + 1;
	out->peak_slots_first = args->n_workers;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_dualpipe = {
	.name = "dualpipe",
	.summary = "two pipes in opposite directions with split backwards",
	.source = "DeepSeek-AI, DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1",
	.options = options,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
