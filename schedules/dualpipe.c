/*
 * dualpipe.c - two pipes in opposite directions with split backwards (4 stages, 8 micro-batches, f = i = w = 1).
 *
 *   w0 F0F1F2f4i4w4f5F3b5--f6B0--b6--f7..B1--b7--I2W2I3W3        down: micro-batches 0 to 3
 *   w1 ..F0f4F1f5F2b4--f6B0--F3b5--f7B1--b6--B2--i7I3w7W3        up (small letters): 4 to 7
 *   w2 ..f4F0f5F1f6B0--F2b4--f7B1--F3b5--B2--b6--I3i7W3w7
 *   w3 f4f5f6F0I0W0F1f7B1--F2b4--B2--F3..b5--B3--i6w6i7w7
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
 * Time, T at least 2 D, i <= f <= i + w: bubble (D/2 - 1) max(f, f + i - w) (the published (D/2 - 1)(FB + b - 3w)
 * counts a fused block FB), and b more with an odd T, when the up pipe has one micro-batch less. Memory: D + 1
 * micro-batches on every worker. Weights: one version, one shared copy or one a pipe. Gradients: ascending within a
 * pipe, then pipe by pipe.
 *
 * Any T: with T < 2 D the order for 2 D is emitted without the micro-batches that do not exist. It takes no longer
 * than 1f1b, but zb_v suits such a T better. D must be even.
 *
 * Source: DeepSeek-AI, DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1, and the published DualPipe
 * program.
 */
#include <math.h>

#include "schedules/common/dual.h"
#include "schedules/common/twoway.h"

static const mr_option options[] = {MR_TWOWAY_WEIGHTS, {0}};

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
			       "two opposite pipes share the workers in pairs, so they must be even, got %u; "
			       "dualpipe_v does the "
			       "same in one folded pipe on any number",
			       d);
	MR_TRY(mr_twoway_create(args, "dualpipe", 2, &plan));
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
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
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
