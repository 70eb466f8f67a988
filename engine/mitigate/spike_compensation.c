/*
 * spike_compensation.c - a late gradient makes up at once for the steps that it came too late for.
 *
 *	buf = mu buf + g;  w -= lr (a buf + b g)      a = mu^tau,  b = (1 - mu^tau) / (1 - mu)
 *
 * Problem: without delay a gradient would have moved the weights by lr g (1 + mu + mu^2 + ...), a step at each commit.
 * tau commits late, the first tau of these never happened. Idea: take them all at once when the gradient arrives, b g,
 * and from then on go on as the momentum would have: a buf. The sum is the same, only later.
 *
 * ema counts a gradient 1 - mu, which both sides have as a factor.
 *
 * With tau = 0: a = 1, b = 0, momentum as it is.
 *
 * Source: Kosson et al., "Pipelined backpropagation at scale: training large models without batches", MLSys 2021,
 * section 3.
 */
#include "mitigate/mitigate.h"

#include <math.h>

static const mr_option options[] = {
	{"predict", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "move the weights of F on by as many steps, as weight_prediction does"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	m->predicts = mr_values_bool(values, "predict");
}

static bool suits(const mr_optim *o)
{
	return o->ops->blends && !o->nesterov;
}

static void settle(const mr_mitigate *m, uint32_t tau, uint32_t n_stages, mr_optim *o)
{
	double left = pow(o->mu, tau);

	(void)m;
	(void)n_stages;
	o->blends = true;
	o->blend_m = left;
	o->blend_g = (1 - left) / (1 - o->mu);
}

extern const mr_mitigate_ops mr_mitigate_spike_compensation;
const mr_mitigate_ops mr_mitigate_spike_compensation = {
	.name = "spike_compensation",
	.summary = "a late gradient makes up at once for the steps along its momentum that it came too late for",
	.source = "Kosson et al., Pipelined Backpropagation at Scale, MLSys 2021, section 3",
	.suits_text = "momentum or ema with nesterov = false, whose steps are sums of past gradients that decay by mu",
	.options = options,
	.suits = suits,
	.init = init,
	.settle = settle,
};
