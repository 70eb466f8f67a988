/*
 * xpipe.c - all micro-batches of a minibatch work on one prediction of the weights, made by the first of them (2
 * stages, T = 2).
 *
 *   w0 F0F1B0--F2B1--U1F3B2--F4B3--U2F5 ...     F2 predicts from version 0; F3 uses the same prediction, though version
 *                                               1 is there
 *   w1 ..F0B0--F1B1--U1F2B2--F3B3--U2F4 ...     F2 predicts from version 1
 *
 * Problem: micro-batches keep a pipeline busy without a flush, but those of one minibatch would read different weights.
 * Idea: the first of a minibatch at each stage, the bellwether, predicts the weights to which the minibatch's gradient
 * will be applied, along the optimizer's direction, w - s lr DW; the other T - 1 work on the same prediction. Stage k
 * of D predicts s commits ahead, rounded half up:
 *	F: s = (D + T - k div 2 - 2) / T        B: s = (T + k div 2 - 1) / T
 * The gradients of the T micro-batches are averaged into one commit on the true latest version.
 *
 * Versions: with H = D - 1 - k, F of minibatch t reads max(0, t - ceil(H / T)), B reads t. Time: the only bubble is
 * fill and drain, (D - 1)(f + b). Memory: one copy of the weights, and two predictions; that of F is kept for T
 * micro-batches. T (train.microbatches) is the paper's T; T = D is recommended.
 *
 * Source: Guan et al., XPipe, arXiv 1911.04610.
 * NOTE 1: every optimizer that keeps a direction is accepted; the paper uses Adam.
 */
#include <stdlib.h>

#include "schedules/common/unflushed.h"

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers;
}

static int32_t rounded(uint32_t n, uint32_t d)
{
	return (int32_t)((2 * (uint64_t)n + d) / (2 * (uint64_t)d));
}

static mr_status aim(mr_plan *plan)
{
	int32_t *horizon = calloc(2 * (size_t)plan->n_stages, sizeof(*horizon));
	uint32_t d = plan->n_stages, t = plan->contract.need;

	if (!horizon)
		return mr_fail(MR_ERESOURCE, "no memory for the horizons of %u stages", plan->n_stages);
	for (uint32_t k = 0; k < d; k++) {
		uint32_t n = d + t - k / 2;

		horizon[k] = n > 2 ? rounded(n - 2, t) : 0;
		horizon[d + k] = rounded(t + k / 2 - 1, t);
	}
	mr_sched_aim(plan, horizon, horizon + d);
	free(horizon);
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t ahead = args->n_workers - 1u;
	mr_contract contract = {
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_FIRST,
		.sum = MR_SUM_ASCENDING,
		.need = args->n_micro,
		.max_staleness = ahead / args->n_micro + (ahead % args->n_micro > 0),
		.predict = MR_PREDICT_AHEAD,
	};
	mr_plan *plan;

	MR_TRY(mr_unflushed_emit(args, "xpipe", args->n_workers, &contract, mr_unflushed_micro(args), false, &plan));
	return mr_sched_finish(plan, aim(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint64_t most = args->finite ? mr_unflushed_micro(args) : args->n_workers;

	if (args->finite)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = args->n_workers < most ? args->n_workers : (uint32_t)most;
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_xpipe = {
	.name = "xpipe",
	.summary = "one copy of the weights: all T micro-batches of a commit on one guess, along the optimizer's "
		   "direction",
	.source = "Guan et al., XPipe, arXiv 1911.04610",
	.asynchronous = true,
	.accumulates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
