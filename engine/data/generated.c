/*
 * generated.c - made-up data for the objectives of the theory.
 *
 *	random       X normal, w* normal, y = X w*: least squares with minimum 0
 *	tridiagonal  X^T X / n = tridiag(-1, 2, -1) + shift I exactly, the quadratic of Nesterov's lower bound: with the
 *	             Cholesky factor A = C C^T and orthonormal columns Q (of a normal matrix), X = sqrt(n) Q C^T.
 *	             y = X w*
 *	simple       X^T X / n has the eigenvalues 1, 2, .., r = min(n, d) in random directions. y = X w*
 *	classes      X normal, w* normal, y = 1 with probability sigma(x w*), else 0: for logistic regression
 *
 * All of it is a pure function of the source's own seed, not of train.seed, so that several runs may share one problem.
 * A wanted condition number K gives the shift (max - K min) / (K - 1) from the eigenvalues 2 - 2 cos(k pi / (d + 1)).
 *
 * Source: Y. Nesterov, Introductory lectures on convex optimization, 2004, section 2.1.2; the families are those of the
 * published experiments on Randomized PipeDream (github.com/vectozavr/randomized-pipedream), with random numbers of our
 * own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "data/rows.h"

#define PI 3.14159265358979323846

/* What a random number is for: the generator's layer. */
enum { DRAW_X, DRAW_W, DRAW_Y, DRAW_V };

static double normal(uint64_t seed, uint32_t what, uint64_t i, uint64_t j)
{
	return mr_rng_normal(seed, MR_RNG_SYNTHETIC, i, what, j);
}

/* --- orthonormal columns ------------------------------------------------------------------------------------------ */

