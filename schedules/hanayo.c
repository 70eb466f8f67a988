/*
 * hanayo.c - 1F1B in waves: stages lie on the workers back and forth, so a micro-batch turns round instead of going
 * back to the start (2 workers, 1 wave, 4 micro-batches, b = 2 f; a small letter is the worker's second stage).
 *
 *   w0 F0F1F2f0b0--f1b1--..B0--F3f2b2--B1--f3b3--..B2--....B3--
 *   w1 ..F0f0F1f1..b0--B0--F2f2b1--B1--F3f3b2--B2--b3--B3--....
 *
 * Problem: interleaved shortens the waits, but each round ends with a jump from the last worker to the first, and the
 * first keeps more activations than 1f1b. chimera gets short waits from two copies of the weights. Idea: fold the
 * pipeline. W waves go down and up the workers W times, with S = 2WD stages: stage s of segment g = s / D lies on
 * worker s mod D when g is even, on D - 1 - (s mod D) when it is odd. At a turn two stages in a row lie on one worker
 * and hand over nothing.
 *
 * Order. A worker does what is ready, the oldest micro-batch first, and keeps at most D micro-batches of its share (see
 * list_schedule.h). Whether a forward or a backward should go first, and whether the order should be made for the costs
 * or for f = b, depends on D, T and the costs: all four combinations are tried, and the one with the shortest iteration
 * under the costs is taken. The costs are those given to `schedule`, else f = i = w.
 *
 * Time: where f = b, with W = 1 and T >= D, or with T a multiple of D, bubble (D - 1)(f + b) / (2W), as interleaved
 * with v = 2W. With b = 2f the waves fit less well: with W = 1 the bubble is somewhat longer, but below that of 1f1b;
 * with W > 1 and many micro-batches it is much longer, since D micro-batches are too few for long rounds. Memory: at
 * most D micro-batches on any worker. Gradients are summed in the order 0..T-1.
 *
 * Source: Liu et al., Hanayo, SC 2023, sections 3 and 4.
 * NOTE 1: the paper's own order was not available for comparison; the placement, the time for f = b and the memory are
 * the paper's.
 */
#include <math.h>
#include <stdlib.h>

#include "timing/walk.h"
#include "schedules/common/list_schedule.h"
#include "schedules/common/looped.h"

/* Makespans this close are equal: sums of doubles in another order. */
#define SAME 1e-9

static const mr_option options[] = {
	{"waves", MR_OPT_INT, "1", 1, 512, NULL, NULL,
	 "times a micro-batch goes down and up the workers; each hosts two stages a wave"},
	{0},
};

static uint16_t chunks_of(const mr_values *values)
{
	return (uint16_t)(2 * mr_values_int(values, "waves"));
}

static void place(mr_plan *plan)
{
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		uint16_t at = s % plan->n_workers, back = (uint16_t)(plan->n_workers - 1 - at);

		plan->worker_of[mr_plan_at(plan, 0, s)] = s / plan->n_workers % 2 ? back : at;
	}
}

/* A way to make an order: for f = b or for the costs; and whether forwards or backwards go first. */
struct way {
	bool even, forward_first;
};

/* Ranks with which every forward goes before every backward, the oldest of each first: they alternate because of the
 * limit of memory. */
static void rank_forwards_first(const mr_list_job *job, uint32_t *rank)
{
	for (uint16_t s = 0; s < job->n_stages; s++)
		for (uint32_t m = 0; m < job->n_micro; m++) {
			rank[mr_list_rank_at(job, MR_OP_F, s, m)] = m;
			rank[mr_list_rank_at(job, MR_OP_B, s, m)] = job->n_micro + m;
		}
}

