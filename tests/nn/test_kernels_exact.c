/*
 * What the kernels promise beyond "close to the reference": attention against a naive f64 version with full matrices,
 * losses of extreme logits, the accuracy of exp and GELU over their range, masks that depend on nothing but their key,
 * one rounding for add, and bits that do not depend on where an array starts or ends.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"

/* Calls @test with every backend that this machine has, each with one thread and with two. */
static void for_all_fillings(void (*test)(const mr_kernels *k, mr_kctx *kc))
{
	const mr_kernels *all[4] = {mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64),
				    mr_kernels_find("fused", MR_F32), mr_kernels_find("onednn", MR_F32)};

	for (int i = 0; i < 4; i++) {
		for (uint32_t threads = 1; all[i] && threads <= 2; threads++) {
			mr_kctx *kc;

			MR_CHECK_OK(all[i]->ctx_create(all[i], threads, &kc));
			test(all[i], kc);
			all[i]->ctx_destroy(kc);
		}
	}
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

enum { T = 21, DIM = 19, HEADS = 2, SAMPLES = 2, WIDTH = HEADS * DIM };

typedef double square[T][T];

/* c[n,m] = a[n,k] b[k,m]; ta: a stored [k,n] */
static void multiply(int n, int m, int k, const double *a, bool ta, const double *b, bool tb, double *c)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++) {
			double s = 0;

			for (int l = 0; l < k; l++)
				s += (ta ? a[l * n + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * m + j]);
			c[i * m + j] = s;
		}
}

/* One head by whole matrices: q, k, v, dy, y, dq, dk, dv are [T, DIM]. */
static void naive_head(const double *q, const double *k, const double *v, const double *dy, double *y, double *dq,
		       double *dk, double *dv)
{
	static square s, p, dp, ds;

	multiply(T, T, DIM, q, false, k, true, s[0]);
	for (int i = 0; i < T; i++) {
		double sum = 0;

		for (int j = 0; j < T; j++)
			sum += p[i][j] = j <= i ? exp(s[i][j] / sqrt(DIM)) : 0;
		for (int j = 0; j < T; j++)
			p[i][j] /= sum;
	}
	multiply(T, DIM, T, p[0], false, v, false, y);
	multiply(T, T, DIM, dy, false, v, true, dp[0]);
	for (int i = 0; i < T; i++) {
		double mean = 0;

		for (int j = 0; j < T; j++)
			mean += p[i][j] * dp[i][j];
		for (int j = 0; j < T; j++)
			ds[i][j] = p[i][j] * (dp[i][j] - mean) / sqrt(DIM);
	}
	multiply(T, DIM, T, ds[0], false, k, false, dq);
	multiply(T, DIM, T, ds[0], true, q, false, dk);
	multiply(T, DIM, T, p[0], true, dy, false, dv);
}

/* Copy [T, DIM] of a head out of rows of @pitch numbers. */
static void take(const mr_kernels *k, const void *p, int64_t at, int64_t pitch, double *out)
{
	for (int64_t i = 0; i < T; i++)
		for (int64_t j = 0; j < DIM; j++)
			out[i * DIM + j] = number_at(k, p, at + i * pitch + j);
}

static double worst_of(const double *a, const double *b)
{
	double worst = 0;

	for (int i = 0; i < T * DIM; i++)
		worst = fmax(worst, fabs(a[i] - b[i]));
	return worst;
}

