/* soap and rotated_adam against the published code and the equations (tests/golden/torch/record_rotated.py), and the
 * factorizations that they rest on against LAPACK's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "nn/eigen.h"
#include "nn/optim/rotation.h"
#include "nn/qr.h"

#define MOST 64 /* numbers of a matrix here */
#define CLOSE 1e-10

static double gradient(uint64_t t, int i)
{
	return sin(12.9898 * (i + 1) + 78.233 * (double)t) * (1 + i % 3);
}

static const mr_json *the_run(const mr_json *root, const char *optimizer, const char *name)
{
	return mr_json_get(mr_json_get(root, optimizer), name);
}

static mr_json *read_golden(void)
{
	char path[MR_GOLDEN_PATH];
	mr_json *root = NULL;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/rotated.json"), 1 << 24, &root));
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

/* A number of @run's options to key @to of @v. */
static void take(mr_values *v, const mr_json *options, const char *from, const char *to)
{
	const mr_json *x = mr_json_get(options, from);

	if (x && mr_option_find(mr_values_table(v), to)->type == MR_OPT_INT)
		MR_CHECK_OK(mr_values_set_int(v, to, mr_json_int(x)));
	else if (x)
		MR_CHECK_OK(mr_values_set_float(v, to, mr_json_double(x)));
}

static void configure(mr_optim *o, const char *name, const mr_json *options)
{
	const mr_optim_ops *ops = mr_optim_find(name);
	const mr_json *betas = mr_json_get(options, "betas");
	mr_values *v;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	take(v, options, "eps", "eps");
	take(v, options, "weight_decay", "weight_decay");
	if (!strcmp(name, "soap")) {
		take(v, options, "precondition_frequency", "frequency");
		take(v, options, "max_precond_dim", "max_side");
		take(v, options, "shampoo_beta", "shampoo_beta");
		if (betas) {
			MR_CHECK_OK(mr_values_set_float(v, "beta1", mr_json_double(mr_json_at(betas, 0))));
			MR_CHECK_OK(mr_values_set_float(v, "beta2", mr_json_double(mr_json_at(betas, 1))));
		}
	} else {
		take(v, options, "frequency", "frequency");
		take(v, options, "beta1", "beta1");
		take(v, options, "beta2", "beta2");
		MR_CHECK_OK(mr_values_set_text(v, "source", mr_json_string(mr_json_get(options, "source"))));
		MR_CHECK_OK(mr_values_set_text(v, "sides", mr_json_string(mr_json_get(options, "sides"))));
		MR_CHECK_OK(mr_values_set_bool(v, "correct_bias",
					       mr_json_bool(mr_json_get(options, "correct_bias"))));
	}
	mr_optim_init(o, ops, v);
	if (mr_json_get(options, "interval"))
		o->interval = mr_json_double(mr_json_get(options, "interval"));
	mr_values_destroy(v);
}

/* A matrix, or a vector, that @o steps. */
typedef struct tensor {
	double w[MOST], g[MOST], state[2][MOST], factor[MR_OPTIM_FACTORS][MOST];
	int n;
} tensor;

static void prepare(const mr_optim *o, const mr_optim_matrix *m, tensor *x, mr_optim_call *c)
{
	*c = (mr_optim_call){.src = x->w, .dst = x->w, .state = {x->state[0], x->state[1]}, .gscale = 0.25,
			     .decay = true, .matrix = *m};
	memset(x, 0, sizeof(*x));
	if (!m->rows)
		return;
	for (uint32_t i = 0; i < o->ops->n_factors; i++) {
		c->factor[i].side = o->ops->factor_side(o, m, i);
		c->factor[i].at = c->factor[i].side ? x->factor[i] : NULL;
	}
	c->work = aligned_alloc(64, (o->ops->work_bytes(m, MR_F64) + 63) / 64 * 64);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c->work);
}

/* The bases that the source found, where there are others as good. */
static void take_bases(const mr_json *run, mr_optim_call *c)
{
	static const char *const names[] = {"left", "right"};

	for (int s = 0; s < 2; s++) {
		const mr_json *q = mr_json_get(run, names[s]);
		mr_factor *f = &c->factor[2 + s];

		if (!q)
			continue;
		CU_ASSERT_EQUAL_FATAL(mr_json_size(q), (size_t)(f->side * f->side));
		for (size_t i = 0; i < mr_json_size(q); i++)
			((double *)f->at)[i] = mr_json_double(mr_json_at(q, i));
	}
}

