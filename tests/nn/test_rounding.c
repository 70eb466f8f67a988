/* test_rounding.c - stochastic rounding, and the steps, sums and products of bf16_pure, which round what they make. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "nn/kernels.h"

#define N 40000 /* more than a kernel steps at a time */

static const mr_kernels *pure, *wide;
static mr_kctx *pure_kc, *wide_kc;
static const mr_kernels *fused, *fused_wide; /* NULL: none on this machine */
static mr_kctx *fused_kc, *fused_wide_kc;

static int set_up(void)
{
	pure = mr_kernels_of("reference", MR_AS_bf16_pure);
	wide = mr_kernels_find("reference", MR_F32);
	fused = mr_kernels_of("fused", MR_AS_bf16_pure);
	fused_wide = mr_kernels_find("fused", MR_F32);
	if (fused && (!fused_wide || fused->ctx_create(fused, 3, &fused_kc) != MR_OK ||
		      fused_wide->ctx_create(fused_wide, 1, &fused_wide_kc) != MR_OK))
		return 1;
	return !pure || !wide || pure->ctx_create(pure, 1, &pure_kc) != MR_OK ||
	       wide->ctx_create(wide, 1, &wide_kc) != MR_OK;
}

static int tear_down(void)
{
	pure->ctx_destroy(pure_kc);
	wide->ctx_destroy(wide_kc);
	if (fused)
		fused->ctx_destroy(fused_kc), fused_wide->ctx_destroy(fused_wide_kc);
	return 0;
}

/* --- one number --- */

/* Of all 2^16 random numbers as many take @x up as it has gone of the way between its neighbours: no bias at all. */
static void check_number(float x)
{
	uint32_t bits = mr_bits_of_f32(x), up = 0, down = 0;
	uint16_t low = (uint16_t)(bits >> 16);

	for (uint32_t random = 0; random < 1 << 16; random++) {
		uint16_t y = mr_bf16_round_by(x, (uint16_t)random);

		down += y == low;
		up += y == (uint16_t)(low + 1);
	}
	CU_ASSERT_EQUAL(up, bits & 0xffff);
	CU_ASSERT_EQUAL(down, (1 << 16) - (bits & 0xffff));
}

static void no_bias(void)
{
	static const float numbers[] = {1,          1.0001f,     -1.00390625f, 3.14159f, -1e-30f,
					1.2345e30f, FLT_MIN / 3, FLT_MAX,      0};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		check_number(numbers[i]);
	for (uint32_t random = 0; random < 1 << 16; random += 255) {
		CU_ASSERT_EQUAL(mr_bf16_round_by(INFINITY, (uint16_t)random), 0x7f80);
		CU_ASSERT_EQUAL(mr_bf16_round_by(-INFINITY, (uint16_t)random), 0xff80);
		CU_ASSERT(isnan(mr_bf16_widen(mr_bf16_round_by(mr_f32_of_bits(0x7f800001), (uint16_t)random))));
		CU_ASSERT(isnan(mr_bf16_widen(mr_bf16_round_by(mr_f32_of_bits(0xffffffff), (uint16_t)random))));
	}
}

/* An element's word is two numbers of the generator, wherever a range begins. */
static void words_follow_from_the_element(void)
{
	enum { MOST = 9 };
	mr_rounding r = {.seed = 5, .step = 77, .first = 0xffffffffu, .param = 3}; /* carries into the high word */
	uint64_t room[MR_ROUNDING_ROOM(MOST)];

	for (uint64_t from = 0; from < 5; from++)
		for (int64_t n = 1; n <= MOST; n++) {
			const uint64_t *word = mr_rounding_words(&r, from, n, room);

			for (int64_t i = 0; i < n; i++) {
				uint64_t at = 2 * (r.first + from + (uint64_t)i);

				uint64_t low = mr_rng_u32(5, MR_RNG_ROUND, 77, 3, at);
				uint64_t high = mr_rng_u32(5, MR_RNG_ROUND, 77, 3, at + 1);

				CU_ASSERT_EQUAL(word[i], low | high << 32);
			}
		}
}

/* --- steps --- */

static float number(uint64_t what, uint64_t i)
{
	return (float)mr_rng_normal(7, MR_RNG_TEST, what, 1, i);
}

typedef struct tensors {
	uint16_t w[2][N], m[N], v[N], g[N];
} tensors;

