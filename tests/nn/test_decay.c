/* Weight decay: coupled as torch.optim has it (tests/golden/torch/decay.json, f64, to 1e-12 of each weight, which is
 * thousands of roundings); both kinds and both scopes by hand; rows of a table that a step does not meet. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "nn/optim.h"

enum { N = 8, STEPS = 5 };

static const mr_kernels *reference(void)
{
	return mr_kernels_find("reference", MR_F64);
}

/* "name key=value key=value" */
static void configure(mr_optim *o, const char *text)
{
	char copy[256], *rest = NULL, *word;
	const mr_optim_ops *ops;
	mr_values *v;

	snprintf(copy, sizeof(copy), "%s", text);
	ops = mr_optim_find(strtok_r(copy, " ", &rest));
	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	while ((word = strtok_r(NULL, " ", &rest))) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		MR_CHECK_OK(mr_values_set_text(v, word, equals + 1));
	}
	mr_optim_init(o, ops, v);
	mr_values_destroy(v);
}

static void read_row(const mr_json *list, double *out)
{
	CU_ASSERT_EQUAL_FATAL(mr_json_size(list), N);
	for (size_t i = 0; i < N; i++)
		out[i] = mr_json_double(mr_json_at(list, i));
}

static double clip_scale(const double *g, double most)
{
	double sum = 0;

	for (int i = 0; i < N; i++)
		sum += g[i] * g[i];
	return sqrt(sum) > most ? most / (sqrt(sum) + 1e-6) : 1;
}

/* The largest error of a weight after any step. @matrix: weight decay applies to it whatever the scope. */
static double follow(const mr_json *golden, const char *run, const char *optimizer, bool matrix)
{
	const mr_json *r = mr_json_get(mr_json_get(golden, "runs"), run);
	double w[N], g[N], want[N], m[N] = {0}, v[N] = {0}, worst = 0;
	mr_kctx *kc = NULL;
	mr_optim o;

	configure(&o, optimizer); /* the second step: the first one of soap moves nothing */
	MR_CHECK_OK(reference()->ctx_create(reference(), 1, &kc));
	read_row(mr_json_get(golden, "w"), w);
	for (uint64_t t = 1; t <= STEPS; t++) {
		mr_optim_call c = {.src = w, .dst = w, .state = {m, v}, .t = t, .decay = matrix,
				   .lr = mr_json_double(mr_json_get(r, "lr"))};

		read_row(mr_json_at(mr_json_get(golden, "grads"), (size_t)t - 1), g);
		read_row(mr_json_at(mr_json_get(r, "after"), (size_t)t - 1), want);
		c.gscale = strcmp(run, "clipped") ? 1 : clip_scale(g, 1.5);
		MR_CHECK_OK(mr_optim_step(&o, &c, reference(), kc, N, g));
		for (int i = 0; i < N; i++)
			worst = fmax(worst, fabs(w[i] - want[i]) / (1 + fabs(want[i])));
	}
	reference()->ctx_destroy(kc);
	return worst;
}

#define COUPLED " weight_decay=0.3 decay_kind=coupled"

static void coupled_is_that_of_pytorch(void)
{
	/* torch's NAdam keeps its product of momenta, and ASGD its rate, in f32 */
	static const struct {
		const char *run, *optimizer;
		double tolerance;
	} cases[] = {
		{"sgd", "sgd" COUPLED, 1e-12},
		{"momentum", "momentum" COUPLED, 1e-12},
		{"nesterov", "momentum nesterov=true" COUPLED, 1e-12},
		{"clipped", "momentum" COUPLED, 1e-12},
		{"adam", "adam beta2=0.99" COUPLED, 1e-12},
		{"nadam", "nadam beta1=0.9 beta2=0.99 psi=0.004" COUPLED, 1e-9},
		{"asgd", "nt_asgd" COUPLED, 1e-8},
	};
	char path[MR_GOLDEN_PATH], text[256];
	mr_json *golden = NULL;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/decay.json"), 1 << 20, &golden));
	CU_ASSERT_PTR_NOT_NULL_FATAL(golden);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT(follow(golden, cases[i].run, cases[i].optimizer, true) < cases[i].tolerance);
		CU_ASSERT(follow(golden, cases[i].run, cases[i].optimizer, false) > 1e-3); /* no matrix */
		snprintf(text, sizeof(text), "%s decay_scope=all", cases[i].optimizer);
		CU_ASSERT(follow(golden, cases[i].run, text, false) < cases[i].tolerance);
	}
	/* with momentum the two kinds are far apart: what the papers' configurations had before */
	CU_ASSERT(follow(golden, "momentum", "momentum weight_decay=0.3", true) > 1e-3);
	mr_json_destroy(golden);
}

