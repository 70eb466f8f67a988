/*
 * dualpipe_v.c - dualpipe cut in half: one folded pipe, one copy of the weights (2 workers, 4 micro-batches, f = i =
 * w).
 *
 *   w0 F0F1F2f0i0w0f1F3b1--f2B0--b2--f3..B1--b3--I2W2I3W3        stages 0 and (small letters) 3
 *   w1 ..F0f0F1f1F2b0--f2B0--F3b1--f3B1--b2--B2--i3I3w3W3        stages 1 and 2
 *
 * Problem: dualpipe holds every weight on two workers. Idea: by symmetry its upper half of the workers does what the
 * lower half does with the pipes exchanged. Remove the upper half, and continue the down pipe at the last remaining
 * worker as the former up pipe: 2 D stages on D workers, along the workers and back (a V). The order of each worker is
 * that of dualpipe (dual.h).
 *
 * The loss is on worker 0 beside the first stage, so tied embeddings need no hand-over between workers.
 *
 * Time, T >= 2 D, i <= f <= i + w: bubble (D - 1)/2 max(f, f + i - w). Memory: D + 1/2 micro-batches on every worker.
 * Weights: one version. Gradients: every stage sums in ascending order. Any D. With T < 2 D the order for 2 D is
 * emitted without the micro-batches that do not exist. It takes no longer than 1f1b, but zb_v suits such a T better.
 *
 * Source: DeepSeek-AI, the published DualPipe program (DualPipeV), after Qi et al., DualPipe could be better without
 * the dual, Sea AI Lab, 2025.
 * NOTE 1: nothing is fused, see dualpipe.c.
 */
#include <math.h>

#include "schedules/common/dual.h"
#include "schedules/common/twoway.h"

static mr_status fill(mr_plan *plan)
{
	uint32_t d = plan->n_workers, t = plan->n_micro;

	for (uint16_t w = 0; w < d; w++) {
		mr_dual_leg leg[2] = {{w, 0, 0, t}, {(uint16_t)(2 * d - 1 - w), 0, 0, t}};

		MR_TRY(mr_dual_emit(plan, w, w, d, leg));
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_twoway_create(args, "dualpipe_v", 1, &plan));
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	if (args->n_micro < 2u * args->n_workers)
		return;
	if (i <= f && f <= i + w)
		out->bubble_time = (args->n_workers - 1) / 2. * fmax(f, f + i - w);
	out->bubble_period = out->bubble_time;
	out->peak_first = args->n_workers + 0.5;
	out->peak_last = args->n_workers + 0.5;
	out->peak_slots_first = 2 * args->n_workers;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_dualpipe_v = {
	.name = "dualpipe_v",
	.summary = "dualpipe cut in half: one folded pipe, one copy of the weights",
	.source = "DeepSeek-AI, DualPipe repository (DualPipeV), 2025; the cut in half: Sea AI Lab, 2025",
	.chunks = 2,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
