/*
 * gap_aware.c - a gradient counts the less the further the weights have moved since F read them.
 *
 *	g = g / (1 + |w_now - w_then| / C)        C = root of the running mean of squared steps, per element
 *
 * Problem: an age in commits says little, since late commits move the weights much less than early ones. Idea: measure what the
 * age did, the gap between the weights that made the gradient and those that it will be added to, in steps of the usual size.
 * An element that has stood still keeps its gradient, however old. As long as C is 0 nothing has moved.
 *
 * The mean is corrected for its start from 0, as Adam's are.
 *
 * Source: Barkai, Hakimi and Schuster, "Gap-aware mitigation of gradient staleness", ICLR 2020; per parameter. C and its memory of
 * 0.999 as in the code of the authors' group for pipelines, github.com/saareliad/FTPipe.
 * NOTE 1: for SGD that code takes C of the directions, times the largest learning rate so far; for Adam, of the steps themselves. Here
 * they are the steps themselves for every optimizer, so that C follows a rate that falls.
 * NOTE 2: it also divides weight decay; here decay is no part of the gradient.
 */
#include "nn/mitigate/part.h"

#include <math.h>

static const mr_option options[] = {
	{"memory", MR_OPT_FLOAT, "0.999", 0, 0.999999, NULL, NULL, "of the running mean of an element's squared steps"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	m->memory = mr_values_float(values, "memory");
	m->keeps_state = true;
}

/* @full: what the running mean has of its weights so far. */
static inline void correct_as(mr_dtype t, const mr_mitigate_call *c, double full, void *g, int64_t lo, int64_t hi)
{
	for (int64_t i = lo; i < hi; i++) {
		double gap = fabs(mr_mitigate_get(t, c->now, i) - mr_mitigate_get(t, c->then, i));
		double mean = mr_mitigate_get(t, c->state, i);

		if (gap > 0 && mean > 0)
			mr_mitigate_put(t, g, i, mr_mitigate_get(t, g, i) / (1 + gap / sqrt(mean / full)));
	}
}

static void correct(const mr_mitigate *m, const mr_mitigate_call *c, void *g, int64_t lo, int64_t hi)
{
	double full = 1 - pow(m->memory, (double)(c->t - 1)); /* of the t - 1 steps so far */

	if (c->now == c->then)
		return;
	if (c->dtype == MR_F64)
		correct_as(MR_F64, c, full, g, lo, hi);
	else
		correct_as(MR_F32, c, full, g, lo, hi);
}

static inline void follow_as(mr_dtype t, double memory, const mr_mitigate_call *c, const void *made, int64_t lo, int64_t hi)
{
	for (int64_t i = lo; i < hi; i++) {
		double step = mr_mitigate_get(t, made, i) - mr_mitigate_get(t, c->now, i);

		mr_mitigate_put(t, c->state, i, memory * mr_mitigate_get(t, c->state, i) + (1 - memory) * step * step);
	}
}

static void follow(const mr_mitigate *m, const mr_mitigate_call *c, const void *made, int64_t lo, int64_t hi)
{
	if (c->dtype == MR_F64)
		follow_as(MR_F64, m->memory, c, made, lo, hi);
	else
		follow_as(MR_F32, m->memory, c, made, lo, hi);
}

extern const mr_mitigate_ops mr_mitigate_gap_aware;
const mr_mitigate_ops mr_mitigate_gap_aware = {
	.name = "gap_aware",
	.summary = "a gradient counts the less the further the weights have moved since F, in steps of the usual size",
	.source = "Barkai et al., Gap-Aware Mitigation of Gradient Staleness, ICLR 2020",
	.options = options,
	.state_name = "mean_square_step",
	.init = init,
	.correct = correct,
	.follow = follow,
};
