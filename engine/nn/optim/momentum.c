#if defined(MR_OPTIM_LIST)
MR_OPTIM(momentum)
MR_STEP(MOMENTUM, momentum, 1, true, s->lr, 0)
MR_STEP(BLEND, blend, 1, true, s->lr *s->cm, s->lr *s->cg)
#elif defined(MR_OPTIM_RULES)
static inline V step_momentum_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	(void)v;
	g = step_gradient_v(c, w, g);
	*m = v_fma(c->mu, *m, g);
	return v_fnma(c->rate, c->nesterov ? v_fma(c->mu, *m, g) : *m, v_mul(w, c->keep));
}

static inline V step_blend_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	(void)v;
	g = step_gradient_v(c, w, g);
	*m = v_fma(c->mu, *m, g);
	return v_less_both(v_mul(w, c->keep), c->rate, *m, c->rate_g, g);
}
#else
#include "nn/optim/part.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_MOMENTUM("memory of the momentum buffer: buf = mu buf + g", "step along g + mu buf instead of buf"),
	MR_OPTIM_STATE,
	{NULL},
};

const char *const mr_optim_momentum_states[1] = {"momentum"};

void mr_optim_momentum_init(mr_optim *o, const mr_values *values)
{
	o->mu = mr_values_float(values, "mu");
	o->nesterov = mr_values_bool(values, "nesterov");
	mr_optim_decay_init(o, values);
}

void mr_optim_momentum_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	*out = mr_optim_base(o, c, o->blends ? MR_STEP_BLEND : MR_STEP_MOMENTUM);
	out->mu = o->mu;
	out->cg = o->blend_g;
	out->cm = o->blend_m;
	out->nesterov = o->nesterov;
}

extern const mr_optim_ops mr_optim_momentum;
const mr_optim_ops mr_optim_momentum = {
	.name = "momentum",
	.summary = "heavy ball without dampening: buf = mu buf + g, w -= lr buf",
	.options = options,
	.n_states = 1,
	.state_names = mr_optim_momentum_states,
	.along = MR_ALONG_MOMENTUM,
	.blends = true,
	.init = mr_optim_momentum_init,
	.fill = mr_optim_momentum_fill,
};
#endif
