/*
 * zb_auto.c - the zero-bubble order found for given costs and memory (3 workers, 6 micro-batches, f = i = 2, w = 1,
 * cap = 4).
 *
 *   w0 F0--F1--F2--F3--....I0--W0F4--I1--W1F5--I2--W2I3--W3I4--W4..I5--W5..
 *   w1 ....F0--F1--F2--I0--F3--I1--W0F4--I2--W1I3--F5--I4--W2W3I5--W4W5....
 *   w2 ........F0--I0--F1--I1--F2--I2--F3--I3--F4--I4--F5--I5--W0W1W2W3W4W5
 *
 * Problem: zb_h1 and zb_h2 are made for f = i = w and for two amounts of memory. Real stages have other costs, and
 * their memory lies in between. Idea: place micro-batch after micro-batch and compute the time at each worker, and
 * decide at each step by these times: how many forwards fit in before the first gradient comes; whether a weight
 * gradient fits into a wait, or may be longer than the wait because this worker has waited more than others. Do all
 * this with eight rules and keep the best order (zb_greedy.c).
 *
 * Time: the search minimises the longest span of a worker, which is the period if each worker may begin the next
 * iteration by itself. With cap = D and equal costs it finds zb_h1. Of the same
 * problem as a mixed integer program, solved by cbc 2.10.8 for D = 2..4, it found the optimum in 252 of 252 cases of
 * stages with equal costs and in 158 of 200 with costs drawn for each; there it was 1.8 % above it in the mean and 27 %
 * at most.
 * Memory: each worker holds at most `cap` forwards; of each, I frees one half and W the other. Counted until W it may
 * hold up to twice as many. Gradients are summed in the order 0..T-1: the bits of 1f1b.
 *
 * Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 3.1; the order is that of its published
 * scheduler.
 * NOTE 1: where the costs of the stages differ, the published scheduler may let a worker run through all T forwards
 * before the one in front of it has; here no worker's warm-up is longer than that of the worker before it.
 */
#include <math.h>
#include <stdlib.h>

#include "schedules/common/cap.h"
#include "schedules/common/looped.h"
#include "schedules/common/stage_costs.h"
#include "schedules/common/zb_greedy.h"

static const mr_option options[] = {
	{"cap", MR_OPT_STRING, "D", 0, 0, NULL, NULL,
	 "forwards that a worker may hold, of which I frees one half and W the other: D (workers), 2D, none or a "
	 "number"},
	MR_STAGE_COSTS_OPTION,
	MR_SCHED_STEAL,
	{0},
};

static mr_status fill(mr_plan *plan, const mr_zb_order *order)
{
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const uint8_t *op = order->op + 3 * (size_t)w * plan->n_micro;
		uint32_t n[MR_N_OPS] = {0};

		for (uint32_t k = 0; k < 3 * plan->n_micro; k++)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, (mr_op)op[k], n[op[k]]++, w, 0));
	}
	return MR_OK;
}

/* Fill the search's problem; the caller frees *@cost. */
static mr_status pose(const mr_sched_args *args, const mr_plan *plan, mr_stage_cost **cost, mr_zb_problem *out)
{
	*cost = malloc(plan->n_stages * sizeof(**cost));
	*out = (mr_zb_problem){.n_workers = plan->n_workers, .n_micro = plan->n_micro, .cost = *cost};
	if (!*cost)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);
	MR_TRY(mr_cap_read(mr_values_string(args->options, "cap"), plan->n_workers, &out->cap));
	return mr_stage_costs(args, plan, *cost);
}

/* Make an empty plan and the problem, and find the order. */
static mr_status solve(const mr_sched_args *args, mr_plan **plan, mr_stage_cost **cost, mr_zb_problem *p,
		       mr_zb_order *order)
{
	MR_TRY(mr_looped_create(args, "zb_auto", 3, plan));
	mr_sched_flushes(*plan, args->n_micro, MR_SUM_ASCENDING);
	MR_TRY(pose(args, *plan, cost, p));
	return mr_zb_greedy(p, order);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_stage_cost *cost = NULL;
	mr_zb_order order = {0};
	mr_plan *plan = NULL;
	mr_zb_problem p;
	mr_status st = solve(args, &plan, &cost, &p, &order);

	if (st == MR_OK)
		st = fill(plan, &order);
	free(order.op);
	free(cost);
	return mr_sched_finish_steal(args, plan, st, out);
}

/*
 * Ordered for equal costs and D forwards, the plan is that of zb_h1, whatever the costs of the timing are; ordered for
 * twice as many forwards or more, its period has no bubble if the costs of the timing are equal, too.
 */
static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	const char *text = mr_values_string(args->options, "cap");
	uint32_t d = args->n_workers;
	double cap;

	if (args->costs || *mr_values_string(args->options, "costs") ||
	    mr_cap_read(text, args->n_workers, &cap) != MR_OK)
		return;
	if (cap == d && args->n_micro > d) {
		out->bubble_time = (d - 1) * fmax(f, fmax(i, f + i - w));
		out->bubble_period = (d - 1) * fmax(i, f + i - w);
		out->peak_first = d;
		out->peak_last = d;
	} else if (cap >= 2 * d && args->n_micro >= 2 * d - 1 && f == i && i == w) {
		out->bubble_time = (d - 1) * f;
		out->bubble_period = 0;
	}
}

static bool by_costs(const mr_values *values)
{
	return !*mr_values_string(values, "costs");
}

const mr_sched_ops mr_sched_zb_auto = {
	.name = "zb_auto",
	.summary = "split backwards in the order that a greedy search finds for the costs and the memory given",
	.source = "Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 3.1",
	.options = options,
	.by_costs = by_costs,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