static void follow(const char *optimizer, const char *name, bool own_bases)
{
	mr_json *root = read_golden();
	const mr_json *run = the_run(root, optimizer, name), *shape = mr_json_get(run, "shape");
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	mr_optim_matrix m = {0};
	mr_optim_call c;
	mr_kctx *kc;
	mr_optim o;
	tensor x;

	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	configure(&o, optimizer, mr_json_get(run, "options"));
	if (mr_json_size(shape) == 2)
		m = (mr_optim_matrix){.rows = mr_json_int(mr_json_at(shape, 0)),
				      .cols = mr_json_int(mr_json_at(shape, 1))};
	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	prepare(&o, &m, &x, &c);
	x.n = (int)mr_json_size(mr_json_at(mr_json_get(run, "weights"), 0));
	for (int i = 0; i < x.n; i++)
		x.w[i] = cos(i + 1);
	c.lr = mr_json_double(mr_json_get(root, "lr"));
	for (c.t = 1; c.t <= (uint64_t)mr_json_int(mr_json_get(run, "steps")); c.t++) {
		const mr_json *want = mr_json_at(mr_json_get(run, "weights"), c.t - 1);

		for (int i = 0; i < x.n; i++)
			x.g[i] = 4 * gradient(c.t, i);
		MR_CHECK_OK(mr_optim_step(&o, &c, k, kc, x.n, x.g));
		for (int i = 0; i < x.n; i++)
			CU_ASSERT_DOUBLE_EQUAL_FATAL(x.w[i], mr_json_double(mr_json_at(want, (size_t)i)), CLOSE);
		if (c.t == 1 && !own_bases)
			take_bases(run, &c);
	}
	free(c.work);
	k->ctx_destroy(kc);
	mr_json_destroy(root);
}

static void soap_is_the_published_one(void)
{
	follow("soap", "square", true);
	follow("soap", "left alone", true);
	follow("soap", "right alone", true);
	follow("soap", "both", false);
	follow("soap", "vector", true);
}

static void rotated_adam_is_its_equations(void)
{
	follow("rotated_adam", "both", true);
	follow("rotated_adam", "published", true);
	follow("rotated_adam", "smaller", true);
	follow("rotated_adam", "of momentum", true);
	follow("rotated_adam", "of momentum, smaller", true);
	follow("rotated_adam", "between steps", true);
}

/* --- refreshes of stages --- */

enum { STAGES = 5 };

/* @n stages; the work of a step is that of a refresh everywhere each @frequency steps, or less by @over. */
static void share(const double *work, const uint32_t *delay, double frequency, double over, double *interval)
{
	double all = 0, used = 0;

	mr_rotation_share(STAGES, work, delay, frequency, interval);
	for (int i = 0; i < STAGES; i++) {
		CU_ASSERT(interval[i] >= 1);
		all += work[i] / frequency;
		used += work[i] / interval[i];
	}
	CU_ASSERT_DOUBLE_EQUAL(used, all - over, 1e-12 * all);
}

