/*
 * weight_prediction.c - forward on the weights that the gradient will be added to, as far as they can be guessed.
 *
 *	w^ = w - lr tau v        tau commits of delay; v: what the optimizer last went along
 *
 * Where the optimizer keeps no such direction (sgd, nadam, nadamw, muon), where F reads another version than the
 * latest, or where several workers step a stage, v is what made the version that F reads:
 *
 *	w^ = w + tau (w - w_before)
 *
 * which takes one more version of the weights and no state.
 *
 * Problem: F reads weights that are tau commits older than those that its gradient is applied to. Idea: the steps
 * between will go more or less where the last one went, so F works on weights moved on by tau such steps, and B too if
 * the system lets it read what its F read. spectrain and pipeoptim do nothing else.
 *
 * Source: Kosson et al., "Pipelined backpropagation at scale: training large models without batches", MLSys 2021,
 * section 3: linear weight prediction, in its form by velocity and in that by weights.
 */
#include "mitigate/mitigate.h"

static void init(mr_mitigate *m, const mr_values *values)
{
	(void)values;
	m->predicts = true;
}

extern const mr_mitigate_ops mr_mitigate_weight_prediction;
const mr_mitigate_ops mr_mitigate_weight_prediction = {
	.name = "weight_prediction",
	.summary = "forward on weights moved on by as many steps as the gradient will be late",
	.source = "Kosson et al., Pipelined Backpropagation at Scale, MLSys 2021, section 3",
	.init = init,
};