static void fill(tensors *t)
{
	for (uint64_t i = 0; i < N; i++) {
		t->w[0][i] = mr_bf16_round(number(1, i));
		t->w[1][i] = 0;
		t->g[i] = mr_bf16_round(number(2, i));
		t->m[i] = mr_bf16_round(number(3, i));
		t->v[i] = mr_bf16_round(fabsf(number(4, i)));
	}
}

static mr_step step_of(int kind, tensors *t, uint64_t step)
{
	return (mr_step){.kind = (mr_step_kind)kind, .nesterov = kind & 1, .src = t->w[0], .dst = t->w[1], .m = t->m,
			 .v = t->v, .gscale = 0.5, .lr = 1e-3, .decay = 1e-4, .mu = 0.9, .b1 = 0.9, .b2 = 0.99,
			 .eps = 1e-8, .c1 = 0.3, .c2 = 0.2, .cg = 0.4, .cm = 0.6,
			 .rounding = {.seed = 9, .step = step, .first = 0x200000000 - 20001, .param = 4}};
}

/* A step is that of f32 on the widened numbers, rounded by the words of its elements, or without a step's number to the
 * nearest. */
static void check_rounded(const mr_kernels *k, mr_kctx *kc, const mr_kernels *f32, mr_kctx *f32_kc, int kind,
			  uint64_t step)
{
	static tensors t, before;
	static float w[N], m[N], v[N], g[N];
	mr_step s = step_of(kind, &t, step), in_f32 = s;
	uint64_t room[MR_ROUNDING_ROOM(1)];
	int64_t off = 0;

	fill(&t);
	before = t;
	for (int64_t i = 0; i < N; i++) {
		w[i] = mr_bf16_widen(t.w[0][i]);
		m[i] = mr_bf16_widen(t.m[i]);
		v[i] = mr_bf16_widen(t.v[i]);
		g[i] = mr_bf16_widen(t.g[i]);
	}
	in_f32.src = in_f32.dst = w;
	in_f32.m = m;
	in_f32.v = v;
	MR_CHECK_OK(f32->step(f32_kc, &(mr_step_args){.n = N, .s = &in_f32, .g = g}));
	MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = N, .s = &s, .g = t.g}));
	for (int64_t i = 0; i < N; i++) {
		uint64_t word = *mr_rounding_words(&s.rounding, (uint64_t)i, 1, room);

		off += t.w[1][i] != (step ? mr_bf16_round_by(w[i], (uint16_t)word) : mr_bf16_round(w[i]));
		off += t.m[i] != (step ? mr_bf16_round_by(m[i], (uint16_t)(word >> 16)) : mr_bf16_round(m[i]));
		off += t.v[i] != (step ? mr_bf16_round_by(v[i], (uint16_t)(word >> 32)) : mr_bf16_round(v[i]));
	}
	CU_ASSERT_EQUAL(off, 0);
	CU_ASSERT(!memcmp(t.w[0], before.w[0], sizeof(t.w[0])) && !memcmp(t.g, before.g, sizeof(t.g)));
}

static void steps_round(void)
{
	for (int kind = 0; kind < MR_N_STEPS; kind++)
		for (uint64_t step = 0; step < 24; step += 12) {
			check_rounded(pure, pure_kc, wide, wide_kc, kind, step);
			if (fused)
				check_rounded(fused, fused_kc, fused_wide, fused_wide_kc, kind, step);
		}
}

/* However a tensor is cut, and in place: the same bits. Another seed, step, parameter or place: others. */
static void check_cuts(const mr_kernels *k, mr_kctx *kc)
{
	static tensors whole, parts;
	mr_step s = step_of(MR_STEP_ADAM, &whole, 3);
	static const int64_t cut[] = {0, 1, 70, 16384, 16385, 30000, N};

	fill(&whole);
	fill(&parts);
	MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = N, .s = &s, .g = whole.g}));
	for (size_t c = 0; c + 1 < sizeof(cut) / sizeof(cut[0]); c++) {
		mr_step part = step_of(MR_STEP_ADAM, &parts, 3);
		int64_t i = cut[c];

		part.rounding = mr_rounding_shifted(part.rounding, i);
		part.src = part.dst = parts.w[0] + i;
		part.m = parts.m + i;
		part.v = parts.v + i;
		MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = cut[c + 1] - i, .s = &part, .g = parts.g + i}));
	}
	CU_ASSERT(!memcmp(whole.w[1], parts.w[0], sizeof(parts.w[0])));
	CU_ASSERT(!memcmp(whole.m, parts.m, sizeof(parts.m)) && !memcmp(whole.v, parts.v, sizeof(parts.v)));
	for (int other = 0; other < 4; other++) {
		mr_step t = step_of(MR_STEP_ADAM, &parts, 3);

		fill(&parts);
		t.rounding.seed += other == 0;
		t.rounding.step += other == 1;
		t.rounding.param += other == 2;
		t.rounding.first += other == 3;
		MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = N, .s = &t, .g = parts.g}));
		CU_ASSERT(memcmp(whole.w[1], parts.w[1], sizeof(parts.w[1])));
	}
}