static void check_attention(const mr_kernels *k, mr_kctx *kc)
{
	static double part[4][T * DIM], want[4][T * DIM], got[T * DIM];
	mr_attn a = {.samples = SAMPLES, .t = T, .heads = HEADS, .dim = DIM};
	/* values are about 1; a softmax over 21 numbers and sums of 21 terms cost a few eps */
	double tolerance = k->types.weights == MR_F64 ? 1e-14 : 4e-6;
	void *qkv = make_input(k, SAMPLES * T * 3 * WIDTH, 1, -1, 1);
	void *dy = make_input(k, SAMPLES * T * WIDTH, 2, -1, 1);
	void *y = make_output(k, SAMPLES * T * WIDTH), *dqkv = make_output(k, SAMPLES * T * 3 * WIDTH);
	void *saved = malloc(saved_bytes(k, &a)), *scratch = malloc(k->attn_scratch_bytes(&a) + 1);

	MR_CHECK_OK(k->attn(kc, &(mr_attn_args){.a = &a, .qkv = qkv, .y = y, .saved = saved, .scratch = scratch}));
	MR_CHECK_OK(k->attn_backward(kc, &(mr_attn_backward_args){.a = &a, .qkv = qkv, .saved = saved, .dy = dy,
								  .dqkv = dqkv, .scratch = scratch}));
	for (int64_t s = 0; s < SAMPLES; s++) {
		for (int64_t h = 0; h < HEADS; h++) {
			int64_t at3 = s * T * 3 * WIDTH + h * DIM, at1 = s * T * WIDTH + h * DIM;

			for (int i = 0; i < 3; i++)
				take(k, qkv, at3 + i * WIDTH, 3 * WIDTH, part[i]);
			take(k, dy, at1, WIDTH, part[3]);
			naive_head(part[0], part[1], part[2], part[3], want[0], want[1], want[2], want[3]);
			take(k, y, at1, WIDTH, got);
			CU_ASSERT(worst_of(got, want[0]) < tolerance);
			for (int i = 0; i < 3; i++) {
				take(k, dqkv, at3 + i * WIDTH, 3 * WIDTH, got);
				CU_ASSERT(worst_of(got, want[1 + i]) < tolerance);
			}
		}
	}
	free(qkv), free(dy), free(y), free(dqkv), free(saved), free(scratch);
}

static void attention_equals_the_naive_one(void)
{
	for_all_fillings(check_attention);
}

/* What comes later in a sample must not change a bit of what comes before. */
static void check_causal(const mr_kernels *k, mr_kctx *kc)
{
	mr_attn a = {.samples = 1, .t = 64, .heads = 1, .dim = 16};
	void *qkv = make_input(k, 64 * 48, 1, -1, 1), *y1 = make_output(k, 64 * 16), *y2 = make_output(k, 64 * 16);
	void *saved = malloc(saved_bytes(k, &a)), *scratch = malloc(k->attn_scratch_bytes(&a) + 1);

	MR_CHECK_OK(k->attn(kc, &(mr_attn_args){.a = &a, .qkv = qkv, .y = y1, .saved = saved, .scratch = scratch}));
	for (int64_t i = 50 * 48; i < 64 * 48; i++)
		set_number(k, qkv, i, 3);
	MR_CHECK_OK(k->attn(kc, &(mr_attn_args){.a = &a, .qkv = qkv, .y = y2, .saved = saved, .scratch = scratch}));
	CU_ASSERT(memcmp(y1, y2, 50 * 16 * mr_dtype_bytes(k->types.weights)) == 0);
	CU_ASSERT(memcmp(y1, y2, 51 * 16 * mr_dtype_bytes(k->types.weights)) != 0);
	free(qkv), free(y1), free(y2), free(saved), free(scratch);
}

static void attention_is_causal(void)
{
	for_all_fillings(check_causal);
}

/* --- losses ------------------------------------------------------------------------------------------------------- */

static void check_extreme_logits(const mr_kernels *k, mr_kctx *kc)
{
	/* all logits 1e4 apart, one class impossible, equal logits, the target far below the largest */
	static const double logit[4][3] = {{1e4, 0, -1e4}, {0, -INFINITY, 0}, {-5e3, -5e3, -5e3}, {88, 89, -20}};
	static const int32_t target[4] = {0, 2, 1, 2};
	const double want[4] = {0, log(2), log(3), 109 + log1p(exp(-1.0))};
	void *x = make_output(k, 12);
	double loss;

	for (int64_t i = 0; i < 12; i++)
		set_number(k, x, i, logit[i / 3][i % 3]);
	MR_CHECK_OK(k->xent(kc, &(mr_xent_args){.rows = 4, .classes = 3, .logits = x, .targets = target,
						.loss = &loss}));
	CU_ASSERT_DOUBLE_EQUAL(loss, (want[0] + want[1] + want[2] + want[3]) / 4, 1e-5);
	for (int64_t r = 0; r < 4; r++) {
		double sum = 0;

		for (int64_t j = 0; j < 3; j++)
			sum += number_at(k, x, 3 * r + j);
		CU_ASSERT_DOUBLE_EQUAL(sum, 0, 1e-7); /* a few eps of 1/4 */
	}
	CU_ASSERT_EQUAL(number_at(k, x, 4), 0); /* the impossible class has no gradient */
	CU_ASSERT_DOUBLE_EQUAL(number_at(k, x, 7), (1 / 3.0 - 1) / 4, 1e-7);
	for (int64_t i = 0; i < 3; i++)
		set_number(k, x, i, i ? 0 : NAN);
	MR_CHECK_OK(k->xent(kc, &(mr_xent_args){.rows = 1, .classes = 3, .logits = x, .targets = target,
						.loss = &loss}));
	CU_ASSERT(isnan(loss)); /* so that a diverged run is seen */
	free(x);
}

