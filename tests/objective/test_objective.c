/*
 * test_objective.c - values, gradients and the constants of the theory against what loops over the rows give: slopes by
 * differences, L by the power method, f* by elimination or by many small steps.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "objective/objective.h"

enum { N = 12, D = 5, N_BLOCKS = 2 };

static double x[N][D], y[N];
static int64_t block[N_BLOCKS] = {2, 3};

static void train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	(void)d;
	memcpy(input, x[g % N], sizeof(x[0]));
	memcpy(target, &y[g % N], sizeof(y[0]));
}

static const mr_dataset_ops ops = {.name = "rows", .train = train};
static const mr_dataset rows = {.ops = &ops, .input = {.rows = 1, .cols = D}, .target = {.rows = 1, .cols = 1},
				.n_train = N};

static mr_objective *objective_of(mr_objective_kind kind, double l2)
{
	mr_objective_spec spec = {.kind = kind, .l2 = l2, .n_blocks = N_BLOCKS, .block = block};
	mr_objective *o;

	for (int i = 0; i < N; i++) {
		for (int j = 0; j < D; j++)
			x[i][j] = mr_rng_normal(3, MR_RNG_TEST, 0, (uint32_t)i, (uint64_t)j);
		y[i] = kind == MR_OBJECTIVE_LOGISTIC ? i % 3 == 0 : mr_rng_normal(3, MR_RNG_TEST, 1, 0, (uint64_t)i);
	}
	MR_CHECK_OK(mr_objective_create(&spec, &rows, MR_F64, &o));
	CU_ASSERT_EQUAL(mr_objective_coordinates(o), D);
	return o;
}

static double margin(int i, const double *w)
{
	double m = 0;

	for (int j = 0; j < D; j++)
		m += x[i][j] * w[j];
	return m;
}

static double value(mr_objective_kind kind, double l2, const double *w)
{
	double sum = 0, square = 0;

	for (int i = 0; i < N; i++) {
		double m = margin(i, w);

		sum += kind == MR_OBJECTIVE_QUADRATIC ? (m - y[i]) * (m - y[i]) / 2 : log(1 + exp(m)) - m * y[i];
	}
	for (int j = 0; j < D; j++)
		square += w[j] * w[j];
	return sum / N + l2 * square / 2;
}

/* The gradient on the @n rows from @first on. */
static void gradient(mr_objective_kind kind, double l2, const double *w, int first, int n, double *g)
{
	for (int j = 0; j < D; j++) {
		g[j] = 0;
		for (int i = first; i < first + n; i++) {
			double m = margin(i, w), at = kind == MR_OBJECTIVE_QUADRATIC ? m : 1 / (1 + exp(-m));

			g[j] += (at - y[i]) * x[i][j] / n;
		}
		g[j] += l2 * w[j];
	}
}

static void set_all(mr_objective *o, const double *w)
{
	mr_objective_set(o, 0, w, MR_F64);
	mr_objective_set(o, 1, w + block[0], MR_F64);
}

static const double some[D] = {0.7, -1.2, 0.3, 2.0, -0.4};

static void check_value(mr_objective_kind kind, double l2)
{
	mr_objective *o = objective_of(kind, l2);
	double zero[D] = {0}, g[D], want[D], square = 0, norm;

	CU_ASSERT_DOUBLE_EQUAL(mr_objective_value(o), value(kind, l2, zero), 1e-12);
	set_all(o, some);
	CU_ASSERT_EQUAL(memcmp(mr_objective_point(o), some, sizeof(some)), 0);
	CU_ASSERT_DOUBLE_EQUAL(mr_objective_value(o), value(kind, l2, some), 1e-12);
	norm = mr_objective_gradient(o, g);
	CU_ASSERT_EQUAL(norm, mr_objective_gradient(o, NULL));
	gradient(kind, l2, some, 0, N, want);
	for (int j = 0; j < D; j++) {
		double up[D], down[D];

		CU_ASSERT_DOUBLE_EQUAL(g[j], want[j], 1e-12);
		memcpy(up, some, sizeof(some));
		memcpy(down, some, sizeof(some));
		up[j] += 1e-5;
		down[j] -= 1e-5;
		CU_ASSERT_DOUBLE_EQUAL(g[j], (value(kind, l2, up) - value(kind, l2, down)) / 2e-5, 1e-8);
		square += g[j] * g[j];
	}
	CU_ASSERT_DOUBLE_EQUAL(norm, square, 1e-12);
	mr_objective_destroy(o);
}

static void values_and_gradients(void)
{
	check_value(MR_OBJECTIVE_QUADRATIC, 0);
	check_value(MR_OBJECTIVE_LOGISTIC, 0);
	check_value(MR_OBJECTIVE_LOGISTIC, 0.1);
}