static void cuts_do_not_matter(void)
{
	check_cuts(pure, pure_kc);
	if (fused)
		check_cuts(fused, fused_kc);
}

static double mean(const uint16_t *x, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)mr_bf16_widen(x[i]);
	return sum / (double)n;
}

/*
 * 512 steps of 2^-12, each a sixteenth of the unit that bf16 has below 1, 2^-8: by nearest rounding nothing moves,
 * stochastically the mean goes to 1 - 512 / 4096 = 0.875. An element's variance is 512 d (1 - d) units^2 with
 * d = 1 / 16, so a mean over 1,000 is off by 5.5 / sqrt(1000) units of 2^-8, 6.8e-4; five times that is the bound.
 */
static void small_steps_add_up(void)
{
	enum { SOME = 1000, STEPS = 512 };
	static uint16_t w[2][SOME], g[SOME];

	for (int i = 0; i < SOME; i++) {
		w[0][i] = w[1][i] = 0x3f80;
		g[i] = 0x3f80;
	}
	for (uint64_t t = 1; t <= STEPS; t++)
		for (int nearest = 0; nearest < 2; nearest++) {
			mr_step s = {.kind = MR_STEP_SGD, .src = w[nearest], .dst = w[nearest], .gscale = 1,
				     .lr = 1.0 / 4096, .rounding = {.seed = 1, .step = nearest ? 0 : t}};

			MR_CHECK_OK(pure->step(pure_kc, &(mr_step_args){.n = SOME, .s = &s, .g = g}));
		}
	CU_ASSERT_EQUAL(mean(w[1], SOME), 1);
	CU_ASSERT_DOUBLE_EQUAL(mean(w[0], SOME), 0.875, 3.4e-3);
}

/* Adam's mean of squares with a memory of 0.999, when gradients are 0 for 500 steps: it is to fall to 0.999^500 = 0.606
 * of what it was. By nearest rounding it stays. Its scatter is 4 % an element (nn/rounding.h), 0.13 % of 1,000; five
 * times that is the bound. */
static void mean_of_squares_falls(void)
{
	enum { SOME = 1000, STEPS = 500 };
	static uint16_t w[SOME], m[SOME], v[2][SOME], g[SOME];

	for (int i = 0; i < SOME; i++)
		v[0][i] = v[1][i] = 0x3f80;
	for (uint64_t t = 1; t <= STEPS; t++)
		for (int nearest = 0; nearest < 2; nearest++) {
			mr_step s = {.kind = MR_STEP_ADAM, .src = w, .dst = w, .m = m, .v = v[nearest], .gscale = 1,
				     .b1 = 0.9, .b2 = 0.999, .c1 = 1, .c2 = 1, .eps = 1e-8,
				     .rounding = {.seed = 1, .step = nearest ? 0 : t}};

			MR_CHECK_OK(pure->step(pure_kc, &(mr_step_args){.n = SOME, .s = &s, .g = g}));
		}
	CU_ASSERT_EQUAL(mean(v[1], SOME), 1);
	CU_ASSERT_DOUBLE_EQUAL(mean(v[0], SOME), pow(0.999, STEPS), 5 * 0.0013);
}

/* --- gradients --- */

static void draw(uint64_t what, int64_t n, uint16_t *to, float *wider)
{
	for (int64_t i = 0; i < n; i++) {
		to[i] = mr_bf16_round(number(what, (uint64_t)i));
		wider[i] = mr_bf16_widen(to[i]);
	}
}

static int64_t unlike(const uint16_t *got, const float *want, int64_t n)
{
	int64_t off = 0;

	for (int64_t i = 0; i < n; i++)
		off += got[i] != mr_bf16_round(want[i]);
	return off;
}

