/* test_bf16.c - numbers of 16 bits, masters of 16 and 16, and the reference kernels on them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/rng.h"
#include "check.h"
#include "kernels_ops.h"
#include "nn/bf16.h"
#include "nn/kernels.h"

#define N 40000 /* more than a kernel steps at a time */

static const mr_kernels *narrow, *wide;
static mr_kctx *narrow_kc, *wide_kc;

static int set_up(void)
{
	narrow = mr_kernels_find("reference", MR_BF16);
	wide = mr_kernels_find("reference", MR_F32);
	return !narrow || !wide || narrow->ctx_create(narrow, 1, &narrow_kc) != MR_OK ||
	       wide->ctx_create(wide, 1, &wide_kc) != MR_OK;
}

static int tear_down(void)
{
	narrow->ctx_destroy(narrow_kc);
	wide->ctx_destroy(wide_kc);
	return 0;
}

static void rounds(void)
{
	static const struct {
		float from, to;
	} cases[] = {
		{1.00390625f, 1.0f},          /* half way between 1 and 1 + 2^-7: to the even one */
		{1.01171875f, 1.015625f},     /* half way above 1 + 2^-7 */
		{1.00390637f, 1.0078125f},    /* just above the half */
		{-1.00390625f, -1.0f},
		{FLT_MAX, INFINITY},
		{-INFINITY, -INFINITY},
		{FLT_MIN, FLT_MIN},
		{FLT_MIN / 2, 0},             /* denormal */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(mr_bf16_widen(mr_bf16_round(cases[i].from)), cases[i].to);
	CU_ASSERT_EQUAL(mr_bf16_round(-FLT_MIN / 2), 0x8000);
	CU_ASSERT(isnan(mr_bf16_widen(mr_bf16_round(mr_f32_of_bits(0x7f800001)))));
	CU_ASSERT(isnan(mr_bf16_widen(mr_bf16_round(mr_f32_of_bits(0xffffffff)))));
	for (uint32_t x = 0; x < 1 << 16; x++)
		if ((x & 0x7fff) <= 0x7f80 && ((x & 0x7f80) || !(x & 0x7f)))
			CU_ASSERT_EQUAL_FATAL(mr_bf16_round(mr_bf16_widen((uint16_t)x)), x);
}

/* Is the weight of @bits the nearest, and does it come back? */
static void check_master(uint32_t bits)
{
	int16_t rest;
	float x = mr_f32_of_bits(bits);
	uint16_t w = mr_master_split(x, &rest);
	double off = fabs((double)mr_bf16_widen(w) - (double)x);

	if (isnan(x)) {
		CU_ASSERT_FATAL(isnan(mr_bf16_widen(w)) && isnan(mr_master_join(w, rest)));
		CU_ASSERT_EQUAL_FATAL(w >> 15, bits >> 31);
		return;
	}
	CU_ASSERT_EQUAL_FATAL(mr_bits_of_f32(mr_master_join(w, rest)), bits);
	if ((w & 0x7f80) == 0x7f80 || (w & 0x7fff) == 0)
		return;
	CU_ASSERT_FATAL(off <= fabs((double)mr_bf16_widen((uint16_t)(w + 1)) - (double)x));
	CU_ASSERT_FATAL(off <= fabs((double)mr_bf16_widen((uint16_t)(w - 1)) - (double)x));
}

static void masters_come_back(void)
{
	static const uint32_t edges[] = {0, 1, 0x7fff, 0x8000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fffffff};
	uint32_t x[4];

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		check_master(edges[i]);
		check_master(edges[i] | 0x80000000);
	}
	for (uint64_t i = 0; i < 50000; i++) {
		mr_rng_block(1, MR_RNG_TEST, i, 0, 0, x);
		for (int k = 0; k < 4; k++)
			check_master(x[k]);
	}
}

/* --- kernels --- */

static float number(uint64_t what, uint64_t i)
{
	return (float)mr_rng_normal(7, MR_RNG_TEST, what, 1, i);
}

