#include "nn/optim/part.h"

static const mr_option options[] = {
	{"mu", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL, "memory of the running mean: buf = mu buf + (1 - mu) g"},
	{"nesterov", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "step along (1 - mu) g + mu buf instead of buf"},
	MR_OPTIM_DECAY("0"),
	{NULL},
};

static const char *const state_names[] = {"momentum"};

static void init(mr_optim *o, const mr_values *values)
{
	o->mu = mr_values_float(values, "mu");
	o->nesterov = mr_values_bool(values, "nesterov");
	o->weight_decay = mr_values_float(values, "weight_decay");
}

/*
 * Momentum of a gradient that counts 1 - mu. With nesterov the weights are those of the look-ahead, y = w + mu (w - w_prev): then
 * y - lr (1 - mu) g is the next w, and its look-ahead is y - lr ((1 - mu) g + mu buf). On stale gradients this is the method of
 * Ajanthan et al., ICML 2025 (see nadam.c).
 */
static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	*out = mr_optim_base(o, c, MR_STEP_MOMENTUM);
	out->mu = o->mu;
	out->nesterov = o->nesterov;
	out->gscale = c->gscale * (1 - o->mu);
}

extern const mr_optim_ops mr_optim_ema;
const mr_optim_ops mr_optim_ema = {
	.name = "ema",
	.summary = "along the running mean of the gradients: buf = mu buf + (1 - mu) g, w -= lr buf",
	.options = options,
	.n_states = 1,
	.state_names = state_names,
	.along = MR_ALONG_MOMENTUM,
	.init = init,
	.fill = fill,
};
