#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_DECAY("0"),
	{NULL},
};

static void init(mr_optim *o, const mr_values *values)
{
	o->weight_decay = mr_values_float(values, "weight_decay");
}

static void step(const mr_optim *o, const mr_optim_call *c)
{
	c->k->step_sgd(c->kc, c->n, c->src, c->dst, c->g, c->gscale, c->lr, mr_optim_decay(o, c));
}

extern const mr_optim_ops mr_optim_sgd;
const mr_optim_ops mr_optim_sgd = {
	.name = "sgd",
	.summary = "gradient descent: w -= lr g",
	.options = options,
	.init = init,
	.step = step,
};
