/*
 * gap_aware.c - a gradient counts the less the further the weights have moved since F read them.
 *
 *	g = g / (1 + |w_now - w_then| / C)        C = root of the running mean of squared steps, per element
 *
 * Problem: an age in commits says little, since late commits move the weights much less than early ones. Idea: measure
 * what the age did, the gap between the weights that made the gradient and those that it will be added to, in steps of
 * the usual size. An element that has stood still keeps its gradient, however old. As long as C is 0 nothing has moved.
 *
 * The mean is corrected for its start from 0, as Adam's are.
 *
 * Source: Barkai, Hakimi and Schuster, "Gap-aware mitigation of gradient staleness", ICLR 2020; per parameter. C and
 * its memory of 0.999 as in the code of the authors' group for pipelines, github.com/saareliad/FTPipe.
 * NOTE 1: for SGD that code takes C of the directions, times the largest learning rate so far; for Adam, of the steps
 * themselves. Here they are the steps themselves for every optimizer, so that C follows a rate that falls.
 * NOTE 2: f32 is worked on in f32 throughout.
 * NOTE 3: it also divides weight decay; here decay, coupled or not, comes behind the correction.
 */
#include "mitigate/mitigate.h"

#include <math.h>

#include "nn/element.h"

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
static void correct_f64(const mr_mitigate_call *c, double full, double *g, int64_t lo, int64_t hi)
{
	const double *now = c->now, *then = c->then, *state = c->state;

	for (int64_t i = lo; i < hi; i++) {
		double gap = fabs(now[i] - then[i]);

		if (gap > 0 && state[i] > 0)
			g[i] = g[i] / (1 + gap / sqrt(state[i] / full));
	}
}

/*
 * The same in f32, as C / (C + gap), which is one division and 1 where there is no gap. No branch, no call: compilers
 * make vectors of it, and each operation is rounded by itself, so however many elements they take at once the bits are
 * the same.
 */
static void correct_f32(const mr_mitigate_call *c, double full, float *restrict g, int64_t lo, int64_t hi)
{
	const float *restrict now = c->now, *restrict then = c->then, *restrict state = c->state;
	float whole = (float)(1 / full);

	for (int64_t i = lo; i < hi; i++) {
		float usual = sqrtf(state[i] * whole), softer = g[i] * (usual / (usual + fabsf(now[i] - then[i])));

		g[i] = usual > 0 ? softer : g[i];
	}
}

/* Weights that are widened at a time. */
enum { PIECE = 256 };

static const float *widened(mr_dtype t, const void *from, int64_t first, int64_t n, float *to)
{
	mr_elements_f32(t, from, first, n, to);
	return to;
}

static void correct_narrow(const mr_mitigate_call *c, double full, float *g, int64_t lo, int64_t hi)
{
	for (int64_t i = lo; i < hi; i += PIECE) {
		int64_t n = hi - i < PIECE ? hi - i : PIECE;
		float now[PIECE], then[PIECE];
		mr_mitigate_call piece = *c;

		piece.now = widened(c->weights, c->now, i, n, now);
		piece.then = widened(c->weights, c->then, i, n, then);
		piece.state = (float *)c->state + i;
		correct_f32(&piece, full, g + i, 0, n);
	}
}

static void correct(const mr_mitigate *m, const mr_mitigate_call *c, void *g, int64_t lo, int64_t hi)
{
	double full = 1 - pow(m->memory, (double)(c->t - 1)); /* of the t - 1 steps so far */

	if (c->now == c->then)
		return;
	if (c->dtype == MR_F64)
		correct_f64(c, full, g, lo, hi);
	else if (mr_dtype_is_narrow(c->weights))
		correct_narrow(c, full, g, lo, hi);
	else
		correct_f32(c, full, g, lo, hi);
}

static void follow_f64(double memory, const mr_mitigate_call *c, const double *made, int64_t lo, int64_t hi)
{
	const double *now = c->now;
	double *state = c->state;

	for (int64_t i = lo; i < hi; i++) {
		double step = made[i] - now[i];

		state[i] = memory * state[i] + (1 - memory) * step * step;
	}
}

static void follow_f32(double memory, const mr_mitigate_call *c, const float *restrict made, int64_t lo, int64_t hi)
{
	const float *restrict now = c->now;
	float *restrict state = c->state;
	float keep = (float)memory, take = (float)(1 - memory);

	for (int64_t i = lo; i < hi; i++) {
		float step = made[i] - now[i];

		state[i] = keep * state[i] + take * step * step;
	}
}

static void follow_narrow(double memory, const mr_mitigate_call *c, const void *made, int64_t lo, int64_t hi)
{
	for (int64_t i = lo; i < hi; i += PIECE) {
		int64_t n = hi - i < PIECE ? hi - i : PIECE;
		float now[PIECE], then[PIECE];
		mr_mitigate_call piece = *c;

		piece.now = widened(c->weights, c->now, i, n, now);
		piece.state = (float *)c->state + i;
		follow_f32(memory, &piece, widened(c->weights, made, i, n, then), 0, n);
	}
}

static void follow(const mr_mitigate *m, const mr_mitigate_call *c, const void *made, int64_t lo, int64_t hi)
{
	if (c->dtype == MR_F64)
		follow_f64(m->memory, c, made, lo, hi);
	else if (mr_dtype_is_narrow(c->weights))
		follow_narrow(m->memory, c, made, lo, hi);
	else
		follow_f32(m->memory, c, made, lo, hi);
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
