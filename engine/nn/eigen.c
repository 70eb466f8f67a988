#include "nn/eigen.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "nn/reflection.h"

/* QL steps after which an eigenvalue is left as it is; it takes two or three. */
enum { MOST_STEPS = 60 };

typedef struct tridiagonal {
	int64_t n;
	double *d;   /* [n] the diagonal */
	double *e;   /* [n] e[i] beside d[i] and d[i + 1]; e[n - 1] = 0 */
	double *row; /* [n, n] row i: vector i, of the axes at first */
} tridiagonal;

static bool is_finite(int64_t n, const double *a)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(a[i]))
			return false;
	return true;
}

static void axes(int64_t n, double *a)
{
	memset(a, 0, (size_t)(n * n) * sizeof(*a));
	for (int64_t i = 0; i < n; i++)
		a[i * n + i] = 1;
}

/* a = H a H below and right of the @n behind the reflection, of which @v has the 1 stored; the upper triangle too. */
static void reflect_both(int64_t n, int64_t stride, double *a, const double *v, double tau, double *p)
{
	double half;

	for (int64_t i = 0; i < n; i++)
		p[i] = tau * mr_reflection_dot(n, a + i * stride, v);
	half = tau / 2 * mr_reflection_dot(n, p, v);
	mr_reflection_add(n, -half, v, p);
	for (int64_t i = 0; i < n; i++) {
		mr_reflection_add(n, -v[i], p, a + i * stride);
		mr_reflection_add(n, -p[i], v, a + i * stride);
	}
}

/* @a to a tridiagonal matrix, whose vectors are those of @a; row k of @a keeps reflection k right of the diagonal. */
static void reduce(double *a, tridiagonal *t, double *tau, double *p)
{
	int64_t n = t->n;

	for (int64_t k = 0; k + 1 < n; k++) {
		double *v = a + k * n + k + 1;

		tau[k] = mr_reflection_make(n - k - 1, v);
		t->d[k] = a[k * n + k];
		t->e[k] = v[0];
		v[0] = 1;
		if (tau[k] != 0)
			reflect_both(n - k - 1, n, a + (k + 1) * n + k + 1, v, tau[k], p);
	}
	t->d[n - 1] = a[n * n - 1];
	t->e[n - 1] = 0;
	axes(n, t->row);
	for (int64_t k = n - 2; k >= 0; k--)
		for (int64_t j = k + 1; j < n; j++)
			mr_reflection_apply(n - k - 1, a + k * n + k + 1, tau[k], t->row + j * n + k + 1);
}

/* Turn rows @i and @i + 1 by the angle of which @c and @s are cosine and sine. */
static void turn(const tridiagonal *t, int64_t i, double c, double s)
{
	double *restrict x = t->row + i * t->n, *restrict y = x + t->n;

	for (int64_t j = 0; j < t->n; j++) {
		double above = x[j], below = y[j];

		x[j] = c * above - s * below;
		y[j] = s * above + c * below;
	}
}

/* The first place from @i on behind which the matrix falls apart. */
static int64_t block_end(const tridiagonal *t, int64_t i)
{
	while (i + 1 < t->n) {
		double size = fabs(t->d[i]) + fabs(t->d[i + 1]);

		if (fabs(t->e[i]) + size == size)
			break;
		i++;
	}
	return i;
}

/* One QL step of rows @first to @last, with Wilkinson's shift, chased up from the end. */
static void ql_step(tridiagonal *t, int64_t first, int64_t last)
{
	double *d = t->d, *e = t->e, q = (d[first + 1] - d[first]) / (2 * e[first]);
	double g = d[last] - d[first] + e[first] / (q + copysign(hypot(q, 1), q)), s = 1, c = 1, moved = 0;

	for (int64_t i = last - 1; i >= first; i--) {
		double f = s * e[i], b = c * e[i], r = hypot(f, g), h;

		e[i + 1] = r;
		if (r == 0) {
			d[i + 1] -= moved;
			e[last] = 0;
			return;
		}
		s = f / r;
		c = g / r;
		g = d[i + 1] - moved;
		h = (d[i] - g) * s + 2 * c * b;
		moved = s * h;
		d[i + 1] = g + moved;
		g = c * h - b;
		turn(t, i, c, s);
	}
	d[first] -= moved;
	e[first] = g;
	e[last] = 0;
}

/* Place in which number @i of @d comes, the largest first. */
static int64_t rank_of(int64_t n, const double *d, int64_t i)
{
	int64_t rank = 0;

	for (int64_t j = 0; j < n; j++)
		rank += d[j] > d[i] || (d[j] == d[i] && j < i);
	return rank;
}

void mr_eigen(int64_t n, double *a, double *values, double *room)
{
	tridiagonal t = {.n = n, .row = room, .d = room + n * n, .e = room + n * n + n};
	double *tau = room + n * n + 2 * n;

	if (!is_finite(n * n, a)) {
		axes(n, a);
		memset(values, 0, (size_t)n * sizeof(*values));
		return;
	}
	reduce(a, &t, tau, values);
	for (int64_t i = 0; i < n; i++)
		for (int steps = 0; steps < MOST_STEPS; steps++) {
			int64_t last = block_end(&t, i);

			if (last == i)
				break;
			ql_step(&t, i, last);
		}
	for (int64_t i = 0; i < n; i++) {
		int64_t place = rank_of(n, t.d, i);

		values[place] = t.d[i];
		memcpy(a + place * n, t.row + i * n, (size_t)n * sizeof(*a));
	}
}