static void refreshes_keep_the_budget(void)
{
	static const double work[STAGES] = {3, 1, 0, 5, 2}, equal[STAGES] = {7, 7, 7, 7, 7};
	static const uint32_t late[STAGES] = {4, 3, 2, 1, 0}, none[STAGES], one[STAGES] = {1, 1, 1, 1, 1};
	static const uint32_t far[STAGES] = {20, 2, 1, 1, 0};
	double interval[STAGES];

	share(work, late, 10, 0, interval);
	for (int i = 0; i < STAGES; i++) /* 20 of work and delay share 1.1 */
		CU_ASSERT_DOUBLE_EQUAL(1 / interval[i], late[i] * 1.1 / 20, 1e-12);
	share(work, none, 10, 0, interval);
	for (int i = 0; i < STAGES; i++)
		CU_ASSERT_EQUAL(interval[i], 10);
	share(work, one, 7, 0, interval);
	for (int i = 0; i < STAGES; i++)
		CU_ASSERT_DOUBLE_EQUAL(interval[i], 7, 1e-12);
	/* of 2.5 refreshes a step the first takes one, and the others 1.5 by 2, 1 and 1 */
	share(equal, far, 2, 0, interval);
	CU_ASSERT_EQUAL(interval[0], 1);
	CU_ASSERT_DOUBLE_EQUAL(interval[1], 4 / 3.0, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(interval[3], 8 / 3.0, 1e-12);
	CU_ASSERT(isinf(interval[4]));
	/* each step everywhere: what the last one cannot take is left */
	share(equal, late, 1, 7, interval);
	CU_ASSERT_EQUAL(interval[3], 1);
	CU_ASSERT(isinf(interval[4]));
}

/* Refreshes of the first @steps steps. */
static uint64_t refreshes(double interval, uint64_t steps)
{
	uint64_t n = 0;

	for (uint64_t t = 1; t <= steps; t++)
		n += mr_rotation_due(interval, t);
	return n;
}

static void refreshes_are_evenly_spread(void)
{
	for (uint64_t t = 1; t <= 5000; t++)
		CU_ASSERT_EQUAL(mr_rotation_due(49, t), t % 49 == 0);
	CU_ASSERT(mr_rotation_due(1, 1));
	CU_ASSERT_EQUAL(refreshes(8 / 3.0, 8000), 3000);
	CU_ASSERT_EQUAL(refreshes(2.5, 12), 4); /* 3, 5, 8, 10 */
	CU_ASSERT(mr_rotation_due(2.5, 3) && mr_rotation_due(2.5, 5) && mr_rotation_due(2.5, 8));
	CU_ASSERT_EQUAL(refreshes(INFINITY, 1000), 0);
}

/* The cubes of the sides that are rotated. */
static void work_of_a_refresh(void)
{
	const mr_optim_matrix m = {.rows = 3, .cols = 5};
	mr_optim o = {.max_side = 8};

	CU_ASSERT_EQUAL(mr_rotation_work(&o, &m), 27 + 125);
	o.one_sided = true;
	CU_ASSERT_EQUAL(mr_rotation_work(&o, &m), 27);
	o = (mr_optim){.max_side = 4, .of_momentum = true};
	CU_ASSERT_EQUAL(mr_rotation_work(&o, &m), 27);
}

/* --- factorizations --- */

/* Number (i, j) of the matrix of which Q was recorded. */
static double number(int64_t n, int64_t i, int64_t j)
{
	return sin((double)(i * n + j) * 1.7 + 0.3) + (i == j);
}

static double *room_of(int64_t n)
{
	double *x = calloc((size_t)(3 * n * n + 4 * n), sizeof(*x));

	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	return x;
}

/* Q of the columns of number(), by @threads. */
static void factor(const mr_kernels *k, uint32_t threads, int64_t n, double *q)
{
	double *tau = room_of(n);
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, threads, &kc));
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			q[j * n + i] = number(n, i, j);
	MR_CHECK_OK(mr_qr(k, kc, n, q, tau));
	k->ctx_destroy(kc);
	free(tau);
}

static void q_is_that_of_lapack(void)
{
	mr_json *root = read_golden();
	const mr_json *all = mr_json_get(root, "factorizations");

	CU_ASSERT_EQUAL(mr_json_size(all), 3);
	for (size_t f = 0; f < mr_json_size(all); f++) {
		const mr_json *want = mr_json_get(mr_json_at(all, f), "q");
		int64_t n = mr_json_int(mr_json_get(mr_json_at(all, f), "n"));
		double *q = room_of(n);

		factor(mr_kernels_find("reference", MR_F64), 1, n, q);
		for (int64_t i = 0; i < n * n; i++)
			CU_ASSERT_DOUBLE_EQUAL(q[i % n * n + i / n], mr_json_double(mr_json_at(want, (size_t)i)),
					       1e-13);
		free(q);
	}
	mr_json_destroy(root);
}

/* A matrix of rank 1: the columns that it does not determine are orthogonal all the same. */
static void q_of_what_has_no_rank(void)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	enum { SIDE = 40 };
	double *q = room_of(SIDE), *tau = q + SIDE * SIDE;
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	for (int i = 0; i < SIDE * SIDE; i++)
		q[i] = i < 3 * SIDE ? (i % SIDE) * (1 + i / SIDE) : 0;
	MR_CHECK_OK(mr_qr(k, kc, SIDE, q, tau));
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j <= i; j++) {
			double dot = 0;

			for (int l = 0; l < SIDE; l++)
				dot += q[i * SIDE + l] * q[j * SIDE + l];
			CU_ASSERT_DOUBLE_EQUAL(dot, i == j, 1e-13);
		}
	k->ctx_destroy(kc);
	free(q);
}

