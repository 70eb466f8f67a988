/*
 * wpipe.c - two groups of stages that take turns: two versions of one half of the weights, one of the other (2 workers,
 * S = 4, M = 2; F0' and B0' are of the second group, stages 2 and 3).
 *
 *   w0 F0F1....F0'F1'..F2F3..B0'--B1'--F2'F3'..B0--B1--F4 ...
 *   w1 ..F0F1....F0'F1'F2B0'--F3B1'--..F2'B0--F3'B1--..F4 ...
 *                      |  phase A(0)  | phase B(0)  | phase A(1)
 *
 * Problem: pipedream_2bw doubles all weights, and all of them are one update old. Idea: cut the model in two groups of
 * D stages; worker n hosts stage n of the first group and stage D + n of the second. While one group runs the forwards
 * of the next batch, the other runs the backwards of the present one, so a phase has work in both directions and needs
 * no flush:
 *	phase A(t): F of batch t+1 in group 0, B of batch t in group 1, then group 1 commits;
 *	phase B(t): F of batch t+1 in group 1, B of batch t in group 0, then group 0 commits.
 * In a phase the forwards lead by D - 1 - n micro-batches at worker n.
 *
 * Versions. Batch t reads version max(0, t - 1) in group 0, and version t in group 1, forward and backward:
 *	W(t+1) = W(t) - lr * mean gradient at (W0(t-1), W1(t))
 * so half of the weights is one commit old and has two versions; the other half is not stale and has one.
 *
 * Time: between two phases a worker waits (D - 1)(f + b) of one stage, for M >= D: a larger M makes the share of these
 * waits smaller. Memory: 1.5 copies of the weights; activations of 2 M micro-batches in group 0, of M and the lead in
 * group 1. M is T (train.microbatches).
 *
 * Source: Yang et al., Group-based Interleaved Pipeline Parallelism for Large-scale DNN Training (WPipe), ICLR 2022.
 * NOTE 1: versions and phases are the paper's; the paper does not fix the order inside a phase, which is chosen here.
 */
#include "ir/sched.h"

/* One phase at one worker: F of batch @forward at @fs merged with B of batch @backward at @bs, F ahead by @lead. NONE:
 * no such half. */
#define NONE UINT32_MAX

typedef struct mr_phase {
	uint32_t forward, backward;
	uint16_t fs, bs;
	uint32_t lead;
} mr_phase;

static mr_status emit_phase(mr_plan *plan, uint16_t w, mr_section section, mr_phase p, uint32_t n)
{
	uint32_t lead = p.lead < n ? p.lead : n;

	for (uint32_t k = 0; k < n + lead; k++) {
		if (k < n && p.forward != NONE)
			MR_TRY(mr_sched_emit(plan, w, section, MR_OP_F, p.forward * n + k, p.fs, 0));
		if (k >= lead && p.backward != NONE)
			MR_TRY(mr_sched_emit(plan, w, section, MR_OP_B, p.backward * n + k - lead, p.bs, 0));
	}
	return MR_OK;
}

/* Phases A and B of batch @t; @next: the batch that goes forward meanwhile, or NONE. */
static mr_status emit_batch(mr_plan *plan, uint16_t w, mr_section section, uint32_t t, uint32_t next)
{
	uint16_t second = (uint16_t)(plan->n_workers + w);
	uint32_t n = plan->contract.need, lead = plan->n_workers - 1u - w;

	MR_TRY(emit_phase(plan, w, section, (mr_phase){next, t, w, second, lead}, n));
	return emit_phase(plan, w, section, (mr_phase){next, t, second, w, lead}, n);
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args)
{
	uint32_t n = args->n_micro;

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint16_t second = (uint16_t)(plan->n_workers + w);

		MR_TRY(emit_phase(plan, w, MR_PROLOGUE, (mr_phase){.backward = NONE, .fs = w}, n));
		MR_TRY(emit_phase(plan, w, MR_PROLOGUE, (mr_phase){.backward = NONE, .fs = second}, n));
		for (uint32_t t = 0; args->finite && t < args->n_commits; t++)
			MR_TRY(emit_batch(plan, w, MR_PROLOGUE, t, t + 1 < args->n_commits ? t + 1 : NONE));
		if (!args->finite)
			MR_TRY(emit_batch(plan, w, MR_BODY, 0, 1));
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint64_t each = (uint64_t)args->n_micro * (args->finite ? args->n_commits : 2);
	mr_sched_args own = *args;
	mr_plan *plan;

	own.n_micro = each < UINT32_MAX ? (uint32_t)each : UINT32_MAX;
	MR_TRY(mr_sched_create(&own, "wpipe", 2u * args->n_workers, 1, 2, &plan));
	for (uint16_t s = 0; s < plan->n_stages; s++)
		plan->worker_of[mr_plan_at(plan, 0, s)] = (uint16_t)(s % plan->n_workers);
	plan->commits = args->finite ? args->n_commits : 1;
	plan->n_micro = plan->commits * args->n_micro;
	plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_BATCH,
		.sum = MR_SUM_ASCENDING,
		.need = args->n_micro,
		.same_version_b = true,
		.max_staleness = 1,
		.delay = 1,
		.delayed = args->n_workers,
	};
	return mr_sched_finish(plan, fill(plan, args), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	(void)f;
	(void)i;
	(void)w;
	out->versions_first = args->finite && args->n_commits == 1 ? 1 : 2;
	if (!args->finite)
		out->peak_slots_first = 2 * args->n_micro;
}

const mr_sched_ops mr_sched_wpipe = {
	.name = "wpipe",
	.summary = "two groups of stages take turns going forward and backward: 1.5 copies of the weights, half of "
		   "them fresh",
	.source = "Yang et al., Group-based Interleaved Pipeline Parallelism (WPipe), ICLR 2022",
	.chunks = 2,
	.asynchronous = true,
	.accumulates = true,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
