/*
 * Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, program 1 with decoupled decay:
 *
 *	u = sign(b1 m + (1 - b1) g);  w = w (1 - lr wd) - lr u;  m = b2 m + (1 - b2) g
 *
 * Every element moves by lr, so that lr is to be three to ten times smaller than Adam's, and the decay as much larger.
 */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(lion)
MR_STEP(LION, lion, 1, true, s->lr, 0)
#elif defined(MR_OPTIM_RULES)
static inline V step_lion_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	V u;

	(void)v;
	g = step_gradient_v(c, w, g);
	u = v_sign(v_fma(c->b1, *m, v_mul(c->a1, g)));
	*m = v_fma(c->b2, *m, v_mul(c->a2, g));
	return v_fnma(c->rate, u, v_mul(w, c->keep));
}
#else
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	{"beta1", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL,
	 "weight of the mean of gradients in the direction of a step"},
	{"beta2", MR_OPT_FLOAT, "0.99", 0, 0.999999, NULL, NULL, "memory of the mean of gradients"},
	MR_OPTIM_DECAY_KINDS("0.1"),
	MR_OPTIM_STATE,
	{NULL},
};

static const char *const states[1] = {"exp_avg"};

static void init(mr_optim *o, const mr_values *values)
{
	o->b1 = mr_values_float(values, "beta1");
	o->b2 = mr_values_float(values, "beta2");
	mr_optim_decay_init(o, values);
}

static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	*out = mr_optim_base(o, c, MR_STEP_LION);
	out->b1 = o->b1;
	out->b2 = o->b2;
}

extern const mr_optim_ops mr_optim_lion;
const mr_optim_ops mr_optim_lion = {
	.name = "lion",
	.summary = "along the sign of a running mean of gradients: every weight moves by lr",
	.options = options,
	.n_states = 1,
	.state_names = states,
	.init = init,
	.fill = fill,
};
#endif
