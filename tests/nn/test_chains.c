/*
 * test_chains.c - every product that is computed here (nn/kernels/fused/gemm/gemm.h) against what it is said to be:
 * each element one chain of fused multiply-adds over ascending k (dz W^T: one for each block of a long sum), begun at 0
 * or at what was there, then bias and activation or the step; and each sum of a column one chain of additions for each
 * piece of k. To the bit, by one, two and three threads, on either width of vectors: so whatever orders, tiles and
 * copies there are, they must agree.
 *
 * Matrices lie at the edge of memory (guarded.h) and operands may not be written. Shapes end inside of and beside
 * vectors, tiles, strips and blocks, and lie on both sides of the numbers of rows at which the order of a product
 * changes. What is left to oneDNN must be close.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "step_variants.h"
#include "guarded.h"
#include "fused_gemm.h"

/* A sanitizer takes ten times as long, and it looks at addresses: bits were compared without it. */
#ifdef __SANITIZE_ADDRESS__
#define LEAST_THREADS 2
#define MOST_THREADS 2
#else
#define LEAST_THREADS 1
#define MOST_THREADS 3
#endif
#define MOST_PIECES 3
#define CLOSE 1e-5f /* sums of up to 1024 products of numbers below 1, in another order, over 1 + the largest */


/* Variants of a step: its kind, in place or not, after a sum or not. */
#define N_STEP_VARIANTS (4 * N_STEPS)

static const mr_kernels *kernels;
static uint32_t turn; /* of variants that shapes take in turn, and of where matrices lie */

/* --- the chain ---------------------------------------------------------------------------------------------------- */

/* c[m,n] = c + a[m,k] b[k,n]. Who has these kernels has these instructions. */
#ifdef __x86_64__
__attribute__((target("avx2,fma"), no_sanitize("address", "undefined")))
#endif
#ifndef __clang__ /* which has no such attribute */
__attribute__((optimize("O3")))
#endif
static void chain(int64_t m, int64_t n, int64_t k, const float *restrict a, const float *restrict b, float *restrict c)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t l = 0; l < k; l++) {
			float x = a[i * k + l];

			for (int64_t j = 0; j < n; j++)
				c[i * n + j] = __builtin_fmaf(x, b[l * n + j], c[i * n + j]);
		}
}

/* The same where long sums go in blocks: each a chain, which is added to the one before; the first begins at what is in
 * c. */
static void chain_of_blocks(int64_t m, int64_t n, int64_t k, int64_t block, const float *a, const float *b, float *c)
{
	float *part = malloc((size_t)(m * block) * sizeof(float)), *sum = malloc((size_t)(m * n) * sizeof(float));

	for (int64_t k0 = 0; k0 < k; k0 += block) {
		int64_t now = k - k0 < block ? k - k0 : block;

		for (int64_t i = 0; i < m; i++)
			memcpy(part + i * now, a + i * k + k0, (size_t)now * sizeof(float));
		memset(sum, 0, (size_t)(m * n) * sizeof(float));
		chain(m, n, now, part, b + k0 * n, k0 ? sum : c);
		for (int64_t i = 0; k0 && i < m * n; i++)
			c[i] += sum[i];
	}
	free(part), free(sum);
}

/* @rows x @cols numbers, or their transpose. */
static void turned(int64_t rows, int64_t cols, bool t, const float *src, float *dst)
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			dst[t ? j * rows + i : i * cols + j] = src[i * cols + j];
}

/* --- one product and all that is wanted of it --------------------------------------------------------------------- */

typedef struct rig {
	mr_gemm g;              /* m, n, k, ta, tb */
	uint32_t pieces;        /* 1: not a sum of products */
	int64_t block;          /* of k: one chain */
	guarded a[MOST_PIECES], b[MOST_PIECES], bias;
	guarded c, slope;       /* written */
	guarded of[4];          /* the step's: src, dst, m, v */
	float *first[6];        /* what is in c, slope and of at first */
	float *sum[2];          /* the chain begun at 0, at c */
	guarded sums[2];        /* written: of A's columns, of B's; */
	float *first_sums[2], *want_sums[2][2]; /* at first, and at last, without and with add */
	float *before, *want;   /* what is expected: before the activation, behind it; */
	float *want_slope;      /* of GELU */
	mr_kctx *kc[MOST_THREADS + 1]; /* for as many threads */
	guarded *written[6];
} rig;

