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
 * Time: no bubble but fill and drain, (D - 1)(f + b) once a run. Memory at stage k: activations of D - k micro-batches, D - k
 * versions of the weights (D with vertical_sync).
 *
 * Endless: the prologue is the H forwards of each stage, the body one F and one B. Finite: N micro-batches and the drain, all
 * in the prologue; the run-ahead is clamped to min(N, H).
 *
 * Source: Harlap et al., PipeDream, arXiv 1806.03377; Narayanan et al., SOSP 2019, sections 3.2 and 3.3.
 * NOTE 1: order and run-ahead are static. The greedy variant, in which middle stages run ahead further, is another system.
 * NOTE 2: no replicated stages.
 */
#include "schedules/straight.h"

static const mr_option options[] = {
	{"vertical_sync", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "every stage reads the version that stage 0 read (D versions of every stage's weights)"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static mr_status fill_endless(mr_plan *plan)
{
	plan->n_micro = 1;
	plan->commits = 1;
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint32_t ahead = plan->n_workers - 1u - w;

		for (uint32_t m = 0; m < ahead; m++)
			MR_TRY(mr_sched_emit(plan, w, MR_PROLOGUE, MR_OP_F, m, w, 0));
		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, ahead, w, 0));
		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, 0, w, 0));
	}
	return MR_OK;
}

static mr_status fill_finite(mr_plan *plan, uint32_t n_micro)
{
	plan->n_micro = n_micro;
	plan->commits = n_micro;
	for (uint16_t w = 0; w < plan->n_workers; w++)
		MR_TRY(mr_straight_emit_1f1b(plan, w, MR_PROLOGUE, plan->n_workers - 1u - w, n_micro, false));
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_straight_create(args, "pipedream", args->finite ? args->n_micro : args->n_workers, &plan));
	plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = mr_values_bool(args->options, "vertical_sync") ? MR_READ_TAG : MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = 1,
		.same_version_b = true,
		.max_staleness = plan->n_workers - 1u,
	};
	st = args->finite ? fill_finite(plan, args->n_micro) : fill_endless(plan);
	return mr_sched_finish(plan, st, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t flight = args->finite && args->n_micro < args->n_workers ? args->n_micro : args->n_workers;

	if (args->finite)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = flight;
	out->peak_slots_last = 1;
	out->versions_first = flight;
	out->versions_last = mr_values_bool(args->options, "vertical_sync") ? flight : 1;
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
