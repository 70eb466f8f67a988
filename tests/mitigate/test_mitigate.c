/* Each mitigation against its formula, by hand, in both dtypes; and at age 0, where none may change a bit. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "mitigate/mitigate.h"
#include "nn/bf16.h"

#define N 3

static mr_mitigate open_one(const char *name, const char *key, const char *value)
{
	const mr_mitigate_ops *ops = mr_mitigate_find(name);
	static const mr_option nothing[] = {{0}};
	mr_values *v;
	mr_mitigate m;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_values_create(ops->options ? ops->options : nothing, &v));
	if (key)
		MR_CHECK_OK(mr_values_set_text(v, key, value));
	mr_mitigate_init(&m, ops, v);
	mr_values_destroy(v);
	return m;
}

static void rates(void)
{
	mr_mitigate m = open_one("staleness_aware", NULL, NULL);

	CU_ASSERT_EQUAL(m.ops->rate(&m, 0), 1);
	CU_ASSERT_EQUAL(m.ops->rate(&m, 1), 0.5);
	CU_ASSERT_EQUAL(m.ops->rate(&m, 3), 0.25);
}

/* The numbers of one case in f64, run in f32 as well. */
typedef struct numbers {
	double now[N], then[N], state[N], g[N], made[N];
} numbers;

static void narrow(const double *from, float *to)
{
	for (int i = 0; i < N; i++)
		to[i] = (float)from[i];
}

/* @x's gradient and state become what @m makes of them; @follow: only the state, by what was made. */
static void apply(const mr_mitigate *m, numbers *x, mr_dtype dtype, double gscale, uint64_t t, bool follow)
{
	float now[N], then[N], state[N], g[N], made[N];
	mr_mitigate_call c = {
		.dtype = dtype, .weights = dtype, .n = N, .now = x->now, .then = x->then, .state = x->state,
		.gscale = gscale, .t = t};

	if (dtype == MR_F32) {
		narrow(x->now, now), narrow(x->then, then), narrow(x->state, state), narrow(x->g, g),
			narrow(x->made, made);
		c.now = now, c.then = then, c.state = state;
	}
	if (follow)
		m->ops->follow(m, &c, dtype == MR_F32 ? (void *)made : x->made, 0, N);
	else
		m->ops->correct(m, &c, dtype == MR_F32 ? (void *)g : x->g, 0, N);
	for (int i = 0; i < N && dtype == MR_F32; i++)
		x->g[i] = (double)g[i], x->state[i] = (double)state[i];
}

static void expect(const double *got, const double *want, mr_dtype dtype)
{
	double tolerance = dtype == MR_F64 ? 1e-15 : 1e-6; /* a few roundings */

	for (int i = 0; i < N; i++) {
		if (!(fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
			fprintf(stderr, "\nelement %d: %.17g, expected %.17g\n", i, got[i], want[i]);
		CU_ASSERT_TRUE(fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i])));
	}
}

/* Mean gradients are half the sums. Element 2 has not moved. */
static const numbers moved = {.now = {1.5, -0.25, 2},
			      .then = {1, 0.75, 2},
			      .state = {0.125, 0.5, 0.25},
			      .g = {4, -2, 8},
			      .made = {1.25, -0.125, 2.5}};

static void compensated(void)
{
	/* 4 + 0.5 * (2 * 4) * 0.5;  -2 + 0.5 * (-1 * -2) * -1;  8 */
	static const double want[N] = {6, -3, 8};
	mr_mitigate m = open_one("dc_asgd", "lambda", "0.5");

	for (int t = MR_F32; t <= MR_F64; t++) {
		numbers x = moved;

		apply(&m, &x, (mr_dtype)t, 0.5, 7, false);
		expect(x.g, want, (mr_dtype)t);
	}
	CU_ASSERT_FALSE(m.keeps_state);
	m = open_one("dc_asgd", NULL, NULL);
	CU_ASSERT_EQUAL(m.strength, 0.04);
	m = open_one("dc_asgd", "lambda", "0");
	CU_ASSERT_EQUAL(m.strength, 0);
}