/* An operand in @pieces pieces of @rows rows of k each: as @plain (all of it) says, or transposed. */
static void lay_out(guarded *out, uint32_t pieces, int64_t rows, int64_t cols, bool t, const float *plain)
{
	for (uint32_t p = 0; p < pieces; p++) {
		out[p] = guarded_make(rows * cols, (turn + p) & 1);
		turned(rows, cols, t, plain + p * rows * cols, out[p].p);
		guarded_freeze(&out[p]);
	}
}

/* What becomes of the sums of columns of x[all, cols], which is A (@which: 0) or B. */
static void open_sums(rig *r, int which, int64_t cols, const float *x)
{
	size_t bytes = (size_t)cols * sizeof(float);

	r->sums[which] = guarded_fill(cols, turn & 1, 10 + (uint32_t)which, -1, 1);
	r->first_sums[which] = malloc(bytes);
	memcpy(r->first_sums[which], r->sums[which].p, bytes);
	for (int add = 0; add < 2; add++) {
		float *want = r->want_sums[which][add] = malloc(bytes);

		memcpy(want, r->sums[which].p, bytes);
		for (uint32_t p = 0; p < r->pieces; p++)
			for (int64_t j = 0; j < cols; j++) {
				float s = 0;

				for (int64_t l = 0; l < r->g.k; l++)
					s += x[(p * r->g.k + l) * cols + j];
				want[j] = add || p ? want[j] + s : s;
			}
	}
}

static void open_operands(rig *r)
{
	int64_t m = r->g.m, n = r->g.n, k = r->g.k, all = k * r->pieces;
	float *a = malloc((size_t)(m * all) * sizeof(float)), *at = malloc((size_t)(m * all) * sizeof(float));
	float *b = malloc((size_t)(n * all) * sizeof(float));

	for (int64_t i = 0; i < m * all; i++)
		a[i] = number_of(1, i, -1, 1);
	for (int64_t i = 0; i < n * all; i++)
		b[i] = number_of(2, i, -1, 1);
	turned(m, all, true, a, at);
	if (r->g.ta)
		lay_out(r->a, r->pieces, k, m, false, at);
	else
		lay_out(r->a, 1, m, k, false, a);
	lay_out(r->b, r->pieces, k, n, r->g.tb, b);
	open_sums(r, 0, m, at);
	open_sums(r, 1, n, b);
	for (int add = 0; add < 2; add++) {
		r->sum[add] = calloc((size_t)(m * n), sizeof(float));
		if (add)
			memcpy(r->sum[add], r->first[0], (size_t)(m * n) * sizeof(float));
		chain_of_blocks(m, n, all, r->block, a, b, r->sum[add]);
	}
	free(a), free(at), free(b);
}

static void rig_open(rig *r, const mr_gemm *g, uint32_t pieces, int64_t block)
{
	int64_t n = g->m * g->n;

	*r = (rig){.g = *g, .pieces = pieces, .block = block,
		   .written = {&r->c, &r->slope, &r->of[0], &r->of[1], &r->of[2], &r->of[3]}};
	for (uint32_t i = 0; i < 6; i++) {
		*r->written[i] = guarded_fill(n, (turn + i / 2) & 1, 4 + i, i == 5 ? 0 : -1, 1);
		r->first[i] = malloc((size_t)n * sizeof(float));
		memcpy(r->first[i], r->written[i]->p, (size_t)n * sizeof(float));
	}
	r->bias = guarded_fill(g->n, true, 3, -1, 1);
	guarded_freeze(&r->bias);
	r->before = malloc((size_t)n * sizeof(float));
	r->want = malloc((size_t)n * sizeof(float));
	r->want_slope = malloc((size_t)n * sizeof(float));
	open_operands(r);
	for (uint32_t t = LEAST_THREADS; t <= MOST_THREADS; t++)
		MR_CHECK_OK(kernels->ctx_create(kernels, t, &r->kc[t]));
	turn++;
}