static void fill(uint64_t what, int64_t n, uint16_t *to, float *wider)
{
	for (int64_t i = 0; i < n; i++) {
		to[i] = mr_bf16_round(number(what, (uint64_t)i));
		wider[i] = mr_bf16_widen(to[i]);
	}
}

#if defined(__aarch64__)
static uint32_t control(void)
{
	uint64_t flags;

	__asm__ volatile("mrs %0, fpcr" : "=r"(flags));
	return (uint32_t)flags;
}
#endif

static void set_thread_flags(uint32_t flags)
{
#if defined(__x86_64__)
	_mm_setcsr(flags);
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)flags));
#endif
	(void)flags;
}

/* The thread's flags for denormals as they were, and from now on with them flushed or not. */
static uint32_t thread_flags(bool flush)
{
	uint32_t before = 0;

#if defined(__x86_64__)
	before = _mm_getcsr();
	_mm_setcsr(flush ? before | 0x8040 : before & ~0x8040u);
#elif defined(__aarch64__)
	before = control();
	set_thread_flags(flush ? before | 1u << 24 : before & ~(1u << 24));
#endif
	(void)flush;
	return before;
}

/* A step of masters is the step of an f32 tensor, to the bit, out of place as in place. */
static void steps_masters(void)
{
	static float w[N], g[N], m[2][N], v[2][N];
	static uint16_t low[2][N];
	static int16_t rest[N];

	for (int kind = 0; kind < MR_N_STEPS; kind++) {
		mr_step s = {.kind = (mr_step_kind)kind, .nesterov = kind & 1, .gscale = 0.5, .lr = 1e-4, .decay = 1e-5,
			     .mu = 0.9, .b1 = 0.9, .b2 = 0.99, .eps = 1e-8, .c1 = 0.3, .c2 = 0.2, .cg = 0.4, .cm = 0.6};

		for (uint64_t i = 0; i < N; i++) {
			w[i] = number(1, i);
			g[i] = number(2, i);
			m[0][i] = m[1][i] = number(3, i);
			v[0][i] = v[1][i] = fabsf(number(4, i));
			low[0][i] = mr_master_split(w[i], &rest[i]);
		}
		for (int t = 0; t < 3; t++) { /* to the other buffer, in place, and back */
			s.src = s.dst = w;
			s.m = m[0];
			s.v = v[0];
			s.src_rest = s.dst_rest = NULL;
			MR_CHECK_OK(wide->step(wide_kc, &(mr_step_args){.n = N, .s = &s, .g = g}));
			s.src = low[t > 0];
			s.dst = low[t < 2];
			s.m = m[1];
			s.v = v[1];
			s.src_rest = s.dst_rest = rest;
			MR_CHECK_OK(narrow->step(narrow_kc, &(mr_step_args){.n = N, .s = &s, .g = g}));
		}
		for (int64_t i = 0; i < N; i++)
			CU_ASSERT_EQUAL_FATAL(mr_bits_of_f32(mr_master_join(low[0][i], rest[i])), mr_bits_of_f32(w[i]));
		CU_ASSERT(!memcmp(m[0], m[1], sizeof(m[0])) && !memcmp(v[0], v[1], sizeof(v[0])));
	}
}