/* Sums and products of gradients are f32's, rounded once; what they add to is widened. */
static void gradients_round_once(void)
{
	enum { M = 13, K = 40, COLS = 9 };
	uint16_t a[M * K], b[K * COLS], c[M * COLS], sums[2][COLS + M];
	float fa[M * K], fb[K * COLS], fc[M * COLS], fsums[2][COLS + M];

	draw(1, K * M, a, fa);
	draw(2, K * COLS, b, fb);
	draw(3, M * COLS, c, fc);
	for (int add = 0; add < 2; add++) {
		mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = M, .n = COLS, .k = K, .ta = true, .add = add};
		mr_gemm f = g;

		draw(4, COLS + M, sums[0], fsums[0]);
		draw(4, COLS + M, sums[1], fsums[1]);
		g.colsum_a = sums[0] + COLS;
		f.colsum_a = fsums[0] + COLS;
		g.colsum_b = sums[0];
		f.colsum_b = fsums[0];
		MR_CHECK_OK(pure->gemm(pure_kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = c}));
		MR_CHECK_OK(wide->gemm(wide_kc, &(mr_gemm_args){.g = &f, .a = fa, .b = fb, .c = fc}));
		MR_CHECK_OK(pure->colsum(pure_kc, &(mr_colsum_args){.rows = K, .cols = COLS, .x = b, .y = sums[1],
								    .add = add}));
		MR_CHECK_OK(wide->colsum(wide_kc, &(mr_colsum_args){.rows = K, .cols = COLS, .x = fb, .y = fsums[1],
								    .add = add}));
		CU_ASSERT_EQUAL(unlike(c, fc, M * COLS), 0);
		CU_ASSERT_EQUAL(unlike(sums[0], fsums[0], COLS + M), 0);
		CU_ASSERT_EQUAL(unlike(sums[1], fsums[1], COLS), 0);
		for (int i = 0; i < M * COLS; i++)
			fc[i] = mr_bf16_widen(c[i]);
	}
}

/* Rows of a table are summed in f32 however often a token occurs; what does not occur is 0, or stays. */
static void tables_round_once(void)
{
	double squares = 0, fsquares = 0;
	enum { ROWS = 24, T = 8, COLS = 5, VOCAB = 11 };
	int32_t token[ROWS];
	uint16_t dy[ROWS * COLS], dwte[VOCAB * COLS], dwpe[T * COLS];
	float fdy[ROWS * COLS], fdwte[VOCAB * COLS], fdwpe[T * COLS];

	for (int r = 0; r < ROWS; r++)
		token[r] = r * r % 7 + (r % 5 == 0);
	draw(1, ROWS * COLS, dy, fdy);
	for (int add = 0; add < 2; add++) {
		draw(2, VOCAB * COLS, dwte, fdwte);
		draw(3, T * COLS, dwpe, fdwpe);
		MR_CHECK_OK(pure->embed_backward(pure_kc, &(mr_embed_backward_args){.rows = ROWS, .t = T, .cols = COLS,
										    .vocab = VOCAB, .tokens = token,
										    .dy = dy, .dwte = dwte,
										    .dwpe = dwpe, .add = add}));
		MR_CHECK_OK(wide->embed_backward(wide_kc, &(mr_embed_backward_args){.rows = ROWS, .t = T, .cols = COLS,
										    .vocab = VOCAB, .tokens = token,
										    .dy = fdy, .dwte = fdwte,
										    .dwpe = fdwpe, .add = add}));
		CU_ASSERT_EQUAL(unlike(dwte, fdwte, VOCAB * COLS), 0);
		CU_ASSERT_EQUAL(unlike(dwpe, fdwpe, T * COLS), 0);
	}
	MR_CHECK_OK(pure->sumsq(pure_kc, &(mr_sumsq_args){.n = ROWS * COLS, .x = dy, .sum = &squares}));
	MR_CHECK_OK(wide->sumsq(wide_kc, &(mr_sumsq_args){.n = ROWS * COLS, .x = fdy, .sum = &fsquares}));
	CU_ASSERT_DOUBLE_EQUAL(squares, fsquares, 1e-12);
}

void mr_suite_rounding(void)
{
	CU_pSuite mr_suite_ = CU_add_suite("rounding", set_up, tear_down);

	MR_TEST(no_bias);
	MR_TEST(words_follow_from_the_element);
	MR_TEST(steps_round);
	MR_TEST(cuts_do_not_matter);
	MR_TEST(small_steps_add_up);
	MR_TEST(mean_of_squares_falls);
	MR_TEST(gradients_round_once);
	MR_TEST(tables_round_once);
}
