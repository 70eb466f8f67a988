/*
 * NaN and infinity through every operation of the kernel table, so that a broken weight cannot hide behind a finite
 * loss.
 *
 * One number of one input is replaced; an operation's inputs are numbered by the streams that they are made from. NaN
 * must then be in the same outputs in every backend, none lost and none in what does not depend on it (later tokens,
 * other rows; but some gradients may have more of it: outputs.loose). Of infinity less is asked: where the reference is
 * not finite, no backend is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"

static void *filled(const mr_kernels *k, int64_t n, double x)
{
	return make_input(k, n, 0, x, x);
}

/* Calls @test with every backend that this machine has, each with one thread and with two. */
static void for_all_fillings(void (*test)(const mr_kernels *k, mr_kctx *kc))
{
	const mr_kernels *all[4 + BF16_TABLES] = {
		mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64),
		mr_kernels_find("fused", MR_F32), mr_kernels_find("onednn", MR_F32)};
	uint32_t n = 4 + bf16_tables(all + 4);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t threads = 1; all[i] && threads <= 2; threads++) {
			mr_kctx *kc;

			MR_CHECK_OK(all[i]->ctx_create(all[i], threads, &kc));
			test(all[i], kc);
			all[i]->ctx_destroy(kc);
		}
}

/* Is what is wanted of @got there, where @want is the reference's? */
static bool as_wanted(const outputs *got, const outputs *want, bool nan)
{
	size_t exact = want->n - got->loose;
	bool good = got->n == want->n;

	for (size_t i = 0; good && i < want->n; i++) {
		bool lost = nan ? isnan(want->v[i]) && !isnan(got->v[i]) : !isfinite(want->v[i]) && isfinite(got->v[i]);

		good = !lost && !(nan && i < exact && isnan(got->v[i]) && !isnan(want->v[i]));
	}
	return good;
}

static uint32_t threads_of(const mr_kernels *k)
{
	return !strcmp(k->name, "reference") || k->types.weights == MR_BF16 ? 1 : 2;
}

static void check_planted(const op *o, const int64_t dim[4], int variant, bool add, uint32_t stream)
{
	static const double values[3] = {NAN, INFINITY, -INFINITY};
	const mr_kernels *all[3 + BF16_TABLES] = {mr_kernels_find("reference", MR_F32),
						  mr_kernels_find("fused", MR_F32),
						  mr_kernels_find("onednn", MR_F32)};
	uint32_t n = all[1] ? 3 : 1;

	if (variant % 4 == 0 && dim[0] < 10) /* for these the library compiles longest */
		n += bf16_tables(all + n);
	for (int i = 0; i < (MR_SANITIZED ? 1 : 3); i++) { /* the same addresses for each */
		outputs want;

		planted = (plant){
			.stream = stream, .value = values[i], .where = (double)((variant + 2 * stream) % 5) / 4};
		want = run_op(o, mr_kernels_find("reference", MR_F64), 1, dim, variant, add);
		for (uint32_t f = 0; f < n; f++)
			for (uint32_t threads = 1;
			     has_op(all[f], o) && threads <= threads_of(all[f]); threads++) {
				outputs got = run_op(o, all[f], threads, dim, variant, add);
				bool good = as_wanted(&got, &want, i == 0);

				if (!good)
					fprintf(stderr,
						"\n%s %s %s, %u threads: %lldx%lldx%lldx%lld variant %d%s: %g in input "
						"%u\n",
						o->name, all[f]->name, mr_types_name(&all[f]->types), threads,
						(long long)dim[0], (long long)dim[1],
						(long long)dim[2], (long long)dim[3], variant, add ? " add" : "",
						values[i], stream);
				CU_ASSERT(good);
				free(got.v);
			}
		free(want.v);
	}
	planted = (plant){0};
}

static void check_op(const op *o, const int64_t dim[4], int variant, bool add)
{
	outputs out;
	uint32_t streams;

	made_streams = 0;
	out = run_op(o, mr_kernels_find("reference", MR_F64), 1, dim, variant, add);
	streams = made_streams;
	for (uint32_t s = 1; s < 32; s++)
		if (streams >> s & 1)
			check_planted(o, dim, variant, add, s);
	free(out.v);
}

/* Every operation and variant, of the shapes the second one and the third. */
static void nan_and_infinity_reach_the_same_outputs(void)
{
	for (int i = 0; i < n_ops; i++)
		for (int s = 1; s < 3 && ops[i].dims[s][0]; s++)
			for (int v = 0; v < ops[i].n_variants; v++)
				if (s == 1 || v % 3 == 0)
					check_op(&ops[i], ops[i].dims[s], v, v < ops[i].n_adding && v % 2);
}

/* --- products with ReLU, of every order that there is ---------------------------------------------------------------
 */