/* Copies of weights brought together: what f32 makes of the masters. */
static void averages_masters(void)
{
	enum { COPIES = 3, ROW = 9000 };
	static float x[COPIES][ROW], reference[ROW], velocity[2][ROW], mean[2][ROW];
	static uint16_t low[COPIES][ROW], low_reference[ROW];
	static int16_t rest[COPIES][ROW], rest_reference[ROW];
	const void *src[2][COPIES];
	void *dst[2][COPIES];
	int16_t *rests[COPIES];

	for (int kind = MR_AVERAGING_MEAN; kind <= MR_AVERAGING_PULL; kind++) {
		mr_averaging a = {.kind = (mr_averaging_kind)kind,
				  .weights = true,
				  .n = COPIES,
				  .alpha = 0.3,
				  .lr = 0.7,
				  .mu = 0.9};

		for (uint64_t i = 0; i < ROW; i++) {
			for (int r = 0; r < COPIES; r++) {
				x[r][i] = number((uint64_t)r, i);
				low[r][i] = mr_master_split(x[r][i], &rest[r][i]);
			}
			reference[i] = number(5, i);
			low_reference[i] = mr_master_split(reference[i], &rest_reference[i]);
			velocity[0][i] = velocity[1][i] = number(6, i);
			mean[0][i] = mean[1][i] = number(7, i);
		}
		for (int r = 0; r < COPIES; r++) {
			src[0][r] = dst[0][r] = x[r];
			src[1][r] = dst[1][r] = low[r];
			rests[r] = rest[r];
		}
		a.src = src[0];
		a.dst = dst[0];
		a.reference = reference;
		a.velocity = velocity[0];
		a.mean = mean[0];
		MR_CHECK_OK(wide->mix(wide_kc, &(mr_mix_args){.n = ROW, .m = &a}));
		a.src = src[1];
		a.dst = dst[1];
		a.reference = low_reference;
		a.velocity = velocity[1];
		a.mean = mean[1];
		a.rest = rests;
		a.reference_rest = rest_reference;
		MR_CHECK_OK(narrow->mix(narrow_kc, &(mr_mix_args){.n = ROW, .m = &a}));
		for (int64_t i = 0; i < ROW; i++) {
			for (int r = 0; r < COPIES; r++)
				CU_ASSERT_EQUAL_FATAL(mr_master_join(low[r][i], rest[r][i]), x[r][i]);
			CU_ASSERT_EQUAL_FATAL(mr_master_join(low_reference[i], rest_reference[i]), reference[i]);
		}
		CU_ASSERT(!memcmp(velocity[0], velocity[1], sizeof(mean[0])) &&
			  !memcmp(mean[0], mean[1], sizeof(mean[0])));
	}
}

/* A product is f32's on the widened operands, rounded once; an addend rounds by itself; a gradient is not rounded. */
static void products_round_once(void)
{
	enum { M = 7, K = 33, COLS = 9 };
	uint16_t a[M * K], b[K * COLS], bias[COLS], add[M * COLS], c[M * COLS], aux[M * COLS];
	float fa[M * K], fb[K * COLS], fbias[COLS], fadd[M * COLS], fc[M * COLS], faux[M * COLS], dw[K * COLS],
		want[K * COLS];
	mr_gemm g = {.m = M, .n = COLS, .k = K, .bias = true, .act = MR_ACT_GELU};

	fill(1, M * K, a, fa);
	fill(2, K * COLS, b, fb);
	fill(3, COLS, bias, fbias);
	fill(4, M * COLS, add, fadd);
	MR_CHECK_OK(wide->gemm(wide_kc, &(mr_gemm_args){.g = &g, .a = fa, .b = fb, .bias = fbias, .c = fc,
							.aux = faux}));
	MR_CHECK_OK(narrow->gemm(narrow_kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .bias = bias, .c = c,
							    .aux = aux}));
	for (int i = 0; i < M * COLS; i++)
		CU_ASSERT(c[i] == mr_bf16_round(fc[i]) && aux[i] == mr_bf16_round(faux[i]));
	g.act = MR_ACT_NONE;
	MR_CHECK_OK(wide->gemm(wide_kc, &(mr_gemm_args){.g = &g, .a = fa, .b = fb, .bias = fbias, .c = fc}));
	g.addend = add;
	MR_CHECK_OK(narrow->gemm(narrow_kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .bias = bias, .c = c}));
	for (int i = 0; i < M * COLS; i++)
		CU_ASSERT_EQUAL(c[i], mr_bf16_round(mr_bf16_widen(mr_bf16_round(fc[i])) + fadd[i]));
	g = (mr_gemm){.of = MR_GEMM_GRADIENTS, .m = K, .n = COLS, .k = M, .ta = true};
	MR_CHECK_OK(wide->gemm(wide_kc, &(mr_gemm_args){.g = &g, .a = fa, .b = fadd, .c = want}));
	MR_CHECK_OK(narrow->gemm(narrow_kc, &(mr_gemm_args){.g = &g, .a = a, .b = add, .c = dw}));
	CU_ASSERT(!memcmp(dw, want, sizeof(dw)));
}

