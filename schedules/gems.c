/*
 * gems.c - two pipes in opposite directions, two micro-batches alive (3 stages, 4 micro-batches, f = b = 1).
 *
 *   w0 F0........B0f1b1F2........B2f3b3....        pipe 0 (capital letters, m even): stage s on worker s
 *   w1 ..F0....B0f1....b1F2....B2f3....b3..        pipe 1 (small letters, m odd):    stage s on worker D - 1 - s
 *   w2 ....F0B0f1........b1F2B2f3........b3
 *
 * Problem: there is memory for the activations of one micro-batch only, and workers idle while it is elsewhere. Idea: a
 * second pipe in the opposite direction. When micro-batch m is back at worker 0, the next one starts there in the other
 * pipe and follows it: a worker does F of m + 1 right after B of m.
 *
 * Every worker's list is F0 B0 F1 B1 ...; the overlap follows from the dependencies. Any D, also odd (the middle worker
 * then has the same stage of both pipes), and any T.
 *
 * Time: makespan D (f + b) + (T - 1)(D max(f, b) + min(f, b)). Without a barrier an even T repeats after T (D max +
 * min). In the long run a micro-batch costs D max + min, of which a worker is busy for f + b: the bubble does not
 * shrink with T. Memory: one micro-batch on every worker. Weights: one version; the pipes read one shared copy, or two
 * private ones. Gradients are summed per pipe in ascending order, then pipe 0 + pipe 1.
 *
 * Source: Jain et al., GEMS, SC 2020; the order as drawn in Li and Hoefler, Chimera, SC 2021, figure 2.
 * NOTE 1: no groups of such pairs with an update each (GEMS-MASTER is a larger T) and no replicas of the pair
 * (GEMS-hybrid).
 */
#include <math.h>

#include "schedules/common/twoway.h"

static const mr_option options[] = {MR_TWOWAY_WEIGHTS, {0}};

static mr_status fill(mr_plan *plan)
{
	for (uint32_t m = 0; m < plan->n_micro; m++)
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			uint8_t pipe = m % 2;
			uint16_t w = mr_plan_worker(plan, pipe, s);

			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, s, pipe));
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, s, pipe));
		}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_twoway_create(args, "gems", 2, &plan));
	return mr_sched_finish(plan, fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	double d = args->n_workers, t = args->n_micro, b = i + w, round = d * fmax(f, b) + fmin(f, b);

	out->bubble_time = d * (f + b) + (t - 1) * round - t * (f + b);
	out->bubble_period = args->n_micro % 2 ? out->bubble_time : t * (round - f - b);
	out->peak_first = 1;
	out->peak_last = 1;
	out->peak_slots_first = 1;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_gems = {
	.name = "gems",
	.summary = "two pipes in opposite directions, at most two micro-batches alive",
	.source = "Jain et al., GEMS, SC 2020; the order as drawn in Li and Hoefler, Chimera, SC 2021, figure 2",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
