/*
 * spectrain.c - one copy of the weights; every pass works on a prediction of the weights to which its gradient will be
 * added.
 *
 *   w0 F0F1F2........B0--F3B1--F4B2--F5B3--F6 ...     F3 reads version 1, aims 2 ahead; B3 reads version 3
 *   w1 ..F0F1....B0--F2B1--F3B2--F4B3--F5B4-- ...     F3 reads version 2, aims 1 ahead; B3 reads version 3
 *   w2 ....F0B0--F1B1--F2B2--F3B3--F4B4--F5B5 ...     F3 and B3 read version 3, aim 1 ahead
 *
 * Problem: the stages work on one micro-batch with weights of different ages. Idea: all passes of a micro-batch aim at
 * one version, the latest when it ends at stage 0, and work on a prediction of it: w - s lr v, the weights moved along
 * the momentum by the s steps that are still to come. Stage k of D: s = k div 2 + D - 1 - k in F, k div 2 in B. The
 * update is applied to the true latest version.
 *
 * Versions: F(m) reads max(0, m - (D - 1 - k)), B(m) reads m. Before the first commit there is no momentum and nothing
 * is predicted. Time: the only bubble is fill and drain, (D - 1)(f + b). Memory: one copy of the weights, and one
 * prediction.
 *
 * variant = v2 is the second rule of the authors' code: F predicts s = D - k ahead, the version that its own gradient
 * makes at its stage, and B works on the prediction of its F. So a micro-batch uses one set of weights at a stage, as
 * with stashing, and predictions are stashed in place of versions: D - k of them beside the one copy.
 *
 * Source: Chen et al., Efficient and Robust Parallel DNN Training through Model Parallelism on Multi-GPU Platforms
 * (SpecTrain), arXiv 1809.02839, section 4; v2: github.com/ntueclab/SpecTrain-PyTorch.
 * NOTE 1: the prediction follows the optimizer's own direction: the momentum buffer, or Adam's corrected mean over the
 * root. Plain sgd keeps no direction, so it is refused.
 */
#include <string.h>

#include "schedules/common/unflushed.h"

static const mr_option options[] = {
	{"variant", MR_OPT_ENUM, "v1", 0, 0, "v1|v2", NULL,
	 "v1: F and B each guess the weights at the micro-batch's end at stage 0; v2: F guesses those that its "
	 "gradient makes, B takes the same"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static int32_t until_end(uint16_t n_stages, uint16_t s)
{
	return s / 2 + (int32_t)mr_unflushed_ahead(n_stages, s);
}

static int32_t until_end_of_b(uint16_t n_stages, uint16_t s)
{
	(void)n_stages;
	return s / 2;
}

static int32_t until_own(uint16_t n_stages, uint16_t s)
{
	return n_stages - s;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	bool v2 = !strcmp(mr_values_string(args->options, "variant"), "v2");
	mr_contract contract = mr_unflushed_latest(args);
	mr_plan *plan;

	contract.predict = MR_PREDICT_AHEAD;
	contract.same_version_b = v2;
	MR_TRY(mr_unflushed_emit(args, "spectrain", args->n_workers, &contract, args->n_micro, false, &plan));
	return mr_sched_finish(plan, v2 ? mr_unflushed_aim(plan, until_own, until_own)
					: mr_unflushed_aim(plan, until_end, until_end_of_b), out);
}

const mr_sched_ops mr_sched_spectrain = {
	.name = "spectrain",
	.summary = "one copy of the weights: F and B on a guess, along the momentum, of the weights at the "
		   "micro-batch's end",
	.source = "Chen et al., SpecTrain, arXiv 1809.02839, section 4",
	.options = options,
	.asynchronous = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = mr_unflushed_claims,
};