/* What is no number stays none through products, sums and steps. */
static void keeps_nan(void)
{
	uint16_t a[4] = {0x3f80, 0x7fc0, 0x7f80, 0}, b[4] = {0x3f80, 0, 0, 0x3f80}, c[4];
	mr_gemm g = {.m = 2, .n = 2, .k = 2};
	int16_t rest[4] = {0};
	float grad[4] = {0, NAN, INFINITY, 1};
	mr_step s = {.kind = MR_STEP_SGD, .src = b, .dst = c, .src_rest = rest, .dst_rest = rest, .gscale = 1, .lr = 1};

	MR_CHECK_OK(narrow->gemm(narrow_kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = c}));
	CU_ASSERT(isnan(mr_bf16_widen(c[0])) && isnan(mr_bf16_widen(c[1])));
	CU_ASSERT_EQUAL(c[2], 0x7f80);
	MR_CHECK_OK(narrow->sum(narrow_kc, &(mr_sum_args){.n = 4, .a = a, .b = b, .y = c}));
	CU_ASSERT(isnan(mr_bf16_widen(c[1])) && c[2] == 0x7f80);
	MR_CHECK_OK(narrow->step(narrow_kc, &(mr_step_args){.n = 4, .s = &s, .g = grad}));
	CU_ASSERT(isnan(mr_bf16_widen(c[1])) && isnan(mr_master_join(c[1], rest[1])));
	CU_ASSERT_EQUAL(mr_master_join(c[2], rest[2]), -INFINITY);
	CU_ASSERT_EQUAL(mr_master_join(c[3], rest[3]), 0);
}

/* Of numbers whose sums and products are denormals, or that are denormals, comes 0 with its sign, in a thread that
 * flushes as a worker's does; what is a denormal by rounding is 0 in any thread. A master keeps its bits. */
static void check_denormals(const mr_kernels *k, bool flush)
{
	enum { N_SUMS = 4 };
	uint16_t a[N_SUMS] = {0x0080, 0x8080, 0x0040, 0x8040}, b[N_SUMS] = {0x80c0, 0x00c0, 0, 0}, y[N_SUMS];
	uint16_t small[2] = {0x0080, 0x0040}, by[2] = {0xbf00, 0x7f00}, c;
	uint32_t before = thread_flags(flush);
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	MR_CHECK_OK(k->sum(kc, &(mr_sum_args){.n = N_SUMS, .a = a, .b = b, .y = y}));
	for (int i = 0; i < N_SUMS; i++)
		CU_ASSERT_EQUAL(y[i] & 0x7fff, 0);
	CU_ASSERT(y[0] == 0x8000 && y[1] == 0);
	for (int i = 0; i < (flush ? 2 : 1); i++) { /* half of the smallest; a denormal times 2^127 */
		mr_gemm g = {.m = 1, .n = 1, .k = 1};

		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = &small[i], .b = &by[i], .c = &c}));
		CU_ASSERT_EQUAL(c & 0x7fff, 0);
	}
	k->ctx_destroy(kc);
	set_thread_flags(before);
}

static void denormals_become_zero(void)
{
	const mr_kernels *all[BF16_TABLES];
	uint32_t n = bf16_tables(all);
	int16_t rest;
	uint16_t w = mr_master_split(mr_f32_of_bits(0x00123456), &rest);

	for (uint32_t i = 0; i < n; i++)
		for (int flush = 0; flush < 2; flush++)
			check_denormals(all[i], flush);
	CU_ASSERT_EQUAL(mr_bits_of_f32(mr_master_join(w, rest)), 0x00123456);
	CU_ASSERT_EQUAL(mr_bf16_round_by(mr_f32_of_bits(0x00123456), 0), 0x0012);
}

