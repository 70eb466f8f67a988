#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"
#include "check.h"
#include "golden_files.h"
#include "nn/optim.h"

/* --- a small mlp in plain C, so that five recorded steps of PyTorch can be followed without any layer of ours --- */

#define LAYERS 3
#define BATCH 6
#define WIDEST 9

static const int64_t sizes[LAYERS + 1] = {7, 9, 8, 5};

/* Parameter 2 i is the weight [in, out] of layer i, 2 i + 1 its bias [out]. */
typedef struct mlp {
	double p[2 * LAYERS][WIDEST * WIDEST], g[2 * LAYERS][WIDEST * WIDEST];
	double state[2 * LAYERS][MR_OPTIM_STATES][WIDEST * WIDEST];
	double x[BATCH][WIDEST];
	int64_t y[BATCH];
} mlp;

static int64_t param_size(int i)
{
	return i % 2 ? sizes[i / 2 + 1] : sizes[i / 2] * sizes[i / 2 + 1];
}

/* ReLU between layers, softmax cross-entropy at the end; fills @m->g with the gradient of the mean, which it
 * returns. */
static double mlp_gradient(mlp *m)
{
	double loss = 0;

	memset(m->g, 0, sizeof(m->g));
	for (int s = 0; s < BATCH; s++) {
		double a[LAYERS + 1][WIDEST], d[WIDEST], sum = 0;

		memcpy(a[0], m->x[s], sizeof(a[0]));
		for (int l = 0; l < LAYERS; l++)
			for (int64_t j = 0; j < sizes[l + 1]; j++) {
				double z = m->p[2 * l + 1][j];

				for (int64_t i = 0; i < sizes[l]; i++)
					z += a[l][i] * m->p[2 * l][i * sizes[l + 1] + j];
				a[l + 1][j] = l < LAYERS - 1 && z < 0 ? 0 : z;
			}
		for (int64_t j = 0; j < sizes[LAYERS]; j++)
			sum += exp(a[LAYERS][j]);
		loss += (log(sum) - a[LAYERS][m->y[s]]) / BATCH;
		for (int64_t j = 0; j < sizes[LAYERS]; j++)
			d[j] = (exp(a[LAYERS][j]) / sum - (j == m->y[s])) / BATCH;
		for (int l = LAYERS - 1; l >= 0; l--) {
			double below[WIDEST] = {0};

			for (int64_t j = 0; j < sizes[l + 1]; j++) {
				m->g[2 * l + 1][j] += d[j];
				for (int64_t i = 0; i < sizes[l]; i++) {
					m->g[2 * l][i * sizes[l + 1] + j] += a[l][i] * d[j];
					below[i] += m->p[2 * l][i * sizes[l + 1] + j] * d[j];
				}
			}
			for (int64_t i = 0; i < sizes[l]; i++)
				d[i] = a[l][i] > 0 ? below[i] : 0;
		}
	}
	return loss;
}

static mr_json *read_golden(void)
{
	char path[MR_GOLDEN_PATH];
	mr_json *root = NULL;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/mlp.json"), 1 << 24, &root));
	return root;
}

static const char *const param_names[] = {"fc.0.weight", "fc.0.bias", "fc.1.weight",
					  "fc.1.bias",   "fc.2.weight", "fc.2.bias"};

static void mlp_load(mlp *m, const mr_json *golden)
{
	memset(m, 0, sizeof(*m));
	for (int i = 0; i < 2 * LAYERS; i++) {
		const mr_json *values = mr_json_get(mr_json_get(golden, "params"), param_names[i]);

		CU_ASSERT_EQUAL_FATAL(mr_json_size(values), (size_t)param_size(i));
		for (int64_t j = 0; j < param_size(i); j++)
			m->p[i][j] = mr_json_double(mr_json_at(values, (size_t)j));
	}
	for (int s = 0; s < BATCH; s++) {
		m->y[s] = mr_json_int(mr_json_at(mr_json_get(golden, "targets"), (size_t)s));
		for (int64_t j = 0; j < sizes[0]; j++)
			m->x[s][j] = mr_json_double(mr_json_at(mr_json_at(mr_json_get(golden, "inputs"), (size_t)s),
							       (size_t)j));
	}
}

