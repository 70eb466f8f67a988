/*
 * interleaved.c - 1F1B with several stages a worker: the fill and the drain of the pipeline get v times shorter
 * (2 workers, 2 stages each, 4 micro-batches, b = 2 f; worker 0 hosts stages 0 and 2; a small letter is its second
 * stage).
 *
 *   w0 F0F1f0f1F2..b0--F3b1--f2B0--f3B1--..b2--..b3--B2--B3--
 *   w1 ..F0F1f0b0--f1b1--F2B0--F3B1--f2b2--f3b3--B2--B3--....
 *
 * Problem: in 1f1b the last worker has its first work after (D - 1) f, and as much is lost at the end. Idea: give each
 * worker v thin slices of the model instead of one thick one. Stage s lies on worker s mod D, so a micro-batch goes
 * round v times, and the first slice is done after f / v. Micro-batches move in groups of G (see looped.h): with G = D
 * the group's first micro-batch is back at a worker just when its last has left.
 *
 * Order. The k-th forward and the k-th backward of a worker stand in two tables. Worker w begins with 2(D - 1 - w) + (v
 * - 1)G forwards, then a forward and a backward in turn, then the backwards that are left.
 *
 * Time: bubble (D - 1)(f + b) / v. Memory: worker 0 keeps 2(D - 1) + (v - 1)G + 1 slices, so D(1 + (D - 1)/(D v)) of
 * its share where 1f1b keeps D; the last worker keeps (v - 1)G + 1 of them. In shared memory a large v costs only the
 * overhead of smaller instructions. Gradients are summed in the order 0..T-1, as in 1f1b, and have the same bits.
 *
 * If G does not divide T, the published programs stop with an error; here the nearest G that divides T is taken, and
 * the plan is then called interleaved+group<G>. With T < D all micro-batches make one group: a worker then waits in
 * every round, which still costs no more than 1f1b. With one chunk the order is that of 1f1b with twice the run-ahead.
 *
 * Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021, section 2.2.
 * NOTE 1: groups other than D come from the implementations in Megatron-LM and PyTorch, not from the paper.
 */
#include <math.h>

#include "schedules/common/looped.h"

static const mr_option options[] = {
	MR_SCHED_CHUNKS("2"),
	MR_LOOPED_GROUP,
	{0},
};

/* How many forwards @worker begins with. */
static uint32_t warm_up(const mr_sched_args *args, uint16_t worker)
{
	uint64_t all = (uint64_t)args->chunks * args->n_micro;
	uint64_t ahead = 2u * (args->n_workers - 1u - worker) + (uint64_t)(args->chunks - 1u) * mr_looped_group(args);

	return (uint32_t)(ahead < all ? ahead : all);
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args)
{
	uint32_t all = args->chunks * args->n_micro, group = mr_looped_group(args);

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint32_t ahead = warm_up(args, w);

		for (uint32_t k = 0; k < all + ahead; k++) {
			if (k < all)
				MR_TRY(mr_looped_emit(plan, w, group, MR_OP_F, k));
			if (k >= ahead)
				MR_TRY(mr_looped_emit(plan, w, group, MR_OP_B, k - ahead));
		}
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_looped_create(args, "interleaved", 2, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	mr_looped_name_group(plan, args);
	return mr_sched_finish(plan, fill(plan, args), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	double v = args->chunks;

	out->bubble_time = out->bubble_period = mr_looped_bubble(args, f, i, w);
	out->peak_first = fmin(v * args->n_micro, warm_up(args, 0) + 1.0) / v;
	out->peak_last = fmin(v * args->n_micro, warm_up(args, (uint16_t)(args->n_workers - 1)) + 1.0) / v;
}

const mr_sched_ops mr_sched_interleaved = {
	.name = "interleaved",
	.summary = "1F1B with several stages a worker, whose fill and drain are as many times shorter",
	.source = "Narayanan et al., Megatron-LM, SC 2021, section 2.2",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