/* --- another backend: the same to a unit in the last place, which another order of sums may turn --- */

#define UNIT (1.0 / 128)

typedef struct side {
	const mr_kernels *k;
	mr_kctx *kc;
	uint16_t y[6][20000];
	float g[4][20000];
	double loss;
} side;

/* A gradient through GELU, for which backends keep different things: who keeps the argument z loses up to |z| 2^-9 of
 * it, and z GELU''(z) dy 2^-9 is below 0.004 for the numbers here. */
#define THROUGH_GELU 3
/* Probabilities and gradients of scores, which some round before they multiply them: by 2^-9 of numbers up to 2. */
#define ATTENTION 2
#define ATTENTION_BACK 3

static bool near(double x, double want, double size)
{
	return fabs(x - want) <= UNIT * fabs(want) + 1e-3 * size;
}

/* @loose: the results, a bit each, of which this is said above. */
static void sides_agree(const side *got, const side *want, const char *what, int64_t n, int64_t n_g, uint32_t loose)
{
	int64_t off = 0;

	for (int v = 0; v < 6; v++)
		for (int64_t i = 0; i < n; i++)
			off += !near((double)mr_bf16_widen(got->y[v][i]), (double)mr_bf16_widen(want->y[v][i]),
				     loose >> v & 1 ? 4 : 1);
	for (int v = 0; v < 4; v++)
		for (int64_t i = 0; i < n_g; i++)
			off += !near((double)got->g[v][i], (double)want->g[v][i], 1);
	if (off)
		fprintf(stderr, "\n%s: %lld numbers are off\n", what, (long long)off);
	CU_ASSERT_EQUAL(off, 0);
	CU_ASSERT(near(got->loss, want->loss, 1));
}

/* One product of each kind that layers ask for. */
static void products(side *s, int64_t m, int64_t n, int64_t k)
{
	static uint16_t x[20000], w[20000], dy[20000], bias[200], aux[20000];
	static float wide_[20000];
	const mr_kernels *t = s->k;
	mr_gemm f = {.m = m, .n = n, .k = k, .bias = true};
	mr_gemm i = {.m = m, .n = k, .k = n, .tb = true};
	mr_gemm d = {.of = MR_GEMM_GRADIENTS, .m = k, .n = n, .k = m, .ta = true, .colsum_b = s->g[1]};

	fill(11, m * k, x, wide_);
	fill(12, k * n, w, wide_);
	fill(13, m * n, dy, wide_);
	fill(14, n, bias, wide_);
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &f, .a = x, .b = w, .bias = bias, .c = s->y[0]}));
	f.act = MR_ACT_RELU;
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &f, .a = x, .b = w, .bias = bias, .c = s->y[1]}));
	f.act = MR_ACT_GELU;
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &f, .a = x, .b = w, .bias = bias, .c = s->y[2], .aux = aux}));
	MR_CHECK_OK(t->act_backward(s->kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = m * n, .aux = aux, .dy = dy,
								   .dz = s->y[THROUGH_GELU]}));
	f.act = MR_ACT_NONE;
	f.addend = dy;
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &f, .a = x, .b = w, .bias = bias, .c = s->y[4]}));
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &i, .a = dy, .b = w, .c = s->y[5]}));
	i.add = true;
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &i, .a = dy, .b = w, .c = s->y[5]}));
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &d, .a = x, .b = dy, .c = s->g[0]}));
	d.add = true;
	MR_CHECK_OK(t->gemm(s->kc, &(mr_gemm_args){.g = &d, .a = x, .b = dy, .c = s->g[0]}));
}