static void q_by_any_number_of_threads(void)
{
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);
	enum { SIDE = 150 };
	double *one = room_of(SIDE), *more = room_of(SIDE);

	factor(mr_kernels_find("reference", MR_F64), 1, SIDE, one);
	for (uint32_t threads = 1; k && threads <= 4; threads++) {
		factor(k, threads, SIDE, more);
		CU_ASSERT_EQUAL(memcmp(one, more, SIDE * SIDE * sizeof(*one)), 0);
	}
	free(one);
	free(more);
}

/* @a v = value v, v v = 1, and values in their order. */
static void check_eigen(int64_t n, const double *a, const double *rows, const double *values)
{
	for (int64_t e = 0; e < n; e++) {
		const double *v = rows + e * n;

		CU_ASSERT(!e || values[e - 1] >= values[e]);
		for (int64_t i = 0; i < n; i++) {
			double image = 0, dot = 0;

			for (int64_t j = 0; j < n; j++) {
				image += a[i * n + j] * v[j];
				dot += rows[i * n + j] * v[j];
			}
			CU_ASSERT_DOUBLE_EQUAL(image, values[e] * v[i], 1e-12);
			CU_ASSERT_DOUBLE_EQUAL(dot, i == e, 1e-13);
		}
	}
}

static void eigenvectors(void)
{
	mr_json *root = read_golden();
	const mr_json *all = mr_json_get(root, "factorizations");

	for (size_t f = 0; f < mr_json_size(all); f++) {
		const mr_json *want = mr_json_get(mr_json_at(all, f), "values");
		int64_t n = mr_json_int(mr_json_get(mr_json_at(all, f), "n"));
		double *a = room_of(n), *rows = room_of(n), values[MOST];

		for (int64_t i = 0; i < n * n; i++)
			rows[i] = a[i] = number(n, i / n, i % n) + number(n, i % n, i / n);
		mr_eigen(n, rows, values, rows + n * n);
		check_eigen(n, a, rows, values);
		for (int64_t i = 0; i < n; i++)
			CU_ASSERT_DOUBLE_EQUAL(values[i], mr_json_double(mr_json_at(want, (size_t)i)), 1e-12);
		free(a);
		free(rows);
	}
	mr_json_destroy(root);
}

/* Equal eigenvalues, none at all, and what is no number. */
static void eigenvectors_of_little(void)
{
	enum { SIDE = 12 };
	double *a = room_of(SIDE), *rows = room_of(SIDE), values[SIDE];

	for (int kind = 0; kind < 3; kind++) {
		for (int i = 0; i < SIDE * SIDE; i++)
			rows[i] = a[i] = kind == 0   ? 0
					 : kind == 1 ? 2.0 * (i % (SIDE + 1) == 0)
						     : (i / SIDE + 1) * (i % SIDE + 1);
		mr_eigen(SIDE, rows, values, rows + SIDE * SIDE);
		for (int i = 0; i < SIDE * SIDE; i++)
			a[i] /= kind == 2 ? 650 : 1;
		for (int i = 0; i < SIDE; i++)
			values[i] /= kind == 2 ? 650 : 1;
		check_eigen(SIDE, a, rows, values);
	}
	CU_ASSERT_DOUBLE_EQUAL(values[0], 1, 1e-12); /* 1 + 4 + ... + 144 */
	rows[5] = NAN;
	mr_eigen(SIDE, rows, values, rows + SIDE * SIDE);
	for (int i = 0; i < SIDE * SIDE; i++)
		CU_ASSERT_EQUAL(rows[i], i % (SIDE + 1) == 0);
	free(a);
	free(rows);
}

void mr_suite_rotated(void);
void mr_suite_rotated(void)
{
	MR_SUITE("rotated");
	MR_TEST(q_is_that_of_lapack);
	MR_TEST(q_of_what_has_no_rank);
	MR_TEST(q_by_any_number_of_threads);
	MR_TEST(eigenvectors);
	MR_TEST(eigenvectors_of_little);
	MR_TEST(soap_is_the_published_one);
	MR_TEST(rotated_adam_is_its_equations);
	MR_TEST(refreshes_keep_the_budget);
	MR_TEST(refreshes_are_evenly_spread);
	MR_TEST(work_of_a_refresh);
}
