/*
 * reflection.h - Householder's reflection: H = 1 - tau v v^T, whose v has 1 as its first number, which is not stored.
 *
 * Sums go in eight parts, whose order is fixed, so that they are vectors whatever the compiler may reorder.
 */
#ifndef MR_NN_REFLECTION_H
#define MR_NN_REFLECTION_H

#include <math.h>
#include <stdint.h>

static inline double mr_reflection_dot(int64_t n, const double *x, const double *y)
{
	double part[8] = {0}, sum = 0;
	int64_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (int j = 0; j < 8; j++)
			part[j] += x[i + j] * y[i + j];
	for (; i < n; i++)
		sum += x[i] * y[i];
	for (int j = 0; j < 8; j++)
		sum += part[j];
	return sum;
}

/** y += a x */
static inline void mr_reflection_add(int64_t n, double a, const double *restrict x, double *restrict y)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

/** x = H x; @v: its first number counts as 1. */
static inline void mr_reflection_apply(int64_t n, const double *v, double tau, double *x)
{
	double by;

	if (tau == 0)
		return;
	by = tau * (x[0] + mr_reflection_dot(n - 1, v + 1, x + 1));
	x[0] -= by;
	mr_reflection_add(n - 1, -by, v + 1, x + 1);
}

/** The reflection that takes @x to a multiple of the first axis, and returns its tau: x becomes v behind that multiple,
 * -sign(x[0]) |x|. A tau of 0, and x as it is, where the numbers behind the first are 0. */
static inline double mr_reflection_make(int64_t n, double *x)
{
	double below = sqrt(mr_reflection_dot(n - 1, x + 1, x + 1)), first = x[0], beta;

	if (below == 0)
		return 0;
	beta = -copysign(hypot(first, below), first);
	for (int64_t i = 1; i < n; i++)
		x[i] /= first - beta;
	x[0] = beta;
	return (beta - first) / beta;
}

#endif
