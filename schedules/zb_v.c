/*
 * zb_v.c - no bubble in the memory of 1F1B: split backwards on a V of stages (3 workers, 5 micro-batches, f = i = w;
 * small letters: the second stage).
 *
 *   w0 F0F1F2F3F4f0i0w0f1i1w1f2i2w2I0W0f3i3w3I1W1f4i4w4I2W2I3W3I4W4....
 *   w1 ..F0F1F2f0F3f1i0w0f2i1w1F4I0W0f3i2w2I1W1f4i3w3I2i4I3W2I4W3w4W4..
 *   w2 ....F0f0F1f1F2f2i0w0F3I0W0f3i1w1F4I1W1f4i2w2I2i3I3i4I4W2w3w4W3W4
 *
 * Problem: zb_h2 has no bubble, but keeps 2 D - 1 micro-batches on every worker where 1f1b keeps at most D. Idea: give
 * worker w the stages w and 2 D - 1 - w, so that a micro-batch runs down the workers and up again. In 1F1B the first
 * worker waits longest for its first gradient; here it computes the loss itself. All workers get their gradients
 * equally soon, so activations are kept for a shorter time. Weight gradients fill the remaining waits.
 *
 * hand: a fixed order. Worker w does 2 (D - w) - 1 forwards of leg 0, w pairs of forwards of both legs, D - w forwards
 * of leg 1 each with its I and W; then leg 0 (F, I, W) and leg 1 (F, I, W) in turn; then the rest, I before W. For
 * fewer than 2 D - 1 micro-batches it is the order for 2 D - 1 without those that are missing. greedy: a search for
 * given costs (zb_v_greedy.c), which uses the mean over all chunks if the costs differ.
 *
 * Time: the period has no bubble exactly where f = i = w and T >= 2 D - 1; the makespan then adds (D - 1) f / 2.
 * Memory: D micro-batches' activations on every worker. Embedding and loss lie on worker 0, where tied weights need no
 * hand-over. Gradients of a stage are summed in the order 0..T-1.
 *
 * Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 6 (ZB-V); hand: the order of PyTorch's
 * ScheduleZBVZeroBubble; greedy: the order of the authors' published scheduler.
 */
#include <stdlib.h>
#include <string.h>

#include "schedules/common/stage_costs.h"
#include "schedules/common/vee.h"
#include "schedules/common/zb_v_greedy.h"

static const mr_option options[] = {
	{"order", MR_OPT_ENUM, "hand", 0, 0, "hand|greedy", NULL, "the fixed order, or a search for the costs given"},
	MR_STAGE_COSTS_OPTION,
	MR_SCHED_STEAL,
	{0},
};

static const mr_option_need needs[] = {
	{"costs", "order", "greedy"},
	{0},
};

/* The list of one worker: a pattern for at least 2 D - 1 micro-batches, of which those beyond T are left out.
 */
typedef struct by_hand {
	mr_plan *plan;
	uint16_t worker;
	uint32_t n[MR_VEE_N];
	mr_status st;
} by_hand;

static void put(by_hand *h, mr_vee_step s)
{
	static const mr_op op[MR_VEE_N] = {MR_OP_F, MR_OP_F, MR_OP_I, MR_OP_I, MR_OP_W, MR_OP_W};
	bool leg = s == MR_VEE_F1 || s == MR_VEE_I1 || s == MR_VEE_W1;

	if (h->n[s] < h->plan->n_micro && h->st == MR_OK)
		h->st = mr_vee_emit(h->plan, h->worker, op[s], leg, h->n[s]);
	h->n[s]++;
}

static void put_i_w(by_hand *h, unsigned leg)
{
	put(h, leg ? MR_VEE_I1 : MR_VEE_I0);
	put(h, leg ? MR_VEE_W1 : MR_VEE_W0);
}

