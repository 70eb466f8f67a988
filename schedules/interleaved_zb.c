/*
 * interleaved_zb.c - interleaved with split backwards (2 workers, 2 stages each, 4 micro-batches, f = i = w; a small
 * letter is the worker's second stage).
 *
 *   w0 F0F1f0f1..i0w0F2i1w1F3I0W0f2I1W1f3i2w2i3w3I2W2I3W3
 *   w1 ..F0F1f0i0f1i1w0F2I0w1F3I1W0f2i2W1f3i3w2I2w3I3W2W3
 *
 * Problem: interleaved makes the pipeline's waits v times shorter, zb_h1 fills them with weight gradients. Idea: both.
 * The tables of interleaved (see looped.h) say which slice comes next; worker w runs ahead by (D - 1 - w) + (v - 1)G
 * forwards, half as many beyond the groups as interleaved does, since a gradient now comes back sooner; and W lags I by
 * w steps.
 *
 * Time: the waits of zb_h1 divided by v: with a barrier (D - 1) max(f, i, f + i - w) / v. Memory: with G = D every
 * worker keeps D micro-batches of its share. With one stage a worker it is zb_h1. Gradients are summed in the order
 * 0..T-1.
 *
 * A G that does not divide T is replaced as in interleaved, and the plan is then called interleaved_zb+group<G>.
 *
 * Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024; the order for v stages a worker is that of PyTorch's
 * ScheduleInterleavedZeroBubble.
 */
#include <math.h>

#include "schedules/common/looped.h"

static const mr_option options[] = {
	MR_SCHED_CHUNKS("2"),
	MR_LOOPED_GROUP,
	MR_SCHED_STEAL,
	{0},
};

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t group = mr_looped_group(args);
	mr_plan *plan;
	mr_status st = MR_OK;

	MR_TRY(mr_looped_create(args, "interleaved_zb", 3, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	mr_looped_name_group(plan, args);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = mr_looped_emit_split(plan, w, group, plan->n_workers - w + (args->chunks - 1ull) * group, w);
	return mr_sched_finish_steal(args, plan, st, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	double d = args->n_workers, t = args->n_micro, v = args->chunks;

	if (t >= d) {
		out->bubble_time = (d - 1) * fmax(fmax(f, i), f + i - w) / v;
		out->bubble_period = (d - 1) * fmax(i, f + i - w) / v;
	}
	out->peak_first = out->peak_last = fmin(v * t, (v - 1) * mr_looped_group(args) + d) / v;
}

const mr_sched_ops mr_sched_interleaved_zb = {
	.name = "interleaved_zb",
	.summary = "interleaved with split backwards: short waits, and weight gradients fill them",
	.source = "Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024; order of PyTorch's "
		  "ScheduleInterleavedZeroBubble",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
