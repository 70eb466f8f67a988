#include "nn/optim.h"

#include <math.h>

#define PI 3.14159265358979323846

/* From 1 at @done = 0 to @end at 1, along half a cosine. */
static double cosine(double end, double done)
{
	return end + (1 - end) * 0.5 * (1 + cos(PI * done));
}

static double line(double end, double done)
{
	return 1 - (1 - end) * done;
}

/* Stays, then falls over the last commits. */
static double hold(const mr_lr *lr, uint64_t t)
{
	uint64_t first = lr->total - lr->cooldown;
	double done;

	if (t <= first)
		return 1;
	done = (double)(t - first) / (double)lr->cooldown;
	switch (lr->curve) {
	case MR_LR_COOL_COSINE: return cosine(lr->min_ratio, done);
	case MR_LR_COOL_SQRT: return line(lr->min_ratio, sqrt(done));
	default: return line(lr->min_ratio, done);
	}
}

static double steps(const mr_lr *lr, uint64_t t)
{
	double n = lr->every ? (double)((t - 1) / lr->every) : 0;

	for (uint32_t i = 0; i < lr->n_milestones; i++)
		n += t > lr->milestone[i];
	return pow(lr->gamma, n);
}

/* Up to the peak along half a cosine, and down along another. */
static double one_cycle(const mr_lr *lr, uint64_t t)
{
	double peak = lr->warmup ? (double)lr->warmup : MR_LR_RISE * (double)lr->total, at = (double)t;

	if (at < peak)
		return cosine(lr->start_ratio, (peak - at) / (peak - 1));
	return t < lr->total ? cosine(lr->min_ratio, (at - peak) / ((double)lr->total - peak)) : lr->min_ratio;
}

static double inverse_sqrt(const mr_lr *lr, uint64_t t)
{
	return sqrt((double)(lr->warmup ? lr->warmup : 1) / (double)t);
}

/* What the kind makes of the rate after warm-up. */
static double ratio(const mr_lr *lr, uint64_t t)
{
	double done;

	switch (lr->kind) {
	case MR_LR_CONSTANT: return 1;
	case MR_LR_STEP: return steps(lr, t);
	case MR_LR_INVERSE_SQRT: return inverse_sqrt(lr, t);
	default: break;
	}
	if (t >= lr->total)
		return lr->min_ratio;
	if (lr->kind == MR_LR_WSD)
		return hold(lr, t);
	/* warmup < t < total */
	done = (double)(t - lr->warmup) / (double)(lr->total - lr->warmup);
	return lr->kind == MR_LR_LINEAR ? line(lr->min_ratio, done) : cosine(lr->min_ratio, done);
}

double mr_lr_at(const mr_lr *lr, uint64_t t)
{
	if (lr->kind == MR_LR_ONE_CYCLE)
		return lr->base * one_cycle(lr, t);
	if (t <= lr->warmup && lr->warmup)
		return lr->base * (double)t / (double)lr->warmup;
	return lr->base * ratio(lr, t);
}