static void xent_survives_extreme_logits(void)
{
	for_all_fillings(check_extreme_logits);
}

/* The softmax of {0, x} is exp(x) / (1 + exp(x)): exp over all of its normal range. */
static void check_exp(const mr_kernels *k, mr_kctx *kc)
{
	enum { N = 20000 };
	double loss, worst = 0;
	double tolerance = k->types.weights == MR_F64 ? 1e-13 : 4e-7; /* exp 2.5e-7, a sum and a product */
	void *x = make_output(k, 2 * N);
	int32_t *target = calloc(N, sizeof(*target));
	double *at = malloc(N * sizeof(*at));

	for (int64_t i = 0; i < N; i++) {
		set_number(k, x, 2 * i, 0);
		/* the gradient is scaled by 1/N and must stay normal */
		set_number(k, x, 2 * i + 1, -78.0 * (double)i / N);
		at[i] = number_at(k, x, 2 * i + 1);
	}
	MR_CHECK_OK(k->xent(kc, &(mr_xent_args){.rows = N, .classes = 2, .logits = x, .targets = target,
						.loss = &loss}));
	for (int64_t i = 0; i < N; i++) {
		double want = exp(at[i]) / (1 + exp(at[i])) / N;

		worst = fmax(worst, fabs(number_at(k, x, 2 * i + 1) / want - 1));
	}
	CU_ASSERT(worst < tolerance);
	free(x), free(target), free(at);
}

static void exp_is_accurate(void)
{
	for_all_fillings(check_exp);
}

/* --- activations, dropout, add ------------------------------------------------------------------------------------ */

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* Through a gemm with the 1 x 1 matrix {1}; the gradient against a central difference of the exact function. */
static void check_gelu(const mr_kernels *k, mr_kctx *kc)
{
	enum { N = 4001 };
	double tolerance = k->types.weights == MR_F64 ? 1e-14 : 6e-7, h = 1e-4; /* eps times the value's size */
	/* The difference itself is good to 1e-6; in f32 1 - tanh^2 loses eps x^3 / 3 where tanh is about -1. */
	double slope_tolerance = k->types.weights == MR_F64 ? 1e-6 : 4e-6;
	mr_gemm g = {.m = N, .n = 1, .k = 1, .act = MR_ACT_GELU};
	void *x = make_output(k, N), *one = make_output(k, 1), *y = make_output(k, N), *aux = make_output(k, N);
	void *dx = make_output(k, N), *dy = make_output(k, N);

	set_number(k, one, 0, 1);
	for (int64_t i = 0; i < N; i++) {
		set_number(k, x, i, -15 + 30.0 * (double)i / N);
		set_number(k, dy, i, 1);
	}
	MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = x, .b = one, .c = y, .aux = aux}));
	MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = N, .aux = aux, .dy = dy,
								.dz = dx}));
	for (int64_t i = 0; i < N; i++) {
		double v = number_at(k, x, i), slope = (gelu(v + h) - gelu(v - h)) / (2 * h);

		CU_ASSERT(fabs(number_at(k, y, i) - gelu(v)) <= tolerance * (1 + fabs(v)));
		CU_ASSERT(fabs(number_at(k, dx, i) - slope) <= slope_tolerance);
	}
	free(x), free(one), free(y), free(aux), free(dx), free(dy);
}

static void gelu_is_accurate(void)
{
	for_all_fillings(check_gelu);
}