/* A block that is set anew counts alone, in the type that it comes in. */
static void one_block(void)
{
	static const float other[2] = {1.5f, -0.25f};
	mr_objective *o = objective_of(MR_OBJECTIVE_QUADRATIC, 0);
	double w[D];

	set_all(o, some);
	mr_objective_set(o, 0, other, MR_F32);
	memcpy(w, some, sizeof(w));
	w[0] = 1.5;
	w[1] = -0.25;
	CU_ASSERT_DOUBLE_EQUAL(mr_objective_value(o), value(MR_OBJECTIVE_QUADRATIC, 0, w), 1e-12);
	mr_objective_destroy(o);
}

/* Of whole minibatches: 12 rows have two of 5. */
static void largest_of_blocks_and_minibatches(void)
{
	static const int sizes[] = {1, 4, 5, 12};
	mr_objective *o = objective_of(MR_OBJECTIVE_LOGISTIC, 0.1);

	set_all(o, some);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		double most = 0, g[D];

		for (int first = 0; first + sizes[s] <= N; first += sizes[s]) {
			gradient(MR_OBJECTIVE_LOGISTIC, 0.1, some, first, sizes[s], g);
			most = fmax(most, fmax(hypot(g[0], g[1]), sqrt(g[2] * g[2] + g[3] * g[3] + g[4] * g[4])));
		}
		CU_ASSERT_DOUBLE_EQUAL(mr_objective_largest(o, (uint64_t)sizes[s]), most, 1e-12);
	}
	mr_objective_destroy(o);
}

/* The largest eigenvalue of X^T X / n. */
static double eigenvalue(void)
{
	double v[D] = {1, 1, 1, 1, 1}, next[D], norm = 0;

	for (int round = 0; round < 5000; round++) {
		memset(next, 0, sizeof(next));
		for (int i = 0; i < N; i++)
			for (int j = 0; j < D; j++)
				next[j] += margin(i, v) * x[i][j] / N;
		norm = 0;
		for (int j = 0; j < D; j++)
			norm += next[j] * next[j];
		norm = sqrt(norm);
		for (int j = 0; j < D; j++)
			v[j] = next[j] / norm;
	}
	return norm;
}

static void smoothness(void)
{
	mr_objective *o = objective_of(MR_OBJECTIVE_QUADRATIC, 0);
	double l;

	MR_CHECK_OK(mr_objective_smoothness(o, &l));
	CU_ASSERT_DOUBLE_EQUAL(l, eigenvalue(), 1e-10);
	mr_objective_destroy(o);
	o = objective_of(MR_OBJECTIVE_LOGISTIC, 0.1);
	MR_CHECK_OK(mr_objective_smoothness(o, &l));
	CU_ASSERT_DOUBLE_EQUAL(l, eigenvalue() / 4 + 0.1, 1e-10);
	mr_objective_destroy(o);
}

/* Steps of 1 / L from zero on: far more than it takes. */
static double descend(mr_objective_kind kind, double l2)
{
	double w[D] = {0}, g[D], l = eigenvalue() + l2;

	for (int step = 0; step < 50000; step++) {
		gradient(kind, l2, w, 0, N, g);
		for (int j = 0; j < D; j++)
			w[j] -= g[j] / l;
	}
	return value(kind, l2, w);
}

static void minimum(void)
{
	static const struct {
		mr_objective_kind kind;
		double l2;
	} cases[] = {{MR_OBJECTIVE_QUADRATIC, 0}, {MR_OBJECTIVE_LOGISTIC, 0.1}};

	for (int c = 0; c < 2; c++) {
		mr_objective *o = objective_of(cases[c].kind, cases[c].l2);
		double least;

		set_all(o, some);
		MR_CHECK_OK(mr_objective_minimum(o, &least));
		CU_ASSERT_DOUBLE_EQUAL(least, descend(cases[c].kind, cases[c].l2), 1e-10);
		CU_ASSERT_EQUAL(memcmp(mr_objective_point(o), some, sizeof(some)), 0);
		CU_ASSERT(least < mr_objective_value(o));
		mr_objective_destroy(o);
	}
}

static void refused(void)
{
	int64_t short_by_one[N_BLOCKS] = {2, 2};
	mr_objective_spec spec = {.n_blocks = N_BLOCKS, .block = short_by_one};
	mr_dataset other = rows;
	mr_objective *o;

	MR_CHECK_FAIL(mr_objective_create(&spec, &rows, MR_F64, &o), MR_ECONFIG,
		      "the blocks have 4 coordinates, the data 5");
	CU_ASSERT_PTR_NULL(o);
	spec.block = block;
	other.target.cols = 2;
	MR_CHECK_FAIL(mr_objective_create(&spec, &other, MR_F64, &o), MR_ECONFIG, "one number each as target");
	other = rows;
	other.input.tokens = true;
	MR_CHECK_FAIL(mr_objective_create(&spec, &other, MR_F64, &o), MR_ECONFIG, "rows of numbers");
	mr_objective_destroy(NULL);
}

void mr_suite_objective(void);

void mr_suite_objective(void)
{
	MR_SUITE("objective");
	MR_TEST(values_and_gradients);
	MR_TEST(one_block);
	MR_TEST(largest_of_blocks_and_minibatches);
	MR_TEST(smoothness);
	MR_TEST(minimum);
	MR_TEST(refused);
}