static double dot(uint64_t n, const double *a, const double *b)
{
	double s = 0;

	for (uint64_t i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

/* @q [k][n], normal numbers, become k orthonormal vectors: Gram-Schmidt, twice, which is enough (Giraud et al., 2005).
 */
static void orthonormalise(uint64_t k, uint64_t n, double *q)
{
	for (uint64_t j = 0; j < k; j++) {
		double *v = q + j * n, norm;

		for (int pass = 0; pass < 2; pass++)
			for (uint64_t i = 0; i < j; i++) {
				double along = dot(n, q + i * n, v);

				for (uint64_t l = 0; l < n; l++)
					v[l] -= along * q[i * n + l];
			}
		norm = sqrt(dot(n, v, v));
		for (uint64_t l = 0; l < n; l++)
			v[l] /= norm;
	}
}

/* @k orthonormal vectors of length @n >= @k; NULL without memory. */
static double *orthonormal(uint64_t seed, uint32_t what, uint64_t k, uint64_t n)
{
	double *q = calloc(k, n * sizeof(*q));

	for (uint64_t j = 0; q && j < k; j++)
		for (uint64_t i = 0; i < n; i++)
			q[j * n + i] = normal(seed, what, i, j);
	if (q)
		orthonormalise(k, n, q);
	return q;
}

/* --- the families ------------------------------------------------------------------------------------------------- */

static void fill_normal(mr_rows *r, uint64_t seed)
{
	for (uint64_t i = 0; i < r->n; i++)
		for (uint64_t j = 0; j < r->d; j += 4) {
			double x[4];

			mr_rng_normal4(seed, MR_RNG_SYNTHETIC, i, DRAW_X, j / 4, x);
			for (uint64_t l = 0; l < 4 && j + l < r->d; l++)
				mr_rows_put(r, i, j + l, x[l]);
		}
}

/* Added to the diagonal of the tridiagonal matrix. */
static mr_status take_shift(const mr_values *values, uint64_t n, uint64_t d, double *shift)
{
	double k = mr_values_float(values, "condition"), low = 2 - 2 * cos(PI / (double)(d + 1)),
	       high = 2 - 2 * cos(PI * (double)d / (double)(d + 1));

	*shift = k > 0 ? (high - k * low) / (k - 1) : mr_values_float(values, "shift");
	if (n < d)
		return mr_fail(
			MR_EDATA,
			"data \"generated\": tridiagonal needs at least as many rows as features, got %llu and %llu",
			(unsigned long long)n, (unsigned long long)d);
	if (*shift < 0)
		return mr_fail(MR_EDATA,
			       "data \"generated\": a condition number of %g is above that of the unshifted matrix of "
			       "%llu features",
			       k, (unsigned long long)d);
	return MR_OK;
}

static mr_status fill_tridiagonal(mr_rows *r, double shift, uint64_t seed)
{
	double before = 0, root = sqrt((double)r->n);
	double *q = orthonormal(seed, DRAW_X, r->d, r->n);

	if (!q)
		return mr_data_no_memory(r->n * r->d * sizeof(double));
	for (uint64_t j = 0; j < r->d; j++) {
		double below = j ? -1 / before : 0, diagonal = sqrt(2 + shift - below * below); /* row j of C */

		for (uint64_t i = 0; i < r->n; i++)
			mr_rows_put(r, i, j,
				    root * (diagonal * q[j * r->n + i] + (j ? below * q[(j - 1) * r->n + i] : 0)));
		before = diagonal;
	}
	free(q);
	return MR_OK;
}

static mr_status fill_simple(mr_rows *r, uint64_t seed)
{
	uint64_t k = r->n < r->d ? r->n : r->d;
	double *u = orthonormal(seed, DRAW_X, k, r->n), *v = orthonormal(seed, DRAW_V, k, r->d);

	for (uint64_t i = 0; u && v && i < r->n; i++)
		for (uint64_t j = 0; j < r->d; j++) {
			double x = 0;

			for (uint64_t l = 0; l < k; l++)
				x += u[l * r->n + i] * sqrt((double)(l + 1)) * v[l * r->d + j];
			mr_rows_put(r, i, j, sqrt((double)r->n) * x);
		}
	if (!u || !v) {
		free(u);
		free(v);
		return mr_data_no_memory((r->n + r->d) * k * sizeof(double));
	}
	free(u);
	free(v);
	return MR_OK;
}

/* y = X w*, or labels drawn by it; from the rows as they are stored. */
static void fill_targets(mr_rows *r, uint64_t seed, bool classes)
{
	for (uint64_t i = 0; i < r->n; i++) {
		double m = 0;

		for (uint64_t j = 0; j < r->d; j++) {
			m += mr_element(r->dtype, r->x, (int64_t)(i * r->d + j)) * normal(seed, DRAW_W, 0, j);
		}
		if (classes)
			m = mr_rng_uniform(seed, MR_RNG_SYNTHETIC, i, DRAW_Y, 0) < 1 / (1 + exp(-m));
		mr_rows_put_target(r, i, m);
	}
}

typedef enum kind { RANDOM, TRIDIAGONAL, SIMPLE, CLASSES } kind;

typedef struct generated {
	mr_rows rows;
	kind kind;
	uint64_t seed;
	double shift;
} generated;

static mr_status load_generated(mr_dataset *d)
{
	generated *g = (generated *)d;
	mr_rows *r = &g->rows;

	MR_TRY(mr_rows_take(r));
	if (g->kind == TRIDIAGONAL)
		MR_TRY(fill_tridiagonal(r, g->shift, g->seed));
	else if (g->kind == SIMPLE)
		MR_TRY(fill_simple(r, g->seed));
	else
		fill_normal(r, g->seed);
	fill_targets(r, g->seed, g->kind == CLASSES);
	mr_rows_seal(r);
	return MR_OK;
}

static kind kind_of(const mr_values *values)
{
	const char *name = mr_values_string(values, "kind");

	return !strcmp(name, "tridiagonal") ? TRIDIAGONAL
	       : !strcmp(name, "simple")    ? SIMPLE
	       : !strcmp(name, "classes")   ? CLASSES
					    : RANDOM;
}

static mr_status prepare(generated *g, const mr_values *values, const mr_data_want *want)
{
	uint64_t n = (uint64_t)mr_values_int(values, "rows"), d = (uint64_t)mr_values_int(values, "features"), n_train;
	uint64_t least = n < d ? n : d;
	mr_dataset *b = &g->rows.base;
	char what[64];

	g->kind = kind_of(values);
	g->seed = (uint64_t)mr_values_int(values, "seed");
	MR_TRY(mr_data_split("data \"generated\"", values, n, &n_train));
	snprintf(what, sizeof(what), "generated (%s)", mr_values_string(values, "kind"));
	MR_TRY(mr_rows_init(&g->rows, "generated", what, n, n_train, d, 0, want));
	if (g->kind == TRIDIAGONAL)
		MR_TRY(take_shift(values, n, d, &g->shift));
	if (g->kind == CLASSES) {
		b->target_low = 0;
		b->target_high = 1;
	}
	b->bytes.passing = sizeof(double) * (g->kind == TRIDIAGONAL ? n * d : g->kind == SIMPLE ? (n + d) * least : 0);
	return MR_OK;
}

static mr_status open_generated(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	double condition = mr_values_float(values, "condition");

	if (condition != 0 && condition <= 1)
		return mr_fail(MR_ECONFIG,
			       "data \"generated\": condition: expected 0 (none wanted) or a number above 1, got %g",
			       condition);
	return prepare((generated *)d, values, want);
}

static const mr_option options[] = {
	{"kind", MR_OPT_ENUM, "random", 0, 0, "random|tridiagonal|simple|classes", NULL,
	 "least squares: normal numbers, Nesterov's tridiagonal matrix, or eigenvalues 1, 2, 3, ..; or two classes"},
	{"rows", MR_OPT_INT, "2000", 1, 1 << 26, NULL, NULL, "samples"},
	{"features", MR_OPT_INT, "512", 1, 1 << 20, NULL, NULL, "numbers in a sample"},
	{"shift", MR_OPT_FLOAT, "0.01", 0, 1e6, NULL, NULL, "tridiagonal: added to the diagonal"},
	{"condition", MR_OPT_FLOAT, "0", 0, 1e12, NULL, NULL,
	 "tridiagonal: condition number wanted, which decides the shift; 0: shift decides"},
	{"seed", MR_OPT_INT, "0", 0, 1e15, NULL, NULL, "of these data; train.seed does not change them"},
	MR_DATA_NO_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_generated;
const mr_dataset_ops mr_data_generated = {
	.name = "generated",
	.summary = "made-up data for quadratic and logistic objectives, in order",
	.options = options,
	.bytes = sizeof(generated),
	.open = open_generated,
	.load = load_generated,
	.close = mr_rows_close,
	.in_order = true,
	.train = mr_data_train,
	.sample = mr_rows_sample,
	.valid = mr_rows_valid,
	.files = "numbers",
};