static void compensated_adaptive(void)
{
	mr_mitigate m = open_one("dc_asgd", "adaptive", "true");
	double want[N], square[N];

	CU_ASSERT_TRUE(m.keeps_state);
	for (int i = 0; i < N; i++) {
		square[i] = 0.95 * moved.state[i] + 0.05 * (moved.g[i] / 2) * (moved.g[i] / 2);
		want[i] = moved.g[i] +
			  2 / sqrt(square[i] + 1e-7) * (moved.g[i] / 2) * moved.g[i] * (moved.now[i] - moved.then[i]);
	}
	for (int t = MR_F32; t <= MR_F64; t++) {
		numbers x = moved;

		apply(&m, &x, (mr_dtype)t, 0.5, 7, false);
		expect(x.g, want, (mr_dtype)t);
		expect(x.state, square, (mr_dtype)t);
	}
}

/* Memory 0.5, and so after one step half of the mean is still missing: C is the root of twice the state. */
static void gapped(void)
{
	/* 4 / (1 + 0.5 / root 0.25);  -2 / (1 + 1 / root 1);  8 */
	static const double want[N] = {2, -1, 8};
	/* 0.5 state + 0.5 (made - now)^2 */
	static const double mean[N] = {0.09375, 0.2578125, 0.25};
	mr_mitigate m = open_one("gap_aware", "memory", "0.5");

	for (int t = MR_F32; t <= MR_F64; t++) {
		numbers x = moved;

		apply(&m, &x, (mr_dtype)t, 0.5, 2, false);
		expect(x.g, want, (mr_dtype)t);
		expect(x.state, moved.state, (mr_dtype)t);
		apply(&m, &x, (mr_dtype)t, 0.5, 2, true);
		expect(x.state, mean, (mr_dtype)t);
		/* Elements that have never stepped have no usual step: they keep their gradient. */
		x = moved;
		memset(x.state, 0, sizeof(x.state));
		apply(&m, &x, (mr_dtype)t, 0.5, 2, false);
		expect(x.g, moved.g, (mr_dtype)t);
	}
}

/* w' = made - c (u - before), u = now - made; before becomes u. */
static void fed_back(void)
{
	static const double u[N] = {0.25, -0.125, -0.5}, want[N] = {1.1875, 0.1875, 2.875};
	mr_mitigate m = open_one("error_feedback", "c", "0.5");
	double made[N], state[N];
	float f_now[N], f_made[N], f_state[N];
	uint16_t b_now[N], b_made[N];
	int16_t now_rest[N], rest[N];
	mr_mitigate_call c = {.dtype = MR_F64, .weights = MR_F64, .n = N, .now = moved.now, .state = state, .t = 2,
			      .delay = 3};

	memcpy(made, moved.made, sizeof(made));
	memcpy(state, moved.state, sizeof(state));
	m.ops->amend(&m, &c, made, NULL, 0, N);
	expect(made, want, MR_F64);
	expect(state, u, MR_F64);
	m.by_delay = true; /* 1.5 of now on; twice the same step changes nothing */
	memcpy(made, moved.made, sizeof(made));
	m.ops->amend(&m, &c, made, NULL, 0, N);
	CU_ASSERT_EQUAL(memcmp(made, moved.made, sizeof(made)), 0);
	memcpy(state, moved.state, sizeof(state));
	m.ops->amend(&m, &c, made, NULL, 0, 1);
	CU_ASSERT_DOUBLE_EQUAL(made[0], 1.25 - 1.5 * (0.25 - 0.125), 1e-15);
	memcpy(made, moved.made, sizeof(made));
	c.t = 1; /* the first commit is an ordinary one */
	m.ops->amend(&m, &c, made, NULL, 0, N);
	CU_ASSERT_EQUAL(memcmp(made, moved.made, sizeof(made)), 0);
	expect(state, u, MR_F64);
	/* f32, and masters of it in two parts: the same numbers */
	m.by_delay = false;
	c = (mr_mitigate_call){.dtype = MR_F32, .weights = MR_F32, .n = N, .now = f_now, .state = f_state, .t = 2};
	narrow(moved.now, f_now), narrow(moved.made, f_made), narrow(moved.state, f_state);
	for (int i = 0; i < N; i++) {
		f_now[i] += 1e-4f;
		b_now[i] = mr_master_split(f_now[i], &now_rest[i]);
		b_made[i] = mr_master_split(f_made[i], &rest[i]);
	}
	m.ops->amend(&m, &c, f_made, NULL, 0, N);
	narrow(moved.state, f_state);
	c.weights = MR_BF16, c.now = b_now, c.now_rest = now_rest;
	m.ops->amend(&m, &c, b_made, rest, 0, N);
	for (int i = 0; i < N; i++)
		CU_ASSERT_EQUAL(mr_master_join(b_made[i], rest[i]), f_made[i]);
}