static void rig_close(rig *r)
{
	for (uint32_t i = 0; i < 6; i++) {
		guarded_free(r->written[i]);
		free(r->first[i]);
	}
	for (uint32_t p = 0; p < r->pieces; p++)
		guarded_free(&r->a[p]), guarded_free(&r->b[p]);
	guarded_free(&r->bias);
	for (int i = 0; i < 2; i++) {
		guarded_free(&r->sums[i]);
		free(r->first_sums[i]), free(r->want_sums[i][0]), free(r->want_sums[i][1]);
	}
	free(r->sum[0]), free(r->sum[1]), free(r->before), free(r->want), free(r->want_slope);
	for (uint32_t t = LEAST_THREADS; t <= MOST_THREADS; t++)
		kernels->ctx_destroy(r->kc[t]);
}

/* Of a gradient sums of columns are asked for in turn: none, B's, or both. */
static void begin_anew(rig *r, uint32_t n_written)
{
	static uint32_t asked;

	asked++;
	r->g.colsum_a = r->g.ta && asked % 4 == 1 ? r->sums[0].p : NULL;
	r->g.colsum_b = r->g.ta && asked % 4 != 0 ? r->sums[1].p : NULL;
	for (int i = 0; i < 2; i++)
		memcpy(r->sums[i].p, r->first_sums[i], r->sums[i].n * sizeof(float));
	for (uint32_t i = 0; i < n_written; i++)
		memcpy(r->written[i]->p, r->first[i], r->written[i]->n * sizeof(float));
}

static bool own(const rig *r, uint32_t threads, bool step)
{
	mr_gemm g = r->g;

	g.k *= r->pieces;
	return mr_gemm_has_kernel(&g, threads, step);
}

static bool agree(float got, float want, float room, bool bits)
{
	return bits ? memcmp(&got, &want, sizeof(got)) == 0 : fabsf(got - want) <= room;
}

static void compare(const rig *r, const char *what, uint32_t threads, size_t n, const float *got, const float *want,
		    bool bits)
{
	size_t at = 0;
	float top = 0;

	if (memcmp(got, want, n * sizeof(float)) == 0)
		return;
	for (size_t i = 0; i < n; i++)
		top = fmaxf(top, fabsf(want[i]));
	while (at < n && agree(got[at], want[at], CLOSE * (1 + top), bits))
		at++;
	if (at < n)
		fprintf(stderr,
			"\n%s of m=%lld n=%lld k=%lld x %u%s%s%s%s act %d, %u threads: [%lld, %lld] is %.9g, not "
			"%.9g\n",
			what, (long long)r->g.m, (long long)r->g.n, (long long)r->g.k, r->pieces, r->g.ta ? " ta" : "",
			r->g.tb ? " tb" : "", r->g.add ? " add" : "", r->g.bias ? " bias" : "", (int)r->g.act, threads,
			(long long)at / r->g.n, (long long)at % r->g.n, (double)got[at], (double)want[at]);
	CU_ASSERT(at == n);
}

static void compare_sums(const rig *r, uint32_t threads)
{
	if (r->g.colsum_a)
		compare(r, "sums of A", threads, r->sums[0].n, r->sums[0].p, r->want_sums[0][r->g.add], true);
	if (r->g.colsum_b)
		compare(r, "sums of B", threads, r->sums[1].n, r->sums[1].p, r->want_sums[1][r->g.add], true);
}

/* --- without a step ----------------------------------------------------------------------------------------------- */

/* GELU of an element is GELU alone: a product of one by one row. How good that is: gelu_is_accurate,
 * gelu_has_its_slope. */
static void gelu_of(rig *r, const float *x, float *y, float *slope)
{
	mr_gemm g = {.m = 1, .n = r->g.m * r->g.n, .k = 1, .act = MR_ACT_GELU};
	float one = 1;

	MR_CHECK_OK(kernels->gemm(r->kc[LEAST_THREADS], &(mr_gemm_args){.g = &g, .a = &one, .b = x, .c = y,
									.aux = slope}));
}