static void check_relu_shape(const mr_kernels *k, mr_kctx *kc, int64_t m, int64_t n, int64_t depth)
{
	mr_gemm g = {.m = m, .n = n, .k = depth, .bias = true, .act = MR_ACT_RELU};
	void *b = make_input(k, n * depth, 2, -1, 1), *bias = make_input(k, n, 3, -1, 1), *y = make_output(k, m * n);
	int64_t row = m * 2 / 3, lost = 0, spread = 0, negative = 0, zero = 0;
	void *a;

	planted = (plant){.stream = 1, .value = NAN, .where = ((double)row + 0.5) / (double)m};
	a = make_input(k, m * depth, 1, -1, 1);
	planted = (plant){0};
	MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .bias = bias, .c = y}));
	for (int64_t i = 0; i < m * n; i++) {
		double x = number_at(k, y, i);

		lost += i / n == row && !isnan(x);
		spread += i / n != row && isnan(x);
		negative += x < 0;
		zero += x == 0;
	}
	if (lost || spread)
		fprintf(stderr, "\n%s, product %lld x %lld x %lld: NaN lost in %lld places, too much in %lld\n",
			k->name, (long long)m, (long long)n, (long long)depth, (long long)lost, (long long)spread);
	CU_ASSERT(lost == 0 && spread == 0);
	CU_ASSERT(negative == 0 && (zero > 0 || m * n < 20));
	free(a), free(b), free(bias), free(y);
}

static void check_relu(const mr_kernels *k, mr_kctx *kc)
{
	/* panels: a tile's edge, tiles, wide tiles and their edge; tall, and by the library where there are two threads
	 */
	static const int64_t shape[][3] = {{3, 5, 7},      {17, 40, 33},  {64, 256, 64},
					   {48, 203, 300}, {300, 72, 40}, {600, 130, 20}};

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		check_relu_shape(k, kc, shape[i][0], shape[i][1], shape[i][2]);
}

static void relu_keeps_nan(void)
{
	for_all_fillings(check_relu);
}

static void check_dead_units(const mr_kernels *k, mr_kctx *kc)
{
	enum { N = 40 };
	void *y = filled(k, N, 0), *dy = filled(k, N, NAN), *dz = make_output(k, N);

	MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_RELU, .n = N, .aux = y, .dy = dy,
								.dz = dz})); /* 0 NaN is NaN */
	for (int64_t i = 0; i < N; i++)
		CU_ASSERT(isnan(number_at(k, dz, i)));
	free(y), free(dy), free(dz);
}

static void dead_units_keep_nan(void)
{
	for_all_fillings(check_dead_units);
}

static void check_dropped(const mr_kernels *k, mr_kctx *kc)
{
	enum { N = 300 };
	mr_mask_key key = {.seed = 5, .first_sample = 1, .layer = 3};
	void *x = filled(k, N, NAN), *y = make_output(k, N);

	MR_CHECK_OK(k->dropout(kc, &(mr_dropout_args){.samples = 1, .per_sample = N, .rate = 0.5, .key = &key, .x = x,
						      .y = y}));
	for (int64_t i = 0; i < N; i++)
		CU_ASSERT(isnan(number_at(k, y, i)));
	free(x), free(y);
}

static void dropout_keeps_nan(void)
{
	for_all_fillings(check_dropped);
}

/* --- GELU ------------------------------------------------------------------------------------------------------------
 */

/* The argument comes as a bias, so that the product adds nothing: epilogues of tiles, of wide tiles, and the pass after
 * oneDNN's. */
static void check_gelu_ends(const mr_kernels *k, mr_kctx *kc)
{
	static const int64_t shape[][2] = {{3, 8}, {17, 40}, {64, 256}, {300, 72}, {600, 136}};
	static const double end[8] = {-INFINITY, INFINITY, -1e30, 1e30, -3e19, 40, -40, NAN};

	for (size_t s = 0; s < sizeof(shape) / sizeof(shape[0]); s++) {
		int64_t m = shape[s][0], n = shape[s][1], wrong = 0;
		mr_gemm g = {.m = m, .n = n, .k = 1, .bias = true, .act = MR_ACT_GELU};
		void *a = filled(k, m, 0), *b = filled(k, n, 1), *bias = make_output(k, n), *y = make_output(k, m * n);
		void *aux = make_output(k, m * n), *dz = filled(k, m * n, 1);

		for (int64_t j = 0; j < n; j++)
			set_number(k, bias, j, end[j % 8]);
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .bias = bias, .c = y, .aux = aux}));
		MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = m * n, .aux = aux,
									.dy = dz, .dz = dz}));
		for (int64_t i = 0; i < m * n; i++) {
			double x = end[i % n % 8], got = number_at(k, y, i), slope = number_at(k, dz, i);

			if (fabs(x) > 1e19 && !strcmp(k->name, "onednn")) /* NaN there: the square overflows */
				continue;
			if (isnan(x))
				wrong += !isnan(got) || !isnan(slope);
			else if (x > 0)
				wrong += !(got == number_at(k, bias, i % n) && slope == 1);
			else
				wrong += !(fabs(got) < 1e-27 && fabs(slope) < 1e-27);
		}
		if (wrong)
			fprintf(stderr, "\n%s: GELU of %lld x %lld: %lld wrong\n", k->name, (long long)m, (long long)n,
				(long long)wrong);
		CU_ASSERT_EQUAL(wrong, 0);
		free(a), free(b), free(bias), free(y), free(aux), free(dz);
	}
}

static void gelu_of_infinity(void)
{
	for_all_fillings(check_gelu_ends);
}

void mr_suite_nonfinite(void);

void mr_suite_nonfinite(void)
{
	MR_SUITE("nonfinite");
	MR_TEST(relu_keeps_nan);
	MR_TEST(dead_units_keep_nan);
	MR_TEST(dropout_keeps_nan);
	MR_TEST(gelu_of_infinity);
	MR_TEST(nan_and_infinity_reach_the_same_outputs);
}
