/*
 * vec_step.h - the arithmetic of optimizer steps. Coefficients were rounded to f32 once; per element, in this order:
 *
 *	g' = g gscale
 *	sgd       w = w keep - rate g'
 *	momentum  buf = mu buf + g';  w = w keep - rate buf   (Nesterov: rate (mu buf + g'))
 *	blend     buf as momentum;  w = (w keep - rate buf) - rate_g g'
 *	adam      m = b1 m + a1 g';  v = b2 v + (a2 g') g';  w = w keep - rate m / (sqrt(v) root + eps)
 *	nadam     m, v as adam;  w = w keep - (rate_g g' + rate m) / (sqrt(v) root + eps)
 *	lion      w = w keep - rate sign(b1 m + a1 g');  m = b2 m + a2 g'
 *
 * with keep = 1 - decay, a1 = 1 - b1, a2 = 1 - b2, root = 1 / sqrt(c2), for adam rate = lr / c1, for nadam and blend
 * rate = lr cm and rate_g = lr cg. A product followed
 * by a sum is fused.
 *
 * On vectors of weight, gradient and state, so that the epilogue of a matrix product can carry it out on a gradient that never
 * leaves the registers: the same bits as the kernels of vec_optim.h. Each rule stands in the
 * file of its optimizer.
 */

/* The coefficients of a step in every lane. */
typedef struct step_lanes {
	V gscale, rate, keep, mu, b1, a1, b2, a2, root, eps, rate_g;
	bool nesterov;
} step_lanes;

static inline step_lanes step_lanes_of(const mr_vec_step *a)
{
	return (step_lanes){
		.gscale = v_set(a->gscale),
		.rate = v_set(a->rate),
		.keep = v_set(a->keep),
		.mu = v_set(a->mu),
		.b1 = v_set(a->b1),
		.a1 = v_set(a->a1),
		.b2 = v_set(a->b2),
		.a2 = v_set(a->a2),
		.root = v_set(a->root),
		.eps = v_set(a->eps),
		.rate_g = v_set(a->rate_g),
		.nesterov = a->nesterov,
	};
}

/* x / (sqrt(v) root + eps) within 3 ulp. Without the instructions for roots and divisions, which keep the unit that multiplies and
 * adds waiting: 2 % of the products and steps of GPT-2 with 256 rows (610 -> 598 ms). */
static inline V step_over_v(const step_lanes *c, V x, V v)
{
	return v_mul(x, v_inverse(v_fma(v_root(v), c->root, c->eps)));
}

/* Two multiples of vectors off @w, one after the other. */
static inline V v_less_both(V w, V x, V p, V y, V q)
{
	return v_fnma(y, q, v_fnma(x, p, w));
}

/* step_<rule>_v: the new weights for weights @w and the gradient @g; state is replaced. */
#define MR_OPTIM_RULES
#include "nn/optim/optim.def"
#undef MR_OPTIM_RULES

/* Momentum where gscale = keep = 1, without Nesterov: nothing is multiplied by 1. */
static inline V step_plain_v(const step_lanes *c, V w, V g, V *m)
{
	*m = v_fma(c->mu, *m, g);
	return v_fnma(c->rate, *m, w);
}
