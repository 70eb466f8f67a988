#if defined(MR_OPTIM_LIST)
MR_OPTIM(ema)
#elif !defined(MR_OPTIM_RULES)
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_MOMENTUM("memory of the running mean: buf = mu buf + (1 - mu) g",
			  "step along (1 - mu) g + mu buf instead of buf"),
	MR_OPTIM_STATE,
	{NULL},
};

/*
 * Momentum of a gradient that counts 1 - mu. With nesterov the weights are those of the look-ahead, y = w + mu (w -
 * w_prev): then y - lr (1 - mu) g is the next w, and its look-ahead is y - lr ((1 - mu) g + mu buf). On stale gradients
 * this is the method of Ajanthan et al., ICML 2025 (see nadam.c).
 */
static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	mr_optim_momentum_fill(o, c, out);
	out->gscale *= 1 - o->mu;
	out->couple *= 1 - o->mu;
}

extern const mr_optim_ops mr_optim_ema;
const mr_optim_ops mr_optim_ema = {
	.name = "ema",
	.summary = "along the running mean of the gradients: buf = mu buf + (1 - mu) g, w -= lr buf",
	.options = options,
	.n_states = 1,
	.state_names = mr_optim_momentum_states,
	.along = MR_ALONG_MOMENTUM,
	.blends = true,
	.init = mr_optim_momentum_init,
	.fill = fill,
};
#endif
