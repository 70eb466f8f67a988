/*
 * naive.c - the model in parts on several workers, one micro-batch at a time (3 stages, 2 micro-batches, f = 1, b = 2).
 *
 *   w0 F0............B0--F1............B1--
 *   w1 ..F0......B0--......F1......B1--....
 *   w2 ....F0B0--............F1B1--........
 *
 * Problem: a model is larger than one worker's memory. The obvious way is to cut it, and to let the batch go through
 * the parts and back. The system is a baseline that shows what pipelining gains.
 *
 * Time: only one worker works at any time; D T (f + b) in all, bubble (D - 1) T (f + b). Memory: one micro-batch.
 * Weights: one version, no staleness. Gradients are summed in the order 0..T-1, so that the bits are those of 1f1b.
 *
 * Source: the baseline in Huang et al., GPipe, NeurIPS 2019, figure 2b.
 */
#include "schedules/common/straight.h"

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1; /* more micro-batches save memory, never time */
}

static mr_status fill(mr_plan *plan)
{
	for (uint16_t w = 0; w < plan->n_workers; w++)
		MR_TRY(mr_straight_emit_1f1b(plan, w, MR_BODY, 0, 0, plan->n_micro, false));
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "naive", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	out->bubble_time = (args->n_workers - 1) * args->n_micro * (f + i + w);
	out->bubble_period = out->bubble_time;
	out->peak_first = 1;
	out->peak_last = 1;
	out->peak_slots_first = 1;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_naive = {
	.name = "naive",
	.summary = "one micro-batch at a time: the model in parts, without a pipeline",
	.source = "the baseline of Huang et al., GPipe, NeurIPS 2019, figure 2b",
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
