/*
 * pipedream.c - 1F1B that never flushes: an update after every micro-batch, on stashed weights (3 stages, b = 2 f).
 *
 *   w0 F0F1F2........B0--F3B1--F4B2--F5B3--F6 ...     body: F(n+2) B(n)     F3 and B3 read version 1, after B0
 *   w1 ..F0F1....B0--F2B1--F3B2--F4B3--F5B4-- ...     body: F(n+1) B(n)     F3 and B3 read version 2, after B1
 *   w2 ....F0B0--F1B1--F2B2--F3B3--F4B4--F5B5 ...     body: F(n) B(n)       F3 and B3 read version 3, after B2
 *
 * Problem: a flushing pipeline idles (D - 1)(f + b) an update. Idea: do not flush. Each stage commits a version after each
 * backward and goes on. A micro-batch in flight must then meet the same weights on its way back as on its way out, or its
 * gradient is of no function at all: the stage keeps (stashes) the versions that micro-batches in flight still need.
 *
 * Versions. Stage k runs H = D - 1 - k forwards ahead. F(m) reads the stage's latest, max(0, m - H); B(m) reads the same
 * and commits version m + 1, so its gradient is min(m, H) commits stale: stages disagree about the version of one
 * micro-batch. With vertical_sync every stage reads what stage 0 read, max(0, m - (D - 1)): one consistent model for each
 * micro-batch, at staleness D - 1 and D versions everywhere. None of this depends on timing: the lists decide it.
 *
 * stashing = false keeps one copy: F and B read whatever is latest. The gradient then mixes two versions, min(m, H) commits
 * apart; it is the baseline that stashing is measured against.
 *
 * noam = K admits K micro-batches at stage 0 in place of D: H = max(0, K - 1 - k). Fewer save memory and leave workers idle,
 * more only add staleness where stages are equal, and can hide the waits of uneven ones.
 *
 * Time: no bubble but fill and drain, (D - 1)(f + b) once a run. Memory at stage k: activations of D - k micro-batches, D - k
 * versions of the weights (D with vertical_sync).
 *
 * Endless: the prologue is the H forwards of each stage, the body one F and one B. Finite: N micro-batches and the drain, all
 * in the prologue; the run-ahead is clamped to min(N, H).
 *
 * Source: Harlap et al., PipeDream, arXiv 1806.03377; Narayanan et al., SOSP 2019, sections 3.2 and 3.3.
 * order = greedy lets each stage take whatever is ready, B first until it has done one, then F and B in turn; only stage 0 waits,
 * for noam. Middle stages then run ahead further than D - 1 - k, keep more versions (up to D), and how far depends on the costs:
 * the order is that of a simulation with the given ones, so it is a fixed list all the same. It is simulated until it is regular;
 * the irregular part is the prologue, in which versions are made too.
 *
 * Source of the greedy rule: the public simulator of Randomized PipeDream, arXiv 2606.03498.
 * NOTE 1: PipeDream's own code has the static order; it keeps one version more than needed (the working copy).
 * NOTE 2: no replicated stages.
 */
#include <stdlib.h>
#include <string.h>

#include "schedules/parts/greedy.h"
#include "schedules/parts/stage_costs.h"
#include "schedules/parts/straight.h"
#include "schedules/parts/unflushed.h"

