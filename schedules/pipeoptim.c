/*
 * pipeoptim.c - one copy of the weights; F works on a prediction of the weights that its B will read, along the
 * optimizer's direction.
 *
 *   w0 F0F1F2........B0--F3B1--F4B2--F5B3--F6 ...     F3 reads version 1, aims at 3; B3 reads version 3
 *   w1 ..F0F1....B0--F2B1--F3B2--F4B3--F5B4-- ...     F3 reads version 2, aims at 3; B3 reads version 3
 *   w2 ....F0B0--F1B1--F2B2--F3B3--F4B4--F5B5 ...     F3 and B3 read version 3
 *
 * Problem: with one copy, F and B of a micro-batch read weights that are D - 1 - k commits apart. Idea: the steps
 * between can be predicted: they have about the direction of the last one. F works on w - (D - 1 - k) lr DW, where DW
 * is the optimizer's last direction (the momentum buffer; for Adam the corrected mean over the root), and B on the
 * latest weights as they are. If the prediction is right, F and B work on the same weights, to which the step is then
 * applied.
 *
 * Versions: F(m) reads max(0, m - (D - 1 - k)), B(m) reads m. Before the first commit nothing is predicted. Time: the
 * only bubble is fill and drain, (D - 1)(f + b). Memory: one copy of the weights, and one prediction.
 *
 * Source: Guan et al., PipeOptim, arXiv 2312.00839.
 * NOTE 1: the prediction leaves weight decay out. Plain sgd keeps no direction, so it is refused.
 */
#include "schedules/common/unflushed.h"

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static int32_t until_b(uint16_t n_stages, uint16_t s)
{
	return (int32_t)mr_unflushed_ahead(n_stages, s);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_contract contract = mr_unflushed_latest(args);
	mr_plan *plan;

	contract.predict = MR_PREDICT_AHEAD;
	MR_TRY(mr_unflushed_emit(args, "pipeoptim", args->n_workers, &contract, args->n_micro, false, &plan));
	return mr_sched_finish(plan, mr_unflushed_aim(plan, until_b, NULL), out);
}

const mr_sched_ops mr_sched_pipeoptim = {
	.name = "pipeoptim",
	.summary = "one copy of the weights: F on a guess, along the optimizer's direction, of what B will find",
	.source = "Guan et al., PipeOptim, arXiv 2312.00839",
	.asynchronous = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = mr_unflushed_claims,
};