static void expect(rig *r)
{
	int64_t n = r->g.m * r->g.n;

	for (int64_t i = 0; i < n; i++) {
		r->before[i] = r->sum[r->g.add][i] + (r->g.bias ? r->bias.p[i % r->g.n] : 0);
		r->want[i] = r->g.act == MR_ACT_RELU && !(r->before[i] > 0) ? 0 : r->before[i];
	}
	if (r->g.act == MR_ACT_GELU)
		gelu_of(r, r->before, r->want, r->want_slope);
}

static void check_product(rig *r, bool add, bool bias, mr_act act)
{
	r->g.add = add;
	r->g.bias = bias;
	r->g.act = act;
	expect(r);
	for (uint32_t t = LEAST_THREADS; t <= MOST_THREADS; t++) {
		bool bits = own(r, t, false);

		begin_anew(r, 2);
		if (r->pieces > 1) {
			const void *as[MOST_PIECES], *bs[MOST_PIECES];

			for (uint32_t p = 0; p < r->pieces; p++)
				as[p] = r->a[p].p, bs[p] = r->b[p].p;
			MR_CHECK_OK(kernels->gemm_sum(r->kc[t], &(mr_gemm_sum_args){.g = &r->g, .n = r->pieces, .a = as,
										    .b = bs, .c = r->c.p}));
		} else {
			MR_CHECK_OK(kernels->gemm(
				r->kc[t], &(mr_gemm_args){.g = &r->g, .a = r->a[0].p, .b = r->b[0].p,
							  .bias = bias ? r->bias.p : NULL, .c = r->c.p,
							  .aux = act == MR_ACT_GELU ? r->slope.p : NULL}));
		}
		compare_sums(r, t);
		compare(r, "product", t, r->c.n, r->c.p, r->want, bits);
		if (act == MR_ACT_GELU)
			compare(r, "slope of GELU", t, r->slope.n, r->slope.p, r->want_slope, bits);
	}
}

/* --- with a step -------------------------------------------------------------------------------------------------- */

static mr_step step_of(int variant, float *const of[4])
{
	return step_variant(variant / 4 % N_STEPS, of[0], of[variant & 2 ? 0 : 1], of[2], of[3]);
}

/* The chain, then the step apart; all four arrays, whether the step has them or not. */
static void check_step(rig *r, int variant)
{
	static const char *const names[4] = {"weights", "new weights", "momentum", "second moments"};
	const void *as[MOST_PIECES], *bs[MOST_PIECES];
	float *want[4], *got[4];
	mr_step s;

	r->g.add = variant & 1;
	r->g.bias = false;
	r->g.act = MR_ACT_NONE;
	for (int i = 0; i < 4; i++) {
		want[i] = malloc(r->c.n * sizeof(float));
		memcpy(want[i], r->first[2 + i], r->c.n * sizeof(float));
		got[i] = r->of[i].p;
	}
	s = step_of(variant, want);
	MR_CHECK_OK(kernels->step(r->kc[LEAST_THREADS], &(mr_step_args){.n = (int64_t)r->c.n, .s = &s,
									.g = r->sum[r->g.add]}));
	for (uint32_t p = 0; p < r->pieces; p++)
		as[p] = r->a[p].p, bs[p] = r->b[p].p;
	s = step_of(variant, got);
	for (uint32_t t = LEAST_THREADS; t <= MOST_THREADS; t++) {
		if (!own(r, t, true))
			continue;
		begin_anew(r, 6);
		if (r->pieces > 1)
			MR_CHECK_OK(kernels->gemm_sum(r->kc[t], &(mr_gemm_sum_args){.g = &r->g, .n = r->pieces, .a = as,
										    .b = bs, .c = r->c.p, .s = &s}));
		else
			MR_CHECK_OK(kernels->gemm_step(r->kc[t], &(mr_gemm_step_args){.g = &r->g, .a = as[0],
										      .b = bs[0], .c = r->c.p,
										      .s = &s}));
		compare_sums(r, t);
		for (int i = 0; i < 4; i++)
			compare(r, names[i], t, r->c.n, got[i], want[i], true);
	}
	for (int i = 0; i < 4; i++)
		free(want[i]);
}

