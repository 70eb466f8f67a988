#if defined(MR_OPTIM_LIST)
MR_OPTIM(sgd)
MR_STEP(SGD, sgd, 0, true, s->lr, 0)
#elif defined(MR_OPTIM_RULES)
static inline V step_sgd_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	(void)m, (void)v;
	return v_fnma(c->rate, step_gradient_v(c, w, g), v_mul(w, c->keep));
}
#else
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_DECAY_KINDS("0"),
	{NULL},
};

static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	*out = mr_optim_base(o, c, MR_STEP_SGD);
}

extern const mr_optim_ops mr_optim_sgd;
const mr_optim_ops mr_optim_sgd = {
	.name = "sgd",
	.summary = "gradient descent: w -= lr g",
	.options = options,
	.init = mr_optim_decay_init,
	.fill = fill,
};
#endif
