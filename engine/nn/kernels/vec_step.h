/*
 * vec_step.h - the arithmetic of optimizer steps. Coefficients were rounded to f32 once; per element, in this order:
 *
 *	g' = g gscale
 *	sgd       w = w keep - rate g'
 *	momentum  buf = mu buf + g';  w = w keep - rate buf   (Nesterov: rate (mu buf + g'))
 *	blend     buf as momentum;  w = (w keep - rate buf) - rate_g g'
 *	adam      m = b1 m + a1 g';  v = b2 v + (a2 g') g';  w = w keep - rate m / (sqrt(v) root + eps)
 *	nadam     m, v as adam;  w = w keep - (rate_g g' + rate m) / (sqrt(v) root + eps)
 *
 * with keep = 1 - decay, a1 = 1 - b1, a2 = 1 - b2, root = 1 / sqrt(c2), for adam rate = lr / c1, for nadam and blend
 * rate = lr cm and rate_g = lr cg. A product followed
 * by a sum is fused.
 *
 * On vectors of weight, gradient and state, so that the epilogue of a matrix product can carry it out on a gradient that never
 * leaves the registers: the same bits as the kernels of vec_optim.h.
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

/* The new weights for weights @w and the gradient @g; state is replaced. */
static inline V step_sgd_v(const step_lanes *c, V w, V g)
{
	return v_fnma(c->rate, v_mul(g, c->gscale), v_mul(w, c->keep));
}

static inline V step_momentum_v(const step_lanes *c, V w, V g, V *m)
{
	g = v_mul(g, c->gscale);
	*m = v_fma(c->mu, *m, g);
	return v_fnma(c->rate, c->nesterov ? v_fma(c->mu, *m, g) : *m, v_mul(w, c->keep));
}

/* The same where gscale = keep = 1, without Nesterov: nothing is multiplied by 1. */
static inline V step_plain_v(const step_lanes *c, V w, V g, V *m)
{
	*m = v_fma(c->mu, *m, g);
	return v_fnma(c->rate, *m, w);
}

static inline V step_blend_v(const step_lanes *c, V w, V g, V *m)
{
	g = v_mul(g, c->gscale);
	*m = v_fma(c->mu, *m, g);
	return v_fnma(c->rate_g, g, v_fnma(c->rate, *m, v_mul(w, c->keep)));
}

static inline V step_adam_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	g = v_mul(g, c->gscale);
	*m = v_fma(c->b1, *m, v_mul(c->a1, g));
	*v = v_fma(c->b2, *v, v_mul(v_mul(c->a2, g), g));
	return v_sub(v_mul(w, c->keep), step_over_v(c, v_mul(c->rate, *m), *v));
}

static inline V step_nadam_v(const step_lanes *c, V w, V g, V *m, V *v)
{
	g = v_mul(g, c->gscale);
	*m = v_fma(c->b1, *m, v_mul(c->a1, g));
	*v = v_fma(c->b2, *v, v_mul(v_mul(c->a2, g), g));
	return v_sub(v_mul(w, c->keep), step_over_v(c, v_fma(c->rate_g, g, v_mul(c->rate, *m)), *v));
}
