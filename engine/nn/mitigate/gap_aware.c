/*
 * gap_aware.c - a gradient counts the less the further the weights have moved since F read them.
 *
 *	g = g / (1 + |w_now - w_then| / C)        C = running mean of |step|, per element
 *
 * Problem: an age in commits says little, since late commits move the weights much less than early ones. Idea: measure what the
 * age did, the gap between the weights that made the gradient and those that it will be added to, in steps of the usual size.
 * An element that has stood still keeps its gradient, however old. As long as C is 0 nothing has moved.
 *
 * C is corrected for its start from 0, as Adam's means are.
 *
 * Source: Barkai, Hakimi and Schuster, "Gap-aware mitigation of gradient staleness", ICLR 2020; per parameter.
 */
#include "nn/mitigate/part.h"

#include <math.h>

static const mr_option options[] = {
	{"memory", MR_OPT_FLOAT, "0.99", 0, 0.999999, NULL, NULL, "of the running mean of an element's steps"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	m->memory = mr_values_float(values, "memory");
	m->keeps_state = true;
}

static void correct(const mr_mitigate *m, const mr_mitigate_call *c, void *g)
{
	double full = 1 - pow(m->memory, (double)(c->t - 1)); /* of the t - 1 steps so far */

	if (c->now == c->then)
		return;
	for (int64_t i = 0; i < c->n; i++) {
		double gap = fabs(mr_mitigate_get(c, c->now, i) - mr_mitigate_get(c, c->then, i));
		double mean = mr_mitigate_get(c, c->state, i);

		if (gap > 0 && mean > 0)
			mr_mitigate_put(c, g, i, mr_mitigate_get(c, g, i) / (1 + gap * full / mean));
	}
}

static void follow(const mr_mitigate *m, const mr_mitigate_call *c, const void *made)
{
	for (int64_t i = 0; i < c->n; i++) {
		double step = fabs(mr_mitigate_get(c, made, i) - mr_mitigate_get(c, c->now, i));

		mr_mitigate_put(c, c->state, i, m->memory * mr_mitigate_get(c, c->state, i) + (1 - m->memory) * step);
	}
}

extern const mr_mitigate_ops mr_mitigate_gap_aware;
const mr_mitigate_ops mr_mitigate_gap_aware = {
	.name = "gap_aware",
	.summary = "a gradient counts the less the further the weights have moved since F, in steps of the usual size",
	.source = "Barkai et al., Gap-Aware Mitigation of Gradient Staleness, ICLR 2020",
	.options = options,
	.state_name = "mean_step",
	.init = init,
	.correct = correct,
	.follow = follow,
};
