/*
 * paci.c - ampnet with as many gradients a step as micro-batches are in flight: forward and backward at most one
 * version apart (2 stages, M = 2).
 *
 *   w0 F0F1B0--F2B1--U1F3B2--F4B3--U2 ...     F2 reads version 0 and B2 version 1; F3 and B3 both read version 1
 *   w1 ..F0B0--F1B1--U1F2B2--F3B3--U2 ...     here F and B always read the same version
 *
 * Problem: with one copy of the weights, the backward of a micro-batch reads weights that are up to D - 1 - k commits
 * newer than those of its forward, and its gradient is biased by the difference. Idea: let a stage add up M >= D - 1
 * gradients before it steps. Then at most one commit falls between the forward and the backward of a micro-batch, at
 * every stage: the gap is bounded by 1 without a second copy of anything.
 *
 * Versions, time and memory are those of ampnet with U = M and in_flight = D. T (train.microbatches) is M.
 *
 * Source: PACI, arXiv 2606.07881 (from its abstract: local accumulation that bounds the version gap).
 */
#include "schedules/common/unflushed.h"

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_contract contract = {
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = args->n_micro,
		.max_staleness = args->n_workers > 1,
	};

	if (args->n_micro + 1u < args->n_workers)
		return mr_fail(
			MR_ECONFIG,
			"forward and backward are at most one version apart from %u micro-batches a commit on, got %u",
			args->n_workers - 1u, args->n_micro);
	return mr_unflushed_emit(args, "paci", args->n_workers, &contract, mr_unflushed_micro(args), false, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	if (args->finite)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = args->n_workers;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_paci = {
	.name = "paci",
	.summary = "one copy of the weights and T gradients a step: forward and backward at most one version apart",
	.source = "PACI, arXiv 2606.07881",
	.asynchronous = true,
	.accumulates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
