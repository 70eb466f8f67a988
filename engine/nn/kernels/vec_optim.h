/*
 * vec_optim.h - optimizer steps. Coefficients were rounded to f32 once; per element, in this order:
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
 * The arithmetic stands in step_*_v, on vectors of weight, gradient and state, so that the epilogue of a matrix product can
 * carry it out on a gradient that never leaves the registers: the same bits as the kernels below it.
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

static inline void sgd_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part)
{
	v_store(a->dst + i, step_sgd_v(c, v_load(a->src + i, part), v_load(a->g + i, part)), part);
}

/* Rules with one buffer beside the weights, and with two. */
#define STEP_AT_M(rule) \
	static inline void rule##_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part) \
	{ \
		V m = v_load(a->m + i, part); \
		V w = step_##rule##_v(c, v_load(a->src + i, part), v_load(a->g + i, part), &m); \
\
		v_store(a->m + i, m, part); \
		v_store(a->dst + i, w, part); \
	}
#define STEP_AT_MV(rule) \
	static inline void rule##_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part) \
	{ \
		V m = v_load(a->m + i, part), v = v_load(a->v + i, part); \
		V w = step_##rule##_v(c, v_load(a->src + i, part), v_load(a->g + i, part), &m, &v); \
\
		v_store(a->m + i, m, part); \
		v_store(a->v + i, v, part); \
		v_store(a->dst + i, w, part); \
	}
/* A thread's range of a tensor; a is a copy, so that stores through dst cannot alias it. */
#define STEP_RANGE(rule) \
	static void step_##rule(const void *args, int64_t lo, int64_t hi, uint32_t worker) \
	{ \
		const mr_vec_step a = *(const mr_vec_step *)args; \
		const step_lanes c = step_lanes_of(&a); \
		int64_t i = lo; \
\
		(void)worker; \
		for (; i + LANES <= hi; i += LANES) \
			rule##_at(&a, &c, i, 0); \
		if (i < hi) \
			rule##_at(&a, &c, i, hi - i); \
	}

STEP_AT_M(momentum)
STEP_AT_M(blend)
STEP_AT_MV(adam)
STEP_AT_MV(nadam)
STEP_RANGE(sgd)
STEP_RANGE(momentum)
STEP_RANGE(blend)
STEP_RANGE(adam)
STEP_RANGE(nadam)