/* --- the three products of a layer of @in by @out with @rows rows --------------------------------------------------
 */

static void forward(int64_t rows, int64_t in, int64_t out, bool tb)
{
	rig r;

	rig_open(&r, &(mr_gemm){.m = rows, .n = out, .k = in, .tb = tb}, 1, in);
	if (!tb) {
		check_product(&r, false, false, MR_ACT_NONE);
		check_product(&r, true, false, MR_ACT_NONE);
	}
	check_product(&r, false, true, MR_ACT_NONE);
	check_product(&r, false, true, MR_ACT_RELU);
	check_product(&r, false, turn & 1, MR_ACT_GELU);
	if (turn & 2)
		check_product(&r, false, false, MR_ACT_RELU);
	rig_close(&r);
}

static void input_gradient(int64_t rows, int64_t in, int64_t out)
{
	rig r;

	rig_open(&r, &(mr_gemm){.m = rows, .n = in, .k = out, .tb = true}, 1, mr_gemm_sum_block(out));
	check_product(&r, false, false, MR_ACT_NONE);
	check_product(&r, true, false, MR_ACT_NONE);
	rig_close(&r);
}

/* @n of the step's variants, those whose turn it is. */
static void weight_gradient(int64_t rows, int64_t in, int64_t out, uint32_t pieces, int n)
{
	static int variant;
	rig r;

	rig_open(&r, &(mr_gemm){.m = in, .n = out, .k = rows, .ta = true}, pieces, rows * pieces);
	check_product(&r, false, false, MR_ACT_NONE);
	check_product(&r, true, false, MR_ACT_NONE);
	for (int i = 0; i < n; i++)
		check_step(&r, variant++ % N_STEP_VARIANTS);
	rig_close(&r);
}

