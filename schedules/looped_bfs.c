/*
 * looped_bfs.c - gpipe with several stages a worker: breadth first, chunk by chunk (2 workers, 2 stages each, b = 2 f;
 * a small letter is the worker's second stage).
 *
 *   w0 F0F1F2F3f0f1f2f3......b3--b2--b1--b0--B3--B2--B1--B0--
 *   w1 ..F0F1F2F3f0f1f2f3b3--b2--b1--b0--B3--B2--B1--B0--....
 *
 * Problem: interleaved switches between its stages all the time, so each stage's weights and gradients are fetched
 * again and again. Idea: let all T micro-batches pass one stage before the worker turns to its next one; likewise
 * backward. A stage's weights stay in the cache for T micro-batches, its gradient is complete as early as possible, and
 * the fill is as short as in interleaved.
 *
 * Time: bubble (D - 1)(f + b) / v, as interleaved, for T >= D; with fewer the worker waits in every round. Memory:
 * every worker keeps the activations of all T micro-batches. Gradients are summed from the last micro-batch to the
 * first, as in gpipe with backward = lifo.
 *
 * Source: Lamy-Poirier, Breadth-First Pipeline Parallelism, MLSys 2023, section 4.
 */
#include "schedules/common/looped.h"

static const mr_option options[] = {
	MR_SCHED_CHUNKS("2"),
	{0},
};

static mr_status fill(mr_plan *plan)
{
	uint32_t n = plan->n_micro, d = plan->n_workers;

	for (uint16_t w = 0; w < d; w++) {
		for (uint32_t s = w; s < plan->n_stages; s += d)
			for (uint32_t m = 0; m < n; m++)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, (uint16_t)s, 0));
		for (uint32_t s = plan->n_stages - d + w; s < plan->n_stages; s -= d) /* ends by wrapping below 0 */
			for (uint32_t m = 0; m < n; m++)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, n - 1 - m, (uint16_t)s, 0));
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_looped_create(args, "looped_bfs", 2, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_DESCENDING);
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	out->bubble_time = out->bubble_period = mr_looped_bubble(args, f, i, w);
	out->peak_first = args->n_micro;
	out->peak_last = args->n_micro;
	out->peak_slots_first = args->n_micro;
	out->peak_slots_last = args->n_micro;
}

const mr_sched_ops mr_sched_looped_bfs = {
	.name = "looped_bfs",
	.summary = "gpipe with several stages a worker: all micro-batches pass one before it turns to the next",
	.source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, MLSys 2023, section 4",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
