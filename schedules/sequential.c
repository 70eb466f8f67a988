/*
 * sequential.c - the whole model on one worker, one micro-batch after the other (2 micro-batches, f = 1, b = 2).
 *
 *   w0 F0B0--F1B1--
 *
 * What a pipeline has to beat: the worker's threads, by default one on each core, share the work inside each layer.
 * Systems that flush must give the weights of this one where they sum gradients in the same order.
 *
 * Time: T (f + b), no bubble. Memory: the activations of one micro-batch; more micro-batches save memory, never time.
 * Weights: one version, no staleness. Gradients are summed in the order 0..T-1.
 */
#include "schedules/common/straight.h"

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "sequential", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	return mr_sched_finish(plan, mr_straight_emit_1f1b(plan, 0, MR_BODY, 0, 0, plan->n_micro, false), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	(void)args, (void)f, (void)i, (void)w;
	out->bubble_time = out->bubble_period = 0;
	out->peak_first = out->peak_last = 1;
	out->peak_slots_first = out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_sequential = {
	.name = "sequential",
	.summary = "one worker, layer after layer, without a pipeline: what the others must equal",
	.source = "gradient accumulation on one device",
	.workers = 1,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