/* One step of one weight @w with gradient 4 halved by gscale, lr 0.5. */
static double one(const char *optimizer, double w, double *state, bool matrix)
{
	double g = 4;
	mr_kctx *kc = NULL;
	mr_optim o;
	mr_optim_call c = {.src = &w, .dst = &w, .state = {&state[0], &state[1]}, .lr = 0.5, .t = 2, .gscale = 0.5,
			   .decay = matrix};

	configure(&o, optimizer);
	MR_CHECK_OK(reference()->ctx_create(reference(), 1, &kc));
	MR_CHECK_OK(mr_optim_step(&o, &c, reference(), kc, 1, &g));
	reference()->ctx_destroy(kc);
	return w;
}

static void by_hand(void)
{
	double s[2] = {8, 0};

	/* g = 2 + 0.25 * 2; ema: buf = 0.5 * 8 + 0.5 g, which the decay is a part of */
	CU_ASSERT_EQUAL(one("ema mu=0.5 weight_decay=0.25 decay_kind=coupled", 2, s, true), 2 - 0.5 * 5.25);
	s[0] = -4; /* lion: the sign of 0.5 * -4 + 0.5 g, which only the decay makes positive */
	CU_ASSERT_EQUAL(one("lion beta1=0.5 beta2=0.75 weight_decay=2 decay_kind=coupled", 2, s, true), 2 - 0.5);
	CU_ASSERT_EQUAL(s[0], 0.75 * -4 + 0.25 * 6);
	s[0] = -4;
	CU_ASSERT_EQUAL(one("lion beta1=0.5 beta2=0.75 weight_decay=2 decay_kind=coupled", 2, s, false), 2 + 0.5);
	/* every optimizer: the scope decides for what is no matrix; decoupled is the default */
	for (uint32_t i = 0; mr_optim_at(i); i++) {
		char all[160], matrices[128];
		double a[2] = {0}, b[2] = {0}, c[2] = {0}, w;

		snprintf(matrices, sizeof(matrices), "%s weight_decay=0.25", mr_optim_at(i)->name);
		snprintf(all, sizeof(all), "%s decay_scope=all", matrices);
		w = one(matrices, 2, a, true);
		CU_ASSERT_EQUAL(one(all, 2, b, false), w);
		CU_ASSERT_NOT_EQUAL(one(matrices, 2, c, false), w);
		CU_ASSERT_EQUAL(memcmp(a, b, sizeof(a)), 0);
	}
}

/* A row without a gradient keeps its weights, with either kind; a row with one decays as any tensor. */
static void rows_that_are_not_met(void)
{
	static const char *const optimizers[] = {"momentum weight_decay=0.25",
						 "momentum weight_decay=0.25 decay_kind=coupled"};

	for (size_t k = 0; k < 2; k++) {
		double w[6] = {2, 3, 2, 3, 2, 3}, g[6] = {0, 0, 4, 0, 0, 0}, m[6] = {8, 8, 8, 8, 8, 8};
		double same[2] = {2, 3}, m_one[2] = {8, 8};
		mr_kctx *kc = NULL;
		mr_optim o;
		mr_optim_call c = {.src = w, .dst = w, .state = {m}, .lr = 0.5, .t = 1, .gscale = 1, .decay = true,
				   .lazy_cols = 2};
		mr_optim_call dense = {.src = same, .dst = same, .state = {m_one}, .lr = 0.5, .t = 1, .gscale = 1,
				       .decay = true};

		configure(&o, optimizers[k]);
		MR_CHECK_OK(reference()->ctx_create(reference(), 1, &kc));
		MR_CHECK_OK(mr_optim_step(&o, &c, reference(), kc, 6, g));
		MR_CHECK_OK(mr_optim_step(&o, &dense, reference(), kc, 2, g + 2));
		CU_ASSERT(w[0] == 2 && w[1] == 3 && w[4] == 2 && w[5] == 3 && m[0] == 8 && m[5] == 8);
		CU_ASSERT(w[2] == same[0] && w[3] == same[1]);
		CU_ASSERT_EQUAL(same[1], k ? 3 - 0.5 * (0.9 * 8 + 0.25 * 3) : 3 * (1 - 0.5 * 0.25) - 0.5 * (0.9 * 8));
		reference()->ctx_destroy(kc);
	}
}

void mr_suite_decay(void);
void mr_suite_decay(void)
{
	MR_SUITE("decay");
	MR_TEST(coupled_is_that_of_pytorch);
	MR_TEST(by_hand);
	MR_TEST(rows_that_are_not_met);
}
