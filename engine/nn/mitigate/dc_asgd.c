/*
 * dc_asgd.c - to a stale gradient is added what the loss's curvature makes of the way that the weights have gone since.
 *
 *	g = g + lambda g g (w_now - w_then)       element by element
 *
 * Problem: g belongs to w_then and is wanted at w_now. Idea: a first-order Taylor expansion of the gradient along the way between,
 * with the diagonal of the outer product g g^T in place of the Hessian, which costs nothing more than the weights of then.
 *
 * adaptive: lambda is divided, element by element, by the root of a running mean of g g (plus 1e-7), so that it does not depend on
 * the size of the gradients: then it should be larger, 2 in the paper.
 *
 * Source: Zheng et al., "Asynchronous stochastic gradient descent with delay compensation", ICML 2017: algorithm 2, DC-ASGD-c and
 * DC-ASGD-a.
 */
#include "nn/mitigate/part.h"

#include <math.h>

#define EPS 1e-7

static const mr_option options[] = {
	{"lambda", MR_OPT_FLOAT, "0.04", 0, 1000, NULL, NULL, "strength of the correction"},
	{"adaptive", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "divide lambda by the root of the running mean of squared gradients"},
	{"memory", MR_OPT_FLOAT, "0.95", 0, 0.999999, NULL, NULL, "adaptive: of that mean"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	m->strength = mr_values_float(values, "lambda");
	m->adaptive = mr_values_bool(values, "adaptive");
	m->memory = mr_values_float(values, "memory");
	m->keeps_state = m->adaptive;
}

/* The mean of squares follows every gradient, stale or not. */
static double strength_at(const mr_mitigate *m, const mr_mitigate_call *c, int64_t i, double mean_g)
{
	double square;

	if (!m->adaptive)
		return m->strength;
	square = m->memory * mr_mitigate_get(c, c->state, i) + (1 - m->memory) * mean_g * mean_g;
	mr_mitigate_put(c, c->state, i, square);
	return m->strength / sqrt(square + EPS);
}

static void correct(const mr_mitigate *m, const mr_mitigate_call *c, void *g)
{
	for (int64_t i = 0; i < c->n; i++) {
		double sum = mr_mitigate_get(c, g, i), mean_g = sum * c->gscale, strength = strength_at(m, c, i, mean_g);
		double way = mr_mitigate_get(c, c->now, i) - mr_mitigate_get(c, c->then, i);

		if (way != 0)
			mr_mitigate_put(c, g, i, sum + strength * mean_g * sum * way);
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
