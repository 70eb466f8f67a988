/*
 * weipipe.c - micro-batches stay at their worker, and the stages' weights go round (3 workers, 6 micro-batches, b = f;
 * each F and B is of one of 3 stages).
 *
 *   w0 F0F0F0B0F3B0F3B0F3B3B3B3....        pipe 0: micro-batches 0, 3: all stages on worker 0
 *   w1 ..F1F1F1B1F4B1F4B1F4B4B4B4..        pipe 1: micro-batches 1, 4
 *   w2 ....F2F2F2B2F5B2F5B2F5B5B5B5        pipe 2: micro-batches 2, 5
 *
 * Problem: between far workers a pipeline moves activations, which grow with the length of a sequence, while weights do
 * not. Idea: a worker keeps its micro-batches and is visited by the weights. They go round in a ring, each worker one
 * turn behind the one before it, so at any time a stage's weights are read by one worker going forward and by one going
 * backward. A turn is a B of the old micro-batch at stage S-1-j and an F of the new one at stage j.
 *
 * Here weights lie in one place (or one on each host) and need not be carried: the ring is an order (mr_contract.ring).
 * Micro-batch m waits at each stage for the pass of m - 1 there.
 *
 * Time: where D divides T the makespan is T (f + b) + (D - 1) max(f, b), f and b being those of one stage, a D-th of
 * the model. Memory: one micro-batch of the whole model a worker is alive; the first half of the stages has a second
 * slot, since F of the new micro-batch comes before B of the old one there. Weights: one version. Gradients are summed
 * per pipe in ascending order, then over the pipes.
 *
 * ring = false leaves the turns and lets all workers begin at once, as data_parallel does: no bubble, and all of them
 * read the same weights at the same time.
 *
 * Source: Lin et al., WeiPipe, PPoPP 2025; the order of turns as in its code.
 * NOTE 1: what the source sends (two rings of weights, one of gradients) is not sent; ranks on several hosts keep all
 * weights and exchange ranges once a step, as data_parallel does.
 */
#include <math.h>

#include "ir/sched.h"

static const mr_option options[] = {
	{"ring", MR_OPT_BOOL, "true", 0, 0, NULL, NULL,
	 "each worker goes one turn behind the one before it; false: all begin at once"},
	{0},
};

static mr_status fill_worker(mr_plan *plan, uint16_t w)
{
	uint16_t d = plan->n_workers, last = (uint16_t)(plan->n_stages - 1);

	for (uint32_t m = w; m < plan->n_micro + d; m += d)
		for (uint16_t j = 0; j <= last; j++) {
			if (m >= d)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m - d, (uint16_t)(last - j),
						     (uint8_t)w));
			if (m < plan->n_micro)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, j, (uint8_t)w));
		}
	return MR_OK;
}

static mr_status fill(mr_plan *plan)
{
	for (uint16_t w = 0; w < plan->n_workers && w < plan->n_micro; w++)
		MR_TRY(fill_worker(plan, w));
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_sched_create(args, "weipipe", args->n_workers, args->n_workers, 2, &plan));
	for (uint16_t p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] = p;
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	plan->contract.ring = plan->n_pipes > 1 && mr_values_bool(args->options, "ring");
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers;

	if (args->n_micro % d)
		return;
	if (mr_values_bool(args->options, "ring"))
		out->bubble_time = (d - 1) * fmax(f, i + w);
	else
		out->bubble_time = out->bubble_period = 0;
	out->peak_first = out->peak_last = d;
	out->peak_slots_first = d > 1 && args->n_micro > d ? 2 : 1;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_weipipe = {
	.name = "weipipe",
	.summary = "micro-batches stay at their worker, and the stages' weights go round from worker to worker",
	.source = "Lin et al., WeiPipe: Weight Pipeline Parallelism, PPoPP 2025",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