/* Largest |difference| over 1 + |value| between the parameters and a recorded table. */
static double mlp_distance(const mlp *m, const mr_json *table)
{
	double worst = 0;

	for (int i = 0; i < 2 * LAYERS; i++)
		for (int64_t j = 0; j < param_size(i); j++) {
			double want = mr_json_double(mr_json_at(mr_json_get(table, param_names[i]), (size_t)j));

			worst = fmax(worst, fabs(m->p[i][j] - want) / (1 + fabs(want)));
		}
	return worst;
}

static void set(mr_values *v, const char *name, double value)
{
	if (mr_option_find(mr_values_table(v), name))
		MR_CHECK_OK(mr_values_set_float(v, name, value));
}

static void configure(mr_optim *o, const char *name, const mr_json *run)
{
	const mr_optim_ops *ops = mr_optim_find(name);
	mr_values *v;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	set(v, "weight_decay", mr_json_double(mr_json_get(run, "weight_decay")));
	set(v, "mu", mr_json_double(mr_json_get(run, "momentum")));
	set(v, "beta1", mr_json_double(mr_json_get(run, "beta1")));
	set(v, "beta2", mr_json_double(mr_json_get(run, "beta2")));
	set(v, "eps", mr_json_double(mr_json_get(run, "eps")));
	if (mr_option_find(ops->options, "nesterov"))
		MR_CHECK_OK(mr_values_set_bool(v, "nesterov", mr_json_bool(mr_json_get(run, "nesterov"))));
	mr_optim_init(o, ops, v);
	mr_values_destroy(v);
}

static void follow(mlp *m, const mr_json *golden, const char *run_name, const char *optimizer)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	const mr_json *run = mr_json_get(mr_json_get(golden, "runs"), run_name);
	const mr_json *losses = mr_json_get(run, "loss");
	mr_kctx *kc = NULL;
	mr_optim o;

	CU_ASSERT_PTR_NOT_NULL_FATAL(k);
	CU_ASSERT_EQUAL_FATAL(mr_json_size(losses), 6);
	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	configure(&o, optimizer, run);
	mlp_load(m, golden);
	for (uint64_t t = 1; t <= 5; t++) {
		double loss = mlp_gradient(m);

		CU_ASSERT_DOUBLE_EQUAL(loss, mr_json_double(mr_json_at(losses, (size_t)t - 1)), 1e-12);
		for (int i = 0; i < 2 * LAYERS; i++) {
			mr_optim_call c = {.src = m->p[i], .dst = m->p[i], .state = {m->state[i][0], m->state[i][1]},
					   .t = t, .gscale = 1, .lr = mr_json_double(mr_json_get(run, "lr")),
					   .decay = i % 2 == 0};

			MR_CHECK_OK(mr_optim_step(&o, &c, k, kc, param_size(i), m->g[i]));
		}
		if (t == 1)
			CU_ASSERT(mlp_distance(m, mr_json_get(run, "params_1")) < 1e-13);
	}
	CU_ASSERT(mlp_distance(m, mr_json_get(run, "params_5")) < 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(mlp_gradient(m), mr_json_double(mr_json_at(losses, 5)), 1e-12);
	k->ctx_destroy(kc);
}

static void five_steps_of_pytorch(void)
{
	static const struct {
		const char *run, *optimizer;
	} cases[] = {{"sgd", "sgd"},   {"sgd_decay", "sgd"}, {"momentum", "momentum"}, {"nesterov", "momentum"},
		     {"adam", "adam"}, {"adamw", "adamw"},   {"adamw", "adam"}};
	mr_json *golden = read_golden();
	mlp *m = malloc(sizeof(*m));

	CU_ASSERT_PTR_NOT_NULL_FATAL(golden);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		follow(m, golden, cases[i].run, cases[i].optimizer);
	free(m);
	mr_json_destroy(golden);
}

/* --- laws for every optimizer and backend --- */

#define N 1031 /* not a multiple of any vector length */

typedef struct tensors {
	char w[N * 8], out[N * 8], g[N * 8], s0[N * 8], s1[N * 8];
} tensors;

static void fill(tensors *t, mr_dtype dtype)
{
	void *all[] = {t->w, t->g, t->s0, t->s1};

	for (uint32_t a = 0; a < 4; a++)
		for (uint64_t i = 0; i < N; i++) {
			double x = mr_rng_normal(3, MR_RNG_TEST, 0, a, i);

			x = a == 3 ? x * x : x; /* second moments are squares */
			if (dtype == MR_F64)
				((double *)all[a])[i] = x;
			else
				((float *)all[a])[i] = (float)x;
		}
}