/* One mask for all backends and types, a function of sample and element only, with the right rate. */
static void check_mask(const mr_kernels *k, mr_kctx *kc)
{
	enum { SAMPLE = 1003, N = 8 * SAMPLE, PART = 13 * MR_DROPOUT_BLOCK };
	const mr_kernels *ref = mr_kernels_find("reference", MR_F64);
	mr_mask_key key = {.seed = 11, .first_sample = 40, .layer = 2};
	void *x = make_input(k, N, 1, 1, 2), *y = make_output(k, N), *z = make_output(k, SAMPLE);
	void *rx = make_input(ref, N, 1, 1, 2), *ry = make_output(ref, N);
	size_t kept = 0, bytes = mr_dtype_bytes(k->types.weights);
	int64_t differ = 0;

	MR_CHECK_OK(k->dropout(kc, &(mr_dropout_args){.samples = 8, .per_sample = SAMPLE, .rate = 0.2, .key = &key,
						      .x = x, .y = y}));
	MR_CHECK_OK(ref->dropout(NULL, &(mr_dropout_args){.samples = 8, .per_sample = SAMPLE, .rate = 0.2, .key = &key,
							  .x = rx, .y = ry}));
	for (int64_t i = 0; i < N; i++) {
		kept += number_at(k, y, i) != 0;
		differ += (number_at(k, y, i) != 0) != (number_at(ref, ry, i) != 0);
	}
	CU_ASSERT_EQUAL(differ, 0);
	CU_ASSERT(fabs((double)kept / N - 0.8) < 5 * sqrt(0.16 / N)); /* 5 standard deviations */
	key.first_sample = 45;
	MR_CHECK_OK(k->dropout(kc, &(mr_dropout_args){.samples = 1, .per_sample = SAMPLE, .rate = 0.2, .key = &key,
						      .x = (char *)x + 5 * SAMPLE * bytes, .y = z}));
	CU_ASSERT(memcmp(z, (char *)y + 5 * SAMPLE * bytes, SAMPLE * bytes) == 0);
	/* a part of a sample has that part of its mask */
	MR_CHECK_OK(k->dropout(kc, &(mr_dropout_args){.samples = 1, .per_sample = SAMPLE - PART, .first = PART,
						      .rate = 0.2, .key = &key,
						      .x = (char *)x + (5 * SAMPLE + PART) * bytes, .y = z}));
	CU_ASSERT(memcmp(z, (char *)y + (5 * SAMPLE + PART) * bytes, (SAMPLE - PART) * bytes) == 0);
	key.layer = 3;
	MR_CHECK_OK(k->dropout(kc, &(mr_dropout_args){.samples = 1, .per_sample = SAMPLE, .rate = 0.2, .key = &key,
						      .x = (char *)x + 5 * SAMPLE * bytes, .y = z}));
	CU_ASSERT(memcmp(z, (char *)y + 5 * SAMPLE * bytes, SAMPLE * bytes) != 0);
	free(x), free(y), free(z), free(rx), free(ry);
}

static void masks_depend_on_their_key_only(void)
{
	for_all_fillings(check_mask);
}

/* Neighbours and layers, samples and elements that powers of two lie between: no two masks are the same. */
static void check_masks_differ(const mr_kernels *k, mr_kctx *kc)
{
	enum { N = 64, MASKS = 3 * 70 };
	static uint64_t mask[MASKS];
	void *x = make_input(k, N, 1, 1, 2), *y = make_output(k, N);

	for (uint32_t i = 0; i < MASKS; i++) {
		uint32_t j = i / 3, number = j < 40 ? j + 1 : 1u << (j - 39); /* to 40, then the powers of two */
		mr_mask_key key = {.seed = i % 3 == 0 ? number : 0, .layer = i % 3 == 1 ? number : 0,
				   .first_sample = i % 3 == 2 ? (uint64_t)number << (j % 2 ? 32 : 0) : 0};

		MR_CHECK_OK(k->dropout(kc, &(mr_dropout_args){.samples = 1, .per_sample = N, .rate = 0.5, .key = &key,
							      .x = x, .y = y}));
		mask[i] = 0;
		for (int64_t e = 0; e < N; e++)
			mask[i] |= (uint64_t)(number_at(k, y, e) != 0) << e;
	}
	for (uint32_t i = 0; i < MASKS; i++)
		for (uint32_t j = 0; j < i; j++) {
			/* a small power of two stands there twice */
			bool same_key = i % 3 == j % 3 && i / 3 >= 40 && j / 3 < 40;

			CU_ASSERT(same_key || mask[i] != mask[j]);
		}
	free(x), free(y);
}