static void layer(int64_t rows, int64_t in, int64_t out)
{
	forward(rows, in, out, false);
	input_gradient(rows, in, out);
	weight_gradient(rows, in, out, 1, 5);
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static bool ready(void)
{
	kernels = mr_kernels_find("fused", MR_F32);
	if (!kernels)
		printf("(skipped: %s) ", mr_error_text());
	return kernels != NULL;
}

/* Rows, columns and sums on both sides of the vectors (8, 16), tiles (6, 14 rows; 16, 32 columns) and strips. */
static void small_shapes(void)
{
	static const int64_t m[] = {1, 6, 7, 14, 15, 29, 33}, n[] = {1, 7, 16, 31, 32, 33, 65},
			     depth[] = {1, 15, 16, 33};

	for (int i = 0; ready() && i < 7 * 7 * 4; i++) {
		forward(m[i % 7], depth[i / 49], n[i / 7 % 7], false);
		input_gradient(m[i % 7], n[i / 7 % 7], depth[i / 49]);
		weight_gradient(depth[i / 49], m[i % 7], n[i / 7 % 7], 1, 3);
	}
}

static const int64_t rows_of[] = {1, 2, 15, 31, 32, 33, 64, 127, 128, 129, 191, 192, 193, 255, 256, 257, 513, 1024};
#define N_ROWS (int)(sizeof(rows_of) / sizeof(rows_of[0]))

static void every_number_of_rows(void)
{
	static const int64_t shape[][2] = {{37, 33}, {70, 65}, {129, 47}, {16, 96}, {64, 130}, {1, 65}, {33, 1}};

	for (int i = 0; ready() && i < N_ROWS; i++)
		for (int s = 0; s < 7; s++)
			if (rows_of[i] < 256 || s % 3 == i % 3)
				layer(rows_of[i], shape[s][0], shape[s][1]);
}

/* Beyond 1024 columns, 64 and 256 of a sum, 128 rows of a strip's panels, 32 tiles of 6 rows, kept sums of a panel;
 * many rows for three threads. */
static void large_weights(void)
{
	static const int64_t shape[][3] = {
		{128, 520, 1030}, {128, 512, 1024}, {33, 1090, 300}, {192, 260, 513}, {127, 300, 1090}, {256, 384, 256},
		{512, 260, 256},  {31, 769, 1536},  {5, 2100, 70},   {64, 70, 2100},  {37, 150, 1090},  {200, 1000, 33},
		{1030, 40, 70},   {300, 33, 1090},  {140, 130, 710}, {530, 50, 500},  {800, 48, 290},   {769, 530, 16}};

	for (int i = 0; ready() && i < 18; i++)
		layer(shape[i][0], shape[i][1], shape[i][2]);
}

/* Rows and columns of weights at every distance from the end of a tile, whatever its size, in products large enough for
 * any order. */
static void every_edge_of_weights(void)
{
	static const int64_t ends[] = {0, 1, 15, 16, 17, 31, 33, 47, 48, 63};

	for (int i = 0; ready() && i < 28; i++) {
		int64_t wide = 512 + ends[i % 10];

		weight_gradient(17, 42 + i, wide, 1, 2);
		weight_gradient(47 + i, 42 + i, wide, 1, 3);
		forward(42 + i, 65, wide, false);
		input_gradient(42 + i, wide, 70);
		input_gradient(130, 42 + i, 130 + i);
	}
}

/* Many columns: products of whose rows there are some dozens to hundreds may go through orders of their own. */
static void many_columns(void)
{
	static const int64_t rows[] = {47, 48, 49, 55, 100, 127, 129, 191, 193, 250, 255, 256, 257, 320};
	static const int64_t in[] = {1, 127, 128, 129, 257, 300, 64}, out[] = {256, 257, 319, 640, 1100};

	for (int i = 0; ready() && i < 14; i++) {
		forward(rows[i], in[i % 7], out[i % 5], false);
		forward(rows[i], in[(i + 3) % 7], out[(i + 2) % 5], false);
		input_gradient(rows[i], out[(i + 1) % 5], in[(i + 4) % 7]);
		weight_gradient(rows[i], in[(i + 5) % 7], out[(i + 3) % 5], 1, 2);
	}
}

/* dz W^T of so few rows that the lanes hold rows of W, and of one more: parts of squares, sums in several blocks. */
static void few_rows(void)
{
	static const int64_t n[] = {3, 16, 33, 200}, depth[] = {5, 64, 1537, 3100};

	for (int64_t m = 1; ready() && m < 10; m++)
		for (int i = 0; i < 16; i++)
			if (i < 12 || m % 3 == i % 3)
				input_gradient(m, n[i % 4], depth[i / 4]);
}

/* Every step at sizes with and without edges, in groups and for many rows. */
static void every_step(void)
{
	static const int64_t shape[][3] = {
		{33, 65, 129}, {128, 84, 128}, {257, 97, 257}, {640, 96, 256}, {51, 151, 1090}};

	for (int i = 0; ready() && i < 5; i++)
		weight_gradient(shape[i][0], shape[i][1], shape[i][2], 1, N_STEP_VARIANTS);
}

/* Micro-batches whose gradients are one sum, also where one alone would be of another order. */
static void pieces(void)
{
	static const int64_t rows[] = {1, 7, 31, 32, 33, 64, 128, 129, 200, 257};

	for (int i = 0; ready() && i < 10; i++) {
		weight_gradient(rows[i], 43, 97, 2, 4);
		weight_gradient(rows[i], 130, 65, 3, 4);
		if (i % 3 == 0)
			weight_gradient(rows[i], 256, 512, 2, 2);
		if (rows[i] < 129)
			weight_gradient(rows[i], 99, 1031, 2, 4);
	}
}

/* Weights that lie transposed, as where a head is tied to an embedding. */
static void transposed_weights(void)
{
	for (int i = 0; ready() && i < N_ROWS; i++)
		forward(rows_of[i], 33 + 31 * (i % 3), i % 2 ? 65 : 145, true);
	if (ready())
		forward(128, 256, 1030, true), forward(64, 768, 300, true);
}

void mr_suite_chains(void);

void mr_suite_chains(void)
{
	MR_SUITE("chains");
	MR_TEST(small_shapes);
	MR_TEST(every_number_of_rows);
	MR_TEST(large_weights);
	MR_TEST(every_edge_of_weights);
	MR_TEST(many_columns);
	MR_TEST(few_rows);
	MR_TEST(every_step);
	MR_TEST(pieces);
	MR_TEST(transposed_weights);
}