static void step(const mr_optim *o, const mr_kernels *k, mr_kctx *kc, tensors *t, void *dst)
{
	mr_optim_call c = {.src = t->w, .dst = dst, .state = {t->s0, t->s1}, .lr = 0.01, .t = 3, .gscale = 0.25,
			   .decay = true};

	MR_CHECK_OK(mr_optim_step(o, &c, k, kc, N, t->g));
}

static void in_place(const mr_optim *o, const mr_kernels *k)
{
	tensors *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));
	size_t bytes = N * mr_dtype_bytes(k->types.weights);
	mr_kctx *kc = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	fill(a, k->types.weights);
	memcpy(b, a, sizeof(*a));
	step(o, k, kc, a, a->out);
	CU_ASSERT(memcmp(a->w, b->w, bytes) == 0); /* the source is only read */
	step(o, k, kc, b, b->w);
	CU_ASSERT(memcmp(a->out, b->w, bytes) == 0);
	CU_ASSERT(memcmp(a->out, a->w, bytes) != 0);
	CU_ASSERT(memcmp(a->s0, b->s0, bytes) == 0);
	CU_ASSERT(memcmp(a->s1, b->s1, bytes) == 0);
	k->ctx_destroy(kc);
	free(a);
	free(b);
}

static void out_of_place_equals_in_place(void)
{
	static const char *const backends[] = {"reference", "fused"};

	for (uint32_t i = 0; mr_optim_at(i); i++)
		for (int b = 0; b < 2; b++)
			for (int dtype = MR_F32; dtype <= MR_F64; dtype++) {
				const mr_kernels *k = mr_kernels_find(backends[b], (mr_dtype)dtype);
				mr_values *v;
				mr_optim o;

				if (!k)
					continue;
				MR_CHECK_OK(mr_values_create(mr_optim_at(i)->options, &v));
				MR_CHECK_OK(mr_values_set_float(v, "weight_decay", 0.1));
				mr_optim_init(&o, mr_optim_at(i), v);
				in_place(&o, k);
				mr_values_destroy(v);
			}
}

static double one_step(const char *name, const char *options, double w, double g, double *state, uint64_t t, bool decay)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	const mr_optim_ops *ops = mr_optim_find(name);
	char copy[256], *rest = NULL;
	mr_kctx *kc = NULL;
	mr_values *v;
	mr_optim o;
	mr_optim_call c = {.src = &w, .dst = &w, .state = {&state[0], &state[1]}, .lr = 0.5, .t = t, .gscale = 0.5,
			   .decay = decay};

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	snprintf(copy, sizeof(copy), "%s", options);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		MR_CHECK_OK(mr_values_set_text(v, word, equals + 1));
	}
	mr_optim_init(&o, ops, v);
	mr_values_destroy(v);
	MR_CHECK_OK(mr_optim_step(&o, &c, k, kc, 1, &g));
	k->ctx_destroy(kc);
	return w;
}