/* Append the order that @way makes to @plan, and find its makespan under @real [n_stages]. @even, @cap, @rank: room. */
static mr_status fill(mr_plan *plan, struct way way, const mr_stage_cost *real, mr_stage_cost *even, uint32_t *cap,
		      uint32_t *rank, double *makespan)
{
	mr_list_job job = {
		.n_workers = plan->n_workers,
		.n_stages = plan->n_stages,
		.n_pipes = 1,
		.n_micro = plan->n_micro,
		.worker_of = plan->worker_of,
		.cost = way.even ? even : real,
		.cap = cap,
		.rank = way.forward_first ? rank : NULL,
	};
	mr_cost cost = {plan->n_stages, real};
	mr_list_order *order = NULL;
	mr_walk *walk = NULL;
	mr_status st;

	for (uint16_t s = 0; s < plan->n_stages; s++)
		even[s] = (mr_stage_cost){.f = 1, .i = 1};
	for (uint16_t w = 0; w < plan->n_workers; w++)
		cap[w] = plan->n_stages; /* D micro-batches of v stages */
	rank_forwards_first(&job, rank);
	st = mr_list_order_create(&job, &order);
	if (st == MR_OK)
		st = mr_list_order_emit(order, plan);
	if (st == MR_OK)
		st = mr_plan_walk(plan, &cost, 1, &(mr_walk_opts){.unlimited = true, .no_period = true}, &walk);
	*makespan = st == MR_OK ? walk->makespan : 0;
	mr_walk_destroy(walk);
	mr_list_order_destroy(order);
	return st;
}

static mr_status emit_way(const mr_sched_args *args, struct way way, double *makespan, mr_plan **out)
{
	mr_stage_cost *cost;
	uint32_t *cap, *rank;
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_looped_create(args, "hanayo", 2, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	place(plan);
	cost = malloc(2 * (size_t)plan->n_stages * sizeof(*cost));
	cap = malloc(plan->n_workers * sizeof(*cap));
	rank = malloc(3 * (size_t)plan->n_stages * plan->n_micro * sizeof(*rank));
	st = cost && cap && rank ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u stages", plan->n_stages);
	if (st == MR_OK)
		st = mr_sched_costs(args, plan->n_stages, cost);
	if (st == MR_OK)
		st = fill(plan, way, cost, cost + plan->n_stages, cap, rank, makespan);
	free(cost);
	free(cap);
	free(rank);
	return mr_sched_finish(plan, st, out);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	static const struct way ways[] = {{true, false}, {false, false}, {true, true}, {false, true}};
	mr_plan *best = NULL;
	double shortest = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		mr_plan *plan;
		double makespan = 0;
		mr_status st = emit_way(args, ways[i], &makespan, &plan);

		if (st != MR_OK) {
			mr_plan_destroy(best);
			return st;
		}
		if (best && makespan >= shortest * (1 - SAME)) {
			mr_plan_destroy(plan);
			continue;
		}
		mr_plan_destroy(best);
		best = plan;
		shortest = makespan;
	}
	*out = best;
	return MR_OK;
}

static bool by_costs(const mr_values *values)
{
	(void)values;
	return true;
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	double d = args->n_workers, waves = args->chunks / 2;
	const mr_stage_cost *order_for = args->costs && args->costs->n_stages == 1 ? args->costs->stage : NULL;

	if (args->n_micro == 1)
		out->bubble_time = (d - 1) * (f + i + w);
	else if (args->n_micro == args->n_workers && !args->costs)
		out->bubble_time = (d - 1) * fmax(f, i + w) / waves;
	else if (order_for && order_for->f == order_for->i + order_for->w && order_for->c == 0 && f == i + w &&
		 (args->n_micro % args->n_workers == 0 || (args->chunks == 2 && args->n_micro >= args->n_workers)))
		out->bubble_time = (d - 1) * (f + i + w) / (2 * waves);
}

const mr_sched_ops mr_sched_hanayo = {
	.name = "hanayo",
	.summary = "1F1B in waves that go down and up the workers, without copies of the weights",
	.source = "Liu et al., Hanayo, SC 2023, sections 3 and 4",
	.options = options,
	.by_costs = by_costs,
	.chunks_of = chunks_of,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
