/*
 * dc_asgd.c - to a stale gradient is added what the loss's curvature makes of the way that the weights have gone since.
 *
 *	g = g + lambda g g (w_now - w_then)       element by element
 *
 * Problem: g belongs to w_then and is wanted at w_now. Idea: a first-order Taylor expansion of the gradient along the
 * way between, with the diagonal of the outer product g g^T in place of the Hessian, which costs nothing more than the
 * weights of then.
 *
 * adaptive: lambda is divided, element by element, by the root of a running mean of g g (plus 1e-7), so that it does
 * not depend on the size of the gradients: then it should be larger.
 *
 * Source: Zheng et al., "Asynchronous stochastic gradient descent with delay compensation", ICML 2017: algorithm 2,
 * DC-ASGD-c and DC-ASGD-a. Published implementations have lambda 0.04 for the former (Apache MXNet's optimizer dcasgd)
 * and 2 with a memory of 0.95 for the latter; these are what is taken where no lambda is given.
 */
#include "mitigate/mitigate.h"

#include <math.h>

#include "nn/element.h"

#define EPS 1e-7
#define LAMBDA 0.04
#define LAMBDA_ADAPTIVE 2

static const mr_option options[] = {
	{"lambda", MR_OPT_FLOAT, "-1.0", -1, 1000, NULL, NULL,
	 "strength of the correction; less than 0: the published one, 0.04, or 2 where adaptive"},
	{"adaptive", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "divide lambda by the root of the running mean of squared gradients"},
	{"memory", MR_OPT_FLOAT, "0.95", 0, 0.999999, NULL, NULL, "adaptive: of that mean"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	double lambda = mr_values_float(values, "lambda");

	m->adaptive = mr_values_bool(values, "adaptive");
	m->strength = lambda >= 0 ? lambda : m->adaptive ? LAMBDA_ADAPTIVE : LAMBDA;
	m->memory = mr_values_float(values, "memory");
	m->keeps_state = m->adaptive;
}

/* The mean of squares follows every gradient, stale or not. */
static inline double strength_at(mr_dtype t, const mr_mitigate *m, const mr_mitigate_call *c, int64_t i, double mean_g)
{
	double square;

	if (!m->adaptive)
		return m->strength;
	square = m->memory * mr_element(t, c->state, i) + (1 - m->memory) * mean_g * mean_g;
	mr_element_put(t, c->state, i, square);
	return m->strength / sqrt(square + EPS);
}

/* Of @n gradients from @first on, whose weights have gone the way @way. Arithmetic is in f64 in all types. Called with
 * a type that is a constant: the compiler makes a loop of each. */
static inline void correct_as(mr_dtype t, const mr_mitigate *m, const mr_mitigate_call *c, const double *way, void *g,
			      int64_t first, int64_t n)
{
	for (int64_t i = first; i < first + n; i++) {
		double sum = mr_element(t, g, i), mean_g = sum * c->gscale,
		       strength = strength_at(t, m, c, i, mean_g);

		if (way[i - first] != 0)
			mr_element_put(t, g, i, sum + strength * mean_g * sum * way[i - first]);
	}
}

/* Weights that are widened at a time. */
enum { PIECE = 256 };

static void correct(const mr_mitigate *m, const mr_mitigate_call *c, void *g, int64_t lo, int64_t hi)
{
	double way[PIECE], then[PIECE];

	for (int64_t i = lo; i < hi; i += PIECE) {
		int64_t n = hi - i < PIECE ? hi - i : PIECE;

		mr_elements(c->weights, c->now, i, n, way);
		mr_elements(c->weights, c->then, i, n, then);
		for (int64_t k = 0; k < n; k++)
			way[k] -= then[k];
		switch (c->dtype) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
		case MR_##id: correct_as(MR_##id, m, c, way, g, i, n); break;
#include "base/types.def"
		default: break; /* no gradients are of a type of files alone */
		}
	}
}

extern const mr_mitigate_ops mr_mitigate_dc_asgd;
const mr_mitigate_ops mr_mitigate_dc_asgd = {
	.name = "dc_asgd",
	.summary = "to a stale gradient is added its square times the way that the weights have gone since F",
	.source = "Zheng et al., Asynchronous SGD with Delay Compensation, ICML 2017",
	.options = options,
	.state_name = "mean_square",
	.init = init,
	.correct = correct,
};