/* w = 2, g = 4 halved by gscale, lr = 0.5: numbers that binary fractions hold. */
static void formulas_by_hand(void)
{
	double s[2] = {0, 0};
	double m, v, want, mu[5];

	CU_ASSERT_EQUAL(one_step("sgd", "", 2, 4, s, 1, true), 2 - 0.5 * 2);
	CU_ASSERT_EQUAL(one_step("sgd", "weight_decay=0.25", 2, 4, s, 1, true), 2 * (1 - 0.5 * 0.25) - 0.5 * 2);
	CU_ASSERT_EQUAL(one_step("sgd", "weight_decay=0.25", 2, 4, s, 1, false), 2 - 0.5 * 2);
	s[0] = 8; /* buf = 0.5 * 8 + 2 = 6 */
	CU_ASSERT_EQUAL(one_step("momentum", "mu=0.5", 2, 4, s, 9, true), 2 - 0.5 * 6);
	CU_ASSERT_EQUAL(s[0], 6);
	s[0] = 8; /* along g + mu buf = 2 + 3 */
	CU_ASSERT_EQUAL(one_step("momentum", "mu=0.5 nesterov=true", 2, 4, s, 9, true), 2 - 0.5 * 5);
	s[0] = 8; /* 0.5 * 8 + 0.5 * 2 */
	CU_ASSERT_EQUAL(one_step("ema", "mu=0.5", 2, 4, s, 9, true), 2 - 0.5 * 5);
	CU_ASSERT_EQUAL(s[0], 5);
	s[0] = -8; /* the direction is of 0.5 * -8 + 0.5 * 2 = -3, the mean becomes 0.75 * -8 + 0.25 * 2 */
	want = 2 * (1 - 0.5 * 0.25) + 0.5;
	CU_ASSERT_EQUAL(one_step("lion", "beta1=0.5 beta2=0.75 weight_decay=0.25", 2, 4, s, 9, true), want);
	CU_ASSERT_EQUAL(s[0], -5.5);
	s[0] = -2; /* a direction of 0 moves nothing */
	CU_ASSERT_EQUAL(one_step("lion", "beta1=0.5 weight_decay=0", 2, 4, s, 9, true), 2);
	s[0] = 7; /* no average has begun: it is the weight */
	CU_ASSERT_EQUAL(one_step("nt_asgd", "weight_decay=0.25", 2, 4, s, 9, true), 2 * (1 - 0.5 * 0.25) - 0.5 * 2);
	CU_ASSERT_EQUAL(s[0], 2 * (1 - 0.5 * 0.25) - 0.5 * 2);
	s[0] = 1;
	s[1] = 16;
	m = 0.5 * 1 + 0.5 * 2;
	v = 0.75 * 16 + 0.25 * 4;
	want = 2 * (1 - 0.5 * 0.25) - 0.5 * (m / (1 - 0.125)) / (sqrt(v / (1 - 0.421875)) + 0.5);
	CU_ASSERT_DOUBLE_EQUAL(one_step("adamw", "beta1=0.5 beta2=0.75 eps=0.5 weight_decay=0.25", 2, 4, s, 3, true),
			       want, 1e-15);
	CU_ASSERT_EQUAL(s[0], m);
	CU_ASSERT_EQUAL(s[1], v);
	s[0] = 1; /* psi = 0: mu_t = beta1 / 2 at every t */
	s[1] = 16;
	want = 2 * (1 - 0.5 * 0.25) -
	       0.5 * (0.75 / (1 - 1.0 / 64) * 2 + 0.25 / (1 - 1.0 / 256) * m) / (sqrt(v / (1 - 0.421875)) + 0.5);
	CU_ASSERT_DOUBLE_EQUAL(
		one_step("nadamw", "beta1=0.5 beta2=0.75 psi=0 eps=0.5 weight_decay=0.25", 2, 4, s, 3, true), want,
		1e-15);
	CU_ASSERT_EQUAL(s[0], m);
	s[0] = 1; /* psi = 1: another mu at every t */
	s[1] = 16;
	mu[0] = 1;
	for (int t = 1; t <= 4; t++) {
		mu[t] = 0.5 * (1 - 0.5 * pow(0.96, t));
		mu[0] *= t < 4 ? mu[t] : 1;
	}
	want = 2 - 0.5 * ((1 - mu[3]) / (1 - mu[0]) * 2 + mu[4] / (1 - mu[0] * mu[4]) * m) /
			   (sqrt(v / (1 - 0.421875)) + 0.5);
	CU_ASSERT_DOUBLE_EQUAL(one_step("nadam", "beta1=0.5 beta2=0.75 psi=1 eps=0.5", 2, 4, s, 3, true), want, 1e-15);
	s[0] = 1; /* late: products of mu are gone, and 0.96^(t psi) with them */
	s[1] = 16;
	want = 2 - 0.5 * (0.5 * 2 + 0.5 * m) / (sqrt(v) + 0.5);
	CU_ASSERT_DOUBLE_EQUAL(one_step("nadam", "beta1=0.5 beta2=0.75 psi=1 eps=0.5", 2, 4, s, 2000000, true), want,
			       1e-15);
	CU_ASSERT_EQUAL(mr_optim_at(2)->n_states, 2);
	CU_ASSERT_STRING_EQUAL(mr_optim_at(3)->state_names[1], "exp_avg_sq");
}

/* What "ax" of torch.optim.ASGD(lr=0.5, lambd=0, t0=0) is behind each step, for the weight 3 and these gradients: means
 * of the weights from the second step on. (PyTorch 2.15 rounds the coefficients to f32: 2.0000000186, 1.9375000140.) */