static const mr_option options[] = {
	{"vertical_sync", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "every stage reads the version that stage 0 read (D versions of every stage's weights)"},
	{"stashing", MR_OPT_BOOL, "true", 0, 0, NULL, NULL,
	 "B reads the version its F read; without it B reads the latest one, on activations of another: one copy, biased gradients"},
	{"noam", MR_OPT_INT, "0", 0, 65535, NULL, NULL,
	 "micro-batches in flight at stage 0; 0: as many as workers, which is what keeps all of them busy"},
	{"order", MR_OPT_ENUM, "static", 0, 0, "static|greedy", NULL,
	 "static: a fixed run-ahead; greedy: each stage takes what is ready, as a simulation with the costs shows it"},
	MR_STAGE_COSTS_OPTION,
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

/* Micro-batches under way at stage 0: PipeDream's NOAM. */
static uint32_t in_flight_of(const mr_sched_args *args)
{
	int64_t given = mr_values_int(args->options, "noam");

	return given ? (uint32_t)given : args->n_workers;
}

/* The lists of a greedy order: all of it, or what comes before it is regular and then one version an iteration. */
static mr_status fill_greedy(mr_plan *plan, const mr_greedy *g, uint32_t first)
{
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const uint8_t *op = g->op + 2 * (size_t)g->n_micro * w;
		uint32_t n[MR_N_OPS] = {0};

		for (uint32_t i = 0; i < 2 * g->n_micro && n[MR_OP_B] < first + 1; i++) {
			/* The F right before B(first) begins the body. */
			bool body = i + 1 < 2 * g->n_micro && n[MR_OP_B] == first && (op[i] == MR_OP_B || op[i + 1] == MR_OP_B);

			MR_TRY(mr_sched_emit(plan, w, body ? MR_BODY : MR_PROLOGUE, (mr_op)op[i], n[op[i]]++, w, 0));
		}
	}
	return MR_OK;
}

static mr_status order_greedy(const mr_sched_args *args, uint32_t in_flight, mr_plan *plan)
{
	uint32_t n_micro = args->finite ? args->n_micro : 8u * plan->n_stages + 4 * in_flight + 32, first = n_micro;
	mr_stage_cost *cost = calloc(plan->n_stages, sizeof(*cost));
	mr_greedy g = {0};
	mr_status st = cost ? mr_stage_costs(args, plan, cost)
			    : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);

	if (st == MR_OK)
		st = mr_greedy_run(cost, plan->n_stages, in_flight, n_micro, &g);
	if (st == MR_OK && !args->finite)
		first = mr_greedy_steady(&g, in_flight);
	if (st == MR_OK && first == UINT32_MAX)
		st = mr_fail(MR_ECONFIG, "with these costs the greedy order does not settle into one forward and one backward in turn: take order = static");
	plan->n_micro = plan->commits = args->finite ? n_micro : 1;
	if (st == MR_OK)
		st = fill_greedy(plan, &g, first);
	mr_greedy_fini(&g);
	free(cost);
	return st;
}

static mr_status emit_greedy(const mr_sched_args *args, uint32_t in_flight, const mr_contract *contract, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "pipedream", args->n_micro, &plan));
	plan->contract = *contract;
	return mr_sched_finish(plan, order_greedy(args, in_flight, plan), out);
}

static bool is_greedy(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "order"), "greedy");
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	bool sync = mr_values_bool(args->options, "vertical_sync"), stash = mr_values_bool(args->options, "stashing");
	uint32_t in_flight = in_flight_of(args);
	mr_contract contract = {
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = sync ? MR_READ_TAG : MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = 1,
		.same_version_b = stash,
		.max_staleness = in_flight - 1,
	};

	if (sync && !stash)
		return mr_fail(MR_ECONFIG, "vertical_sync reads versions that are not the latest, so it needs stashing = true");
	if (is_greedy(args))
		return emit_greedy(args, in_flight, &contract, out);
	return mr_unflushed_emit(args, "pipedream", in_flight, &contract, args->n_micro, false, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t in_flight = in_flight_of(args), most = args->finite ? args->n_micro : in_flight;
	uint32_t first = in_flight < most ? in_flight : most, last = mr_unflushed_ahead(in_flight, args->n_workers - 1u) + 1;
	bool sync = mr_values_bool(args->options, "vertical_sync"), stash = mr_values_bool(args->options, "stashing");

	if (is_greedy(args))
		return; /* all of it depends on the costs */
	last = last < most ? last : most;
	if (args->finite && in_flight == args->n_workers)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = first;
	out->peak_slots_last = last;
	out->versions_first = stash ? first : 1;
	out->versions_last = !stash ? 1 : sync ? first : last;
}

const mr_sched_ops mr_sched_pipedream = {
	.name = "pipedream",
	.summary = "1F1B without a flush: an update after every micro-batch, on stashed weights",
	.source = "Narayanan et al., PipeDream, SOSP 2019, sections 3.2 and 3.3",
	.options = options,
	.asynchronous = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
