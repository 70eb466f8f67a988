/*
 * Dozat, "Incorporating Nesterov momentum into Adam", ICLR 2016 workshop, with the momentum schedule of PyTorch's
 * NAdam:
 *
 *	mu_t = b1 (1 - 0.96^(t psi) / 2)     P_t = mu_1 ... mu_t
 *	w -= lr ((1 - mu_t) / (1 - P_t) g + mu_{t+1} / (1 - P_t mu_{t+1}) m) / (sqrt(v / (1 - b2^t)) + eps)
 *
 * b1 = 0.99 by default, not PyTorch's 0.9: with that much memory the look-ahead makes up for stale gradients (Ajanthan
 * et al., "Nesterov method for asynchronous pipeline parallel optimization", ICML 2025).
 */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(nadam)
MR_STEP(NADAM, nadam, 2, false, s->lr *s->cm, s->lr *s->cg)
#elif defined(MR_OPTIM_RULES)
static inline V step_nadam_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	g = step_gradient_v(c, w, g);
	*m = v_fma(c->b1, *m, v_mul(c->a1, g));
	*v = v_fma(c->b2, *v, v_mul(v_mul(c->a2, g), g));
	return v_sub(v_mul(w, c->keep), step_over_v(c, v_fma(c->rate_g, g, v_mul(c->rate, *m)), *v));
}
#else
#include "nn/optim/part.h"

#include <math.h>

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_NADAM(MR_OPTIM_DECAY_KINDS("0")),
	MR_OPTIM_STATE,
	{NULL},
};

void mr_optim_nadam_init(mr_optim *o, const mr_values *values)
{
	mr_optim_adam_init(o, values);
	o->psi = mr_values_float(values, "psi");
}

/* mu_{t+1} and the product of mu_1 .. mu_t: from the commit number, so that a resumed run needs no further state. Once
 * the product no longer shows in 1 - P, its exact value does not matter; that is at most a few hundred thousand terms
 * away. */
static double momentum_at(const mr_optim *o, uint64_t t)
{
	return o->b1 * (1 - 0.5 * pow(0.96, (double)t * o->psi));
}

static double product_to(const mr_optim *o, uint64_t t)
{
	double p = 1;

	for (uint64_t i = 1; i <= t && p > 1e-18; i++)
		p *= momentum_at(o, i);
	return p;
}

void mr_optim_nadam_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	double p = product_to(o, c->t), next = momentum_at(o, c->t + 1);

	mr_optim_adam_fill(o, c, out);
	out->kind = MR_STEP_NADAM;
	out->cg = (1 - momentum_at(o, c->t)) / (1 - p);
	out->cm = next / (1 - p * next);
}

extern const mr_optim_ops mr_optim_nadam;
const mr_optim_ops mr_optim_nadam = {
	.name = "nadam",
	.summary = "adam that looks one step of its momentum ahead",
	.options = options,
	.n_states = 2,
	.state_names = mr_optim_adam_states,
	.looks_ahead = true,
	.init = mr_optim_nadam_init,
	.fill = mr_optim_nadam_fill,
};
#endif