static void fresh(void)
{
	for (uint32_t i = 0; mr_mitigate_at(i); i++) {
		const mr_mitigate_ops *ops = mr_mitigate_at(i);
		mr_mitigate m = open_one(ops->name, NULL, NULL);
		numbers x = moved;

		CU_ASSERT_TRUE(!ops->rate || ops->rate(&m, 0) == 1);
		if (!ops->correct)
			continue;
		memcpy(x.then, x.now, sizeof(x.now));
		apply(&m, &x, MR_F64, 0.5, 5, false);
		CU_ASSERT_EQUAL(memcmp(x.g, moved.g, sizeof(x.g)), 0);
	}
	CU_ASSERT_TRUE(mr_mitigate_is_none(mr_mitigate_at(0)));
	CU_ASSERT_PTR_NULL(mr_mitigate_find("gap"));
}

/* mu + tau (0.99 - mu) / D, of what looks ahead; a memory that is longer already stays. */
static void settled(void)
{
	mr_mitigate m = open_one("delayed_nesterov", NULL, NULL);
	mr_optim nadam = {.ops = mr_optim_find("nadam"), .b1 = 0.9, .mu = 0.5};
	mr_optim heavy = {.ops = mr_optim_find("momentum"), .mu = 0.8, .nesterov = true}, plain = heavy, adam = nadam;

	m.ops->settle(&m, 2, 3, &nadam);
	CU_ASSERT_DOUBLE_EQUAL(nadam.b1, 0.96, 1e-15);
	CU_ASSERT_EQUAL(nadam.mu, 0.5);
	m.ops->settle(&m, 1, 4, &heavy);
	CU_ASSERT_DOUBLE_EQUAL(heavy.mu, 0.8475, 1e-15);
	heavy.mu = 0.995;
	m.ops->settle(&m, 3, 4, &heavy);
	CU_ASSERT_EQUAL(heavy.mu, 0.995);
	plain.nesterov = false;
	adam.ops = mr_optim_find("adam");
	CU_ASSERT_TRUE(m.ops->suits(&nadam) && m.ops->suits(&heavy));
	CU_ASSERT_FALSE(m.ops->suits(&plain) || m.ops->suits(&adam));
}

/* a = mu^tau, b = (1 - mu^tau) / (1 - mu), as recorded for some mu and tau. */
static void spiked(void)
{
	static const struct {
		double mu, a, b;
		uint32_t tau;
	} recorded[] = {{0.9, 1, 0, 0},   {0.9, 0.9, 1, 1},      {0.9, 0.729, 2.71, 3},
			{0.5, 0.5, 1, 1}, {0.5, 0.125, 1.75, 3}, {0, 0, 1, 2}};
	mr_mitigate m = open_one("spike_compensation", NULL, NULL);

	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		mr_optim o = {.ops = mr_optim_find("momentum"), .mu = recorded[i].mu};

		CU_ASSERT_TRUE(m.ops->suits(&o));
		m.ops->settle(&m, recorded[i].tau, 4, &o);
		CU_ASSERT_TRUE(o.blends);
		CU_ASSERT_DOUBLE_EQUAL(o.blend_m, recorded[i].a, 1e-14);
		CU_ASSERT_DOUBLE_EQUAL(o.blend_g, recorded[i].b, 1e-14);
		o.nesterov = true;
		CU_ASSERT_FALSE(m.ops->suits(&o));
		o = (mr_optim){.ops = mr_optim_find("ema")};
		CU_ASSERT_TRUE(m.ops->suits(&o));
		o = (mr_optim){.ops = mr_optim_find("adam")};
		CU_ASSERT_FALSE(m.ops->suits(&o));
	}
}