static void others(side *s)
{
	enum { ROWS = 24, COLS = 48 };
	static uint16_t x[ROWS * COLS], dy[ROWS * COLS], gain[COLS], shift[COLS];
	static float wide_[ROWS * COLS], saved[20000], scratch[20000];
	static int32_t token[ROWS];
	mr_attn a = {.samples = 3, .t = 8, .heads = 2, .dim = 8};

	fill(21, ROWS * COLS, x, wide_);
	fill(22, ROWS * COLS, dy, wide_);
	fill(23, COLS, gain, wide_);
	fill(24, COLS, shift, wide_);
	for (int r = 0; r < ROWS; r++)
		token[r] = r * 7 % ROWS;
	MR_CHECK_OK(s->k->norm(s->kc, &(mr_norm_args){.rows = ROWS, .cols = COLS, .eps = 1e-5, .x = x, .gain = gain,
						      .shift = shift, .y = s->y[0], .mean = s->g[0], .rstd = s->g[1]}));
	MR_CHECK_OK(s->k->norm_backward(s->kc, &(mr_norm_backward_args){.rows = ROWS, .cols = COLS, .x = x,
									.gain = gain, .mean = s->g[0], .rstd = s->g[1],
									.dy = dy, .dx = s->y[1], .dgain = s->g[2],
									.dshift = s->g[3]}));
	MR_CHECK_OK(s->k->attn(s->kc, &(mr_attn_args){.a = &a, .qkv = x, .y = s->y[ATTENTION], .saved = saved,
						      .scratch = scratch}));
	MR_CHECK_OK(s->k->attn_backward(s->kc, &(mr_attn_backward_args){.a = &a, .qkv = x, .saved = saved, .dy = dy,
									.dqkv = s->y[ATTENTION_BACK],
									.scratch = scratch}));
	memcpy(s->y[4], x, sizeof(x));
	MR_CHECK_OK(s->k->xent(s->kc, &(mr_xent_args){.rows = ROWS, .classes = COLS, .logits = s->y[4],
						      .targets = token, .loss = &s->loss}));
	MR_CHECK_OK(s->k->embed(s->kc, &(mr_embed_args){.rows = ROWS, .t = 8, .cols = COLS, .vocab = ROWS,
							.tokens = token, .wte = x, .wpe = dy, .y = s->y[5]}));
}

static void agrees(const char *backend)
{
	static const int64_t shapes[][3] = {{1, 8, 8}, {33, 40, 50}, {64, 96, 128}, {7, 130, 100}};
	static side got, want;

	got.k = mr_kernels_find(backend, MR_BF16);
	if (!got.k)
		return; /* no oneDNN, or a CPU without the instructions */
	for (uint32_t threads = 1; threads <= 2; threads++) {
		MR_CHECK_OK(got.k->ctx_create(got.k, threads, &got.kc));
		want.k = narrow;
		want.kc = narrow_kc;
		for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
			const int64_t *d = shapes[i];

			products(&got, d[0], d[1], d[2]);
			products(&want, d[0], d[1], d[2]);
			sides_agree(&got, &want, "products", d[0] * d[1], d[1], 1u << THROUGH_GELU);
		}
		others(&got);
		others(&want);
		sides_agree(&got, &want, "norm, attention, loss, embedding", 24 * 16, 48,
			    1u << ATTENTION | 1u << ATTENTION_BACK);
		got.k->ctx_destroy(got.kc);
	}
}

static void onednn_agrees(void)
{
	agrees("onednn");
}

static void fused_agrees(void)
{
	agrees("fused");
}

void mr_suite_bf16(void)
{
	CU_pSuite mr_suite_ = CU_add_suite("bf16", set_up, tear_down);

	MR_TEST(rounds);
	MR_TEST(masters_come_back);
	MR_TEST(steps_masters);
	MR_TEST(averages_masters);
	MR_TEST(products_round_once);
	MR_TEST(keeps_nan);
	MR_TEST(denormals_become_zero);
	MR_TEST(onednn_agrees);
	MR_TEST(fused_agrees);
}
