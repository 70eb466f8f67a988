/*
 * reference_step.h - optimizer steps, element by element: the rules of the optimizers' files on single numbers, where a product
 * and a sum round each by itself. Included by reference.h.
 */
typedef REAL V;

typedef struct step_lanes {
	V gscale, rate, keep, mu, b1, a1, b2, a2, root, eps, rate_g;
	bool nesterov;
} step_lanes;

static inline V v_add(V a, V b) { return a + b; }
static inline V v_sub(V a, V b) { return a - b; }
static inline V v_mul(V a, V b) { return a * b; }
static inline V v_fma(V a, V b, V c) { return a * b + c; }
static inline V v_fnma(V a, V b, V c) { return c - a * b; }
static inline V v_sign(V x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static inline V v_less_both(V w, V x, V p, V y, V q) { return w - (y * q + x * p); }

static inline V step_over_v(const step_lanes *c, V x, V v)
{
	return x / (FN(sqrt)(v) * c->root + c->eps);
}

#define MR_OPTIM_RULES
#include "nn/optim/optim.def"
#undef MR_OPTIM_RULES

static step_lanes step_lanes_of(const mr_step *s)
{
	double rate, rate_g;

	mr_step_rates(s, &rate, &rate_g);
	return (step_lanes){
		.gscale = (REAL)s->gscale,
		.rate = (REAL)rate,
		.rate_g = (REAL)rate_g,
		.keep = (REAL)(1 - s->decay),
		.mu = (REAL)s->mu,
		.nesterov = s->nesterov,
		.b1 = (REAL)s->b1,
		.a1 = (REAL)(1 - s->b1),
		.b2 = (REAL)s->b2,
		.a2 = (REAL)(1 - s->b2),
		.root = s->c2 > 0 ? (REAL)(1 / sqrt(s->c2)) : 1,
		.eps = (REAL)s->eps,
	};
}

#define STEP(id, states) \
	static void step_##id(int64_t n, const mr_step *s, const REAL *g) \
	{ \
		const step_lanes c = step_lanes_of(s); \
		const REAL *src = s->src; \
		REAL *dst = s->dst, *ms = s->m, *vs = s->v; \
\
		for (int64_t i = 0; i < n; i++) { \
			REAL m = states > 0 ? ms[i] : 0, v = states > 1 ? vs[i] : 0; \
			REAL w = step_##id##_v(&c, src[i], g[i], &m, &v); \
\
			if (states > 0) \
				ms[i] = m; \
			if (states > 1) \
				vs[i] = v; \
			dst[i] = w; \
		} \
	}

#define MR_OPTIM_LIST
#define MR_OPTIM(id)
#define MR_STEP(kind, id, states, passes, rate, rate_g) STEP(id, states)
#include "nn/optim/optim.def"
#undef MR_STEP

static void step(mr_kctx *kc, int64_t n, const mr_step *s, const void *g)
{
	(void)kc;
	switch (s->kind) {
#define MR_STEP(kind, id, states, passes, rate, rate_g) \
	case MR_STEP_##kind: \
		step_##id(n, s, g); \
		return;
#include "nn/optim/optim.def"
#undef MR_STEP
	case MR_N_STEPS: return;
	}
}

#undef MR_OPTIM
#undef MR_OPTIM_LIST
