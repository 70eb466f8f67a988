/* Kingma and Ba, "Adam", ICLR 2015, algorithm 1. */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(adam)
MR_STEP(ADAM, adam, 2, false, s->lr / s->c1, 0)
#elif defined(MR_OPTIM_RULES)
static inline V step_adam_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	g = step_gradient_v(c, w, g);
	*m = v_fma(c->b1, *m, v_mul(c->a1, g));
	*v = v_fma(c->b2, *v, v_mul(v_mul(c->a2, g), g));
	return v_sub(v_mul(w, c->keep), step_over_v(c, v_mul(c->rate, *m), *v));
}
#else
#include "nn/optim/part.h"

#include <math.h>

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_ADAM(MR_OPTIM_DECAY_KINDS("0")),
	MR_OPTIM_STATE,
	{NULL},
};

const char *const mr_optim_adam_states[2] = {"exp_avg", "exp_avg_sq"};

void mr_optim_adam_init(mr_optim *o, const mr_values *values)
{
	o->b1 = mr_values_float(values, "beta1");
	o->b2 = mr_values_float(values, "beta2");
	o->eps = mr_values_float(values, "eps");
	mr_optim_decay_init(o, values);
}

void mr_optim_adam_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	*out = mr_optim_base(o, c, MR_STEP_ADAM);
	out->b1 = o->b1;
	out->b2 = o->b2;
	out->eps = o->eps;
	/* From the commit number, not from running products: a resumed run then needs no further state. */
	out->c1 = 1 - pow(o->b1, (double)c->t);
	out->c2 = 1 - pow(o->b2, (double)c->t);
}

extern const mr_optim_ops mr_optim_adam;
const mr_optim_ops mr_optim_adam = {
	.name = "adam",
	.summary = "running mean of gradients over the root of the running mean of squares, both bias-corrected",
	.options = options,
	.n_states = 2,
	.state_names = mr_optim_adam_states,
	.along = MR_ALONG_ADAM,
	.suffers = true,
	.init = mr_optim_adam_init,
	.fill = mr_optim_adam_fill,
};
#endif