#define MANY 50001 /* enough for every thread to get a range */

/* Round @x to bf16; the same numbers in 16 bits go to @low. */
static void round_to_bf16(float *x, uint16_t *low)
{
	for (int i = 0; i < MANY; i++) {
		low[i] = mr_bf16_round(x[i]);
		x[i] = mr_bf16_widen(low[i]);
	}
}

/* One commit of @m on pseudo-random numbers, by @k with @threads: the gradient, and behind it the state. Weights are
 * numbers of bf16 if @rounded, and stored as such if @narrow. */
static void by_threads(const mr_mitigate *m, const mr_kernels *k, uint32_t threads, bool rounded, bool narrow,
		       float *out)
{
	float *now = calloc(3 * MANY, sizeof(*now)), *then = now + MANY, *made = then + MANY;
	uint16_t *low = calloc(3 * MANY, sizeof(*low));
	mr_mitigate_call c = {.dtype = MR_F32, .weights = narrow ? MR_BF16 : MR_F32, .n = MANY,
			      .now = narrow ? (void *)low : now, .then = narrow ? (void *)(low + MANY) : then,
			      .state = out + MANY, .gscale = 0.25, .t = 9};
	mr_kctx *kc;

	CU_ASSERT_FATAL(now && low);
	for (int i = 0; i < MANY; i++) {
		now[i] = sinf((float)i);
		then[i] = i % 7 ? cosf((float)i) : now[i];
		made[i] = now[i] + 0.01f * sinf(3 * (float)i);
		out[i] = cosf(5 * (float)i);
		out[MANY + i] = fabsf(sinf(2 * (float)i));
	}
	for (int i = 0; i < 3 && rounded; i++)
		round_to_bf16(now + i * MANY, low + i * MANY);
	MR_CHECK_OK(k->ctx_create(k, threads, &kc));
	MR_CHECK_OK(mr_mitigate_correct(m, &c, k, kc, out));
	if (m->ops->follow)
		MR_CHECK_OK(mr_mitigate_follow(m, &c, k, kc, narrow ? (void *)(low + 2 * MANY) : made));
	k->ctx_destroy(kc);
	free(low);
	free(now);
}

/* The bits of one thread, whatever the number, and of one range; and those of the same weights in f32. */
static void threaded(void)
{
	static const char *const cases[][3] = {
		{"gap_aware", NULL, NULL}, {"dc_asgd", NULL, NULL}, {"dc_asgd", "adaptive", "true"}};
	const mr_kernels *plain = mr_kernels_find("reference", MR_F32), *k = mr_kernels_find("fused", MR_F32);
	float *want = malloc(2 * MANY * sizeof(*want)), *got = malloc(2 * MANY * sizeof(*got));

	CU_ASSERT_FATAL(want && got);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_mitigate m = open_one(cases[i][0], cases[i][1], cases[i][2]);

		by_threads(&m, plain, 1, false, false, want);
		for (uint32_t threads = 1; k && threads <= 4; threads++) {
			by_threads(&m, k, threads, false, false, got);
			CU_ASSERT_EQUAL(memcmp(got, want, 2 * MANY * sizeof(*got)), 0);
		}
		by_threads(&m, plain, 1, true, false, want);
		by_threads(&m, plain, 1, true, true, got);
		CU_ASSERT_EQUAL(memcmp(got, want, 2 * MANY * sizeof(*got)), 0);
	}
	free(want);
	free(got);
}

void mr_suite_mitigate(void);
void mr_suite_mitigate(void)
{
	MR_SUITE("mitigate");
	MR_TEST(rates);
	MR_TEST(compensated);
	MR_TEST(compensated_adaptive);
	MR_TEST(gapped);
	MR_TEST(fed_back);
	MR_TEST(fresh);
	MR_TEST(threaded);
	MR_TEST(settled);
	MR_TEST(spiked);
}