static void no_two_layers_share_a_mask(void)
{
	for_all_fillings(check_masks_differ);
}

/*
 * A gemm with add gives the bits of the plain gemm, added once; only oneDNN on AVX2 adds block by block of k (values
 * up to 60: 1e-5 is three eps of that), and on Arm term by term: two sums of 300 terms of about 10, each rounded by
 * 3e-7 (one standard deviation), differ by 7e-6, and hardly any of 1,320 by six times that.
 */
static void check_add(const mr_kernels *k, mr_kctx *kc)
{
	enum { M = 40, N = 33, K = 300 };
	mr_gemm g = {.m = M, .n = N, .k = K, .ta = true};
	void *a = make_input(k, M * K, 1, -1, 1), *b = make_input(k, N * K, 2, -1, 1);
	void *plain = make_output(k, M * N), *c = make_input(k, M * N, 3, -9, 9);
	void *want = make_input(k, M * N, 3, -9, 9);
#if defined(__aarch64__)
	double tolerance = 4e-5;
#else
	double tolerance = 1e-5;
#endif

	MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = plain}));
	g.add = true;
	MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = c}));
	MR_CHECK_OK(k->sum(kc, &(mr_sum_args){.n = M * N, .a = want, .b = plain, .y = want}));
	if (strcmp(k->name, "reference") != 0 && !strstr(mr_kernels_library(), "AVX-512")) {
		for (int64_t i = 0; i < M * N; i++)
			CU_ASSERT(fabs(number_at(k, c, i) - number_at(k, want, i)) < tolerance);
	} else {
		CU_ASSERT(memcmp(c, want, M * N * mr_dtype_bytes(k->types.weights)) == 0);
	}
	free(a), free(b), free(plain), free(c), free(want);
}

static void add_rounds_once(void)
{
	for_all_fillings(check_add);
}

/* The same numbers give the same bits at another address and in a longer array: no tail is computed differently. */
static void check_tails(const mr_kernels *k, mr_kctx *kc)
{
	enum { N = 61 };
	size_t bytes = mr_dtype_bytes(k->types.weights);
	void *x = make_input(k, N, 1, -3, 3), *dy = make_input(k, N, 2, -1, 1), *whole = make_output(k, N);
	void *aux = make_gelu_aux(k, kc, N, x);

	MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = N, .aux = aux, .dy = dy,
								.dz = whole}));
	for (size_t first = 0; first < 18; first++) {
		for (size_t n = 1; n < 20; n++) {
			void *part = make_output(k, N),
			     *of = make_gelu_aux(k, kc, (int64_t)n, (char *)x + first * bytes);

			CU_ASSERT(memcmp(of, (char *)aux + first * bytes, n * bytes) == 0);
			MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = (int64_t)n,
										.aux = of,
										.dy = (char *)dy + first * bytes,
										.dz = (char *)part + bytes}));
			CU_ASSERT(memcmp((char *)part + bytes, (char *)whole + first * bytes, n * bytes) == 0);
			CU_ASSERT_EQUAL(number_at(k, part, 0), 7);
			CU_ASSERT_EQUAL(number_at(k, part, (int64_t)n + 1), 7);
			free(part), free(of);
		}
	}
	free(x), free(aux), free(dy), free(whole);
}

static void tails_have_the_same_bits(void)
{
	for_all_fillings(check_tails);
}

void mr_suite_kernels_exact(void); /* the runner declares it too */

void mr_suite_kernels_exact(void)
{
	MR_SUITE("kernels_exact");
	MR_TEST(attention_equals_the_naive_one);
	MR_TEST(attention_is_causal);
	MR_TEST(xent_survives_extreme_logits);
	MR_TEST(exp_is_accurate);
	MR_TEST(gelu_is_accurate);
	MR_TEST(masks_depend_on_their_key_only);
	MR_TEST(no_two_layers_share_a_mask);
	MR_TEST(add_rounds_once);
	MR_TEST(tails_have_the_same_bits);
}