static mr_status fill_by_hand(mr_plan *plan, uint16_t w)
{
	by_hand h = {.plan = plan, .worker = w};
	uint32_t d = plan->n_workers, n = plan->n_micro < 2 * d - 1 ? 2 * d - 1 : plan->n_micro;

	while (h.n[MR_VEE_F0] < 2 * (d - w) - 1)
		put(&h, MR_VEE_F0);
	for (uint32_t k = 0; k < w; k++) {
		put(&h, MR_VEE_F1);
		put(&h, MR_VEE_F0);
	}
	for (uint32_t k = 0; k < d - w; k++) {
		put(&h, MR_VEE_F1);
		put_i_w(&h, 1);
	}
	while (h.n[MR_VEE_F1] < n) {
		if (h.n[MR_VEE_F0] < n)
			put(&h, MR_VEE_F0);
		put_i_w(&h, 0);
		put(&h, MR_VEE_F1);
		put_i_w(&h, 1);
	}
	for (uint32_t k = 0; k < w; k++) {
		put(&h, MR_VEE_I0);
		put(&h, MR_VEE_I1);
	}
	while (h.n[MR_VEE_I0] < n)
		put_i_w(&h, 0);
	while (h.n[MR_VEE_W1] < n)
		put(&h, MR_VEE_W1);
	while (h.n[MR_VEE_W0] < n)
		put(&h, MR_VEE_W0);
	return h.st;
}

/* The search has one cost for all chunks: the mean of their costs. */
static mr_status mean_cost(const mr_sched_args *args, const mr_plan *plan, mr_stage_cost *out)
{
	mr_stage_cost *cost = malloc(plan->n_stages * sizeof(*cost));
	mr_status st = cost ? mr_stage_costs(args, plan, cost)
			    : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);

	*out = (mr_stage_cost){0};
	for (uint16_t s = 0; st == MR_OK && s < plan->n_stages; s++) {
		out->f += cost[s].f;
		out->i += cost[s].i;
		out->w += cost[s].w;
		out->c += cost[s].c + (cost[s].o + cost[s].b) / 2;
	}
	out->f /= plan->n_stages;
	out->i /= plan->n_stages;
	out->w /= plan->n_stages;
	out->c /= plan->n_stages;
	free(cost);
	return st;
}

static mr_status fill_by_search(const mr_sched_args *args, mr_plan *plan)
{
	size_t n = (size_t)MR_VEE_N * plan->n_micro;
	uint8_t *steps = NULL;
	mr_stage_cost mean;
	mr_status st;

	MR_TRY(mean_cost(args, plan, &mean));
	st = mr_zb_v_greedy(plan, mean, &steps);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = mr_vee_emit_steps(plan, w, steps + w * n, n, false);
	free(steps);
	return st;
}

static bool by_search(const mr_values *options_)
{
	return !strcmp(mr_values_string(options_, "order"), "greedy");
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;
	mr_status st = MR_OK;

	MR_TRY(mr_vee_create(args, "zb_v", 3, &plan));
	if (by_search(args->options))
		st = fill_by_search(args, plan);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers && !by_search(args->options); w++)
		st = fill_by_hand(plan, w);
	return mr_sched_finish_steal(args, plan, st, out);
}

/* Exact if all costs are equal and there are enough micro-batches to fill the pipeline. */
static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers;

	if (by_search(args->options) || args->n_micro < 2 * d - 1)
		return;
	out->peak_first = d;
	out->peak_last = d;
	if (f != i || i != w)
		return;
	out->bubble_time = (d - 1) * f / 2;
	out->bubble_period = 0;
}

static bool by_costs(const mr_values *values)
{
	return by_search(values) && !*mr_values_string(values, "costs");
}

const mr_sched_ops mr_sched_zb_v = {
	.name = "zb_v",
	.summary = "split backwards on a V of two stages a worker: no bubble at equal costs, in the memory of 1F1B",
	.source = "Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 6",
	.options = options,
	.by_costs = by_costs,
	.needs = needs,
	.chunks = 2,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