static void averages_are_those_of_pytorch(void)
{
	static const double gradient[] = {2, 1, 0.5, -4, 3, 1}, ax[] = {2, 1.5, 1.375, 2, 1.9375, 1.8};
	mr_optim o = {.ops = mr_optim_find("nt_asgd"), .wait = 5, .average_from = 7};
	double w = 3, average = 0;

	for (uint64_t t = 1; t <= 6; t++) {
		mr_optim_call c = {.src = &w, .dst = &w, .state = {&average}, .lr = 0.5, .t = 7 + t, .gscale = 1};
		const mr_kernels *k = mr_kernels_find("reference", MR_F64);

		MR_CHECK_OK(mr_optim_step(&o, &c, k, NULL, 1, &gradient[t - 1]));
		CU_ASSERT_DOUBLE_EQUAL(average, ax[t - 1], 1e-15);
	}
}

/* --- muon --- */

#define SIDE 24

/* One step from weights 0 at rate 1: what comes out is minus the scaled direction. @state holds 0 before and the mean
 * after. */
static void muon_step(mr_dtype dtype, mr_optim_matrix m, const void *g, void *out, void *state, const char *nesterov)
{
	const mr_kernels *k = mr_kernels_find("reference", dtype);
	const mr_optim_ops *ops = mr_optim_find("muon");
	double zeros[SIDE * SIDE] = {0};
	mr_optim_call c = {.src = zeros, .dst = out, .state = {state, NULL}, .lr = 1, .t = 1, .gscale = 1, .matrix = m};
	mr_kctx *kc = NULL;
	mr_values *v;
	mr_optim o;

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	MR_CHECK_OK(mr_values_set_text(v, "nesterov", nesterov));
	mr_optim_init(&o, ops, v);
	mr_values_destroy(v);
	CU_ASSERT(!mr_optim_elementwise(&o));
	c.work = aligned_alloc(64, ops->work_bytes(&m, dtype));
	CU_ASSERT_PTR_NOT_NULL_FATAL(c.work);
	MR_CHECK_OK(mr_optim_step(&o, &c, k, kc, m.rows * m.cols, g));
	free(c.work);
	k->ctx_destroy(kc);
}

/* The source says that five rounds bring singular values of a matrix that is not too flat into about [0.7, 1.2]: so
 * every |X^T y| / |y| lies there, for rows y drawn at random and for the axes. */
static void muon_orthogonalises(void)
{
	double g[10 * SIDE], x[10 * SIDE], mean[10 * SIDE] = {0};

	for (uint64_t i = 0; i < 10 * SIDE; i++)
		g[i] = mr_rng_normal(5, MR_RNG_TEST, 0, 0, i);
	muon_step(MR_F64, (mr_optim_matrix){.rows = 10, .cols = SIDE, .out_first = true}, g, x, mean, "true");
	for (uint32_t trial = 0; trial < 40; trial++) {
		double y[10], norm = 0, image = 0;

		for (uint32_t i = 0; i < 10; i++) {
			y[i] = trial < 10 ? trial == i : mr_rng_normal(5, MR_RNG_TEST, trial, 1, i);
			norm += y[i] * y[i];
		}
		for (int j = 0; j < SIDE; j++) {
			double dot = 0;

			for (int i = 0; i < 10; i++)
				dot += y[i] * x[i * SIDE + j];
			image += dot * dot;
		}
		CU_ASSERT(sqrt(image / norm) > 0.65 && sqrt(image / norm) < 1.25);
	}
	for (int i = 0; i < 10 * SIDE; i++)
		CU_ASSERT_DOUBLE_EQUAL(mean[i], 0.05 * g[i], 1e-15);
}

/* [out, in] and [in, out] are the same matrix; a layer with more outputs than inputs steps sqrt(out / in) farther. */
static void muon_knows_which_side(void)
{
	double g[6 * 15], t[6 * 15], a[6 * 15], b[6 * 15], c[6 * 15], mean[3][6 * 15] = {{0}};

	for (uint64_t i = 0; i < 6; i++)
		for (uint64_t j = 0; j < 15; j++)
			t[j * 6 + i] = g[i * 15 + j] = mr_rng_normal(6, MR_RNG_TEST, 0, 0, i * 15 + j);
	muon_step(MR_F64, (mr_optim_matrix){.rows = 6, .cols = 15}, g, a, mean[0], "true");
	muon_step(MR_F64, (mr_optim_matrix){.rows = 15, .cols = 6, .out_first = true}, t, b, mean[1], "true");
	muon_step(MR_F64, (mr_optim_matrix){.rows = 6, .cols = 15, .out_first = true}, g, c, mean[2], "true");
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 15; j++) {
			CU_ASSERT_DOUBLE_EQUAL(a[i * 15 + j], b[j * 6 + i], 1e-13);
			CU_ASSERT_DOUBLE_EQUAL(a[i * 15 + j], c[i * 15 + j] * sqrt(15.0 / 6), 1e-13);
		}
}

