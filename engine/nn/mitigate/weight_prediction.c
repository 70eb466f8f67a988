/*
 * weight_prediction.c - forward on the weights that the gradient will be added to, as far as they can be guessed.
 *
 *	w^ = w - lr tau v        tau commits of delay; v: what the optimizer last went along
 *
 * Problem: F reads weights that are tau commits older than those that its gradient is applied to. Idea: the steps between will go
 * more or less where the last one went, so F works on weights moved on by tau such steps, and B too if the system lets it read
 * what its F read. Any system whose forward reads the latest weights can do this; spectrain and pipeoptim do nothing else.
 *
 * Source: Kosson et al., "Pipelined backpropagation at scale: training large models without batches", MLSys 2021, section 3:
 * linear weight prediction in its form by velocity.
 */
#include "nn/mitigate.h"

static void init(mr_mitigate *m, const mr_values *values)
{
	(void)values;
	m->predicts = true;
}

static bool suits(const mr_optim *o)
{
	return o->ops->along != MR_ALONG_NOTHING;
}

extern const mr_mitigate_ops mr_mitigate_weight_prediction;
const mr_mitigate_ops mr_mitigate_weight_prediction = {
	.name = "weight_prediction",
	.summary = "forward on the latest weights moved on by as many steps as the gradient will be late",
	.source = "Kosson et al., Pipelined Backpropagation at Scale, MLSys 2021, section 3",
	.suits_text = "an optimizer with a direction: momentum, ema, adam or adamw",
	.suits = suits,
	.init = init,
};