/* Of one element, whose direction is its sign: the polynomial on a number. */
static void muon_by_hand(void)
{
	double g = -3, out, mean = 2, x = 1, want;
	float gf = -3, outf, meanf = 2;

	for (int i = 0; i < 5; i++)
		x = 3.4445 * x - 4.7750 * x * x * x + 2.0315 * x * x * x * x * x;
	muon_step(MR_F64, (mr_optim_matrix){.rows = 1, .cols = 1}, &g, &out, &mean, "false");
	want = 0.95 * 2 + 0.05 * -3;
	CU_ASSERT_DOUBLE_EQUAL(mean, want, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(out, -x, 1e-6); /* |u| + 1e-7 is not quite |u| */
	muon_step(MR_F32, (mr_optim_matrix){.rows = 1, .cols = 1}, &gf, &outf, &meanf, "false");
	CU_ASSERT_DOUBLE_EQUAL(outf, -x, 1e-5);
	mean = 0.1; /* the mean 0.95 * 0.1 + 0.05 g stays above 0, and 0.05 g + 0.95 mean lies below */
	g = -1.85;
	muon_step(MR_F64, (mr_optim_matrix){.rows = 1, .cols = 1}, &g, &out, &mean, "true");
	CU_ASSERT(out > 0.5 && mean > 0);
}

static void learning_rates(void)
{
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 8, .min_ratio = 0.25, .warmup = 4, .total = 12};

	CU_ASSERT_EQUAL(mr_lr_at(&lr, 1), 2);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 4), 8);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 1000), 8);
	lr.kind = MR_LR_LINEAR;
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 3), 6);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 4), 8);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 8), 5); /* half way from 8 to 2 */
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 12), 2);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 13), 2);
	lr.kind = MR_LR_COSINE;
	CU_ASSERT_DOUBLE_EQUAL(mr_lr_at(&lr, 8), 5, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(mr_lr_at(&lr, 6), 2 + 6 * (1 + sqrt(0.5)) / 2, 1e-14);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 12), 2);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, UINT64_MAX), 2);
	lr.warmup = 0;
	CU_ASSERT(mr_lr_at(&lr, 1) < 8 && mr_lr_at(&lr, 1) > 7.8);
	lr.warmup = 20; /* longer than the decay: straight to the end value afterwards */
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 20), 8);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 21), 2);
}

static void registry(void)
{
	uint32_t n = 0;

	for (; mr_optim_at(n); n++) {
		const mr_optim_ops *ops = mr_optim_at(n);

		CU_ASSERT_PTR_EQUAL(mr_optim_find(ops->name), ops);
		CU_ASSERT(ops->n_states <= MR_OPTIM_STATES && (ops->n_states == 0 || ops->state_names));
		CU_ASSERT_PTR_NOT_NULL(ops->summary);
		for (const mr_option *o = ops->options; o->name; o++)
			CU_ASSERT(o->help && (o->def || !strcmp(o->name, "lr")) && o->help[strlen(o->help) - 1] != '.');
	}
	CU_ASSERT_PTR_NULL(mr_optim_find("adagrad"));
	CU_ASSERT(n >= 9);
	CU_ASSERT_PTR_NULL(mr_optim_at(n + 1));
}

void mr_suite_optim(void);
void mr_suite_optim(void)
{
	MR_SUITE("optim");
	MR_TEST(averages_are_those_of_pytorch);
	MR_TEST(registry);
	MR_TEST(learning_rates);
	MR_TEST(formulas_by_hand);
	MR_TEST(out_of_place_equals_in_place);
	MR_TEST(muon_orthogonalises);
	MR_TEST(muon_knows_which_side);
	MR_TEST(muon_by_hand);
	MR_TEST(five_steps_of_pytorch);
}
