/*
 * test_blocks.c - blocks of bf16 products (nn/kernels/fused/blocks/block.h) in tiles: block_amx.c as it stands, carried
 * out by the manual's pseudo-code (tiles.h), and the model of block_model.c give the same bits; so does the CPU, where
 * it has AMX. And how far what they compute is from the exact sum.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"

#if defined(MR_DNNL) && defined(__x86_64__)
#include <xmmintrin.h>

#include "guarded.h"
#include "nn/bf16.h"
#include "nn/kernels/fused/blocks/block_gemm.h"
#include "tiles.h"

enum { PAIRS = 64, PITCH = 80, BOTH_DENORMAL_BITS = 0x8040 /* FTZ and DAZ in MXCSR */ };

typedef enum kind { NORMAL, ANY_FINITE, SMALL, EDGE, DENORMAL, NOT_FINITE, N_KINDS } kind;

static const mr_block_engine model = {.name = "model", .block = mr_block_model, .pairs = 16};

static uint32_t word(uint32_t stream, uint64_t i)
{
	return mr_rng_u32(1, MR_RNG_TEST, 0, stream, i);
}

static uint16_t with_exponent(uint32_t bits, uint32_t exponent)
{
	return (uint16_t)((bits & 0x807f) | exponent << 7);
}

/* A bf16 number. SMALL: products lie around the least normal number; EDGE: many sums are just that, or next to it. */
static uint16_t number(kind of, uint32_t stream, uint64_t i)
{
	static const int8_t edge[] = {-63, -62, -64, -75, -76, -88, -63, -50};
	uint32_t w = word(stream, i);

	switch (of) {
	case NORMAL:
		return mr_bf16_round((float)mr_rng_normal(2, MR_RNG_TEST, 0, stream, i));
	case ANY_FINITE:
		return with_exponent(w, (w >> 16) % 255);
	case SMALL:
		return with_exponent(w, 127 - 72 + (w >> 16) % 20);
	case EDGE:
		return with_exponent(w & 0x8000, 127u + (uint32_t)edge[(w >> 16) % 8]);
	case DENORMAL:
		return with_exponent(w, (w >> 16) % 2 ? 0 : 1 + (w >> 17) % 253);
	default:
		return with_exponent(w, (w >> 16) % 500 == 0 ? 255 : 100 + (w >> 16) % 50);
	}
}

typedef struct operands {
	_Alignas(64) uint32_t a[MR_BLOCK * PITCH], b[PAIRS * MR_BLOCK];
	_Alignas(64) float c[MR_BLOCK * MR_BLOCK];
} operands;

static uint32_t pair(kind of, uint32_t stream, uint64_t i)
{
	return number(of, stream, 2 * i) | (uint32_t)number(of, stream, 2 * i + 1) << 16;
}

static void fill(operands *o, kind of, uint32_t stream)
{
	for (int i = 0; i < MR_BLOCK * PITCH; i++)
		o->a[i] = pair(of, 3 * stream, (uint64_t)i);
	for (int i = 0; i < PAIRS * MR_BLOCK; i++)
		o->b[i] = pair(of, 3 * stream + 1, (uint64_t)i);
	for (int i = 0; i < MR_BLOCK * MR_BLOCK; i++)
		o->c[i] = mr_f32_of_bits((uint32_t)number(of, 3 * stream + 2, (uint64_t)i) << 16 | (uint32_t)i);
}

static void run(const mr_block_engine *e, const uint32_t *a, int64_t pitch, int64_t rows, const uint32_t *b,
		int64_t pairs, bool add, float *c)
{
	e->block(a, pitch, rows, b, pairs, add, c);
	if (e->release)
		e->release();
}

/* Of NaN the manual does not say which. */
static bool same(float x, float y)
{
	return isnan(x) ? isnan(y) : mr_bits_of_f32(x) == mr_bits_of_f32(y);
}

static bool same_rows(const float *x, const float *y, int64_t rows)
{
	for (int64_t i = 0; i < rows * MR_BLOCK; i++)
		if (!same(x[i], y[i]))
			return false;
	return true;
}

/* All kinds of numbers, numbers of rows and lengths, to begin at 0 or at what is there. */
static void compare(const mr_block_engine *x, const mr_block_engine *y)
{
	static operands o;
	_Alignas(64) float c[2][MR_BLOCK * MR_BLOCK];

	for (uint32_t turn = 0; turn < 6 * MR_BLOCK; turn++) {
		int64_t rows = turn % MR_BLOCK + 1, pairs = 16 * (1 + turn % 4), pitch = PITCH - turn % 17;

		fill(&o, (kind)(turn % N_KINDS), turn);
		for (int i = 0; i < 2; i++) {
			memcpy(c[i], o.c, sizeof(o.c));
			run(i ? y : x, o.a, pitch, rows, o.b, pairs, turn % 3 != 0, c[i]);
		}
		CU_ASSERT_FATAL(same_rows(c[0], c[1], rows));
	}
}

static void model_is_the_manual(void)
{
	compare(&model, &tiles_block);
}

/* Stages set these bits; a test's thread and a library's caller do not. */
static void denormals_whatever_mxcsr_says(void)
{
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | BOTH_DENORMAL_BITS);
	compare(&model, &tiles_block);
	_mm_setcsr(before);
}

/* --- single numbers ----------------------------------------------------------------------------------------------- */

/* Sums of one instruction: of x[i] * y[i] and, in the odd numbers, of nothing. */
static float sum_of(const mr_block_engine *e, const float *x, const float *y, int n, float c)
{
	static operands o;

	memset(&o, 0, sizeof(o));
	for (int i = 0; i < n; i++) {
		o.a[i] = mr_bits_of_f32(x[i]) >> 16;
		o.b[i * MR_BLOCK] = mr_bits_of_f32(y[i]) >> 16;
	}
	o.c[0] = c;
	run(e, o.a, PITCH, 1, o.b, 16, true, o.c);
	return o.c[0];
}

/* Numbers that are known beforehand. */
static void sums(void)
{
	static const struct {
		float x[3], y[3], c, sum;
	} cases[] = {
		/* A fused multiply-add loses nothing before it rounds: 1 + 2^-24 is half way and goes to the even one,
		 * and with 2^-31 more up. */
		{{1, 0x1p-12f, 0}, {1, 0x1p-12f, 0}, 0, 1},
		{{1, 0x1p-12f, 0}, {1, 0x1.02p-12f, 0}, 0, 1 + FLT_EPSILON},
		/* Sums begin at 0 in each instruction and meet c at its end: 2^24 + (1 + 1), not (2^24 + 1) + 1. */
		{{1, 1, 0}, {1, 1, 0}, 0x1p24f, 0x1p24f + 2},
		/* Results that are denormals become 0 on the way. */
		{{0x1p-64f, 0x1p-64f, 0}, {0x1p-63f, 0x1p-63f, 0}, 0, 0},
		{{0x1p-63f, 0x1p-64f, 0x1p-63f}, {0x1p-63f, -0x1p-63f, 0x1p-63f}, 0, FLT_MIN},
		/* Below the least normal number by a half of its last bit and by a quarter. */
		{{0x1p-63f, 0x1p-75f, 0}, {0x1p-63f, -0x1p-75f, 0}, 0, 0},
		{{0x1p-63f, 0x1p-75f, 0}, {0x1p-63f, -0x1p-76f, 0}, 0, FLT_MIN},
		{{0x1p-63f, 0x1p-75f, 0}, {0x1p-63f, -0x1.02p-76f, 0}, 0, 0},
		/* So do operands: of c, of A. */
		{{0, 0, 0}, {0, 0, 0}, FLT_MIN / 2, 0},
		{{0x1p-127f, 0, 0}, {0x1p100f, 0, 0}, 1, 1},
		{{0x1p-130f, 0, 0}, {INFINITY, 0, 0}, 0, NAN},
		{{0x1p100f, 0, 0}, {0x1p100f, 0, 0}, 0, INFINITY},
		{{0x1p100f, 0x1p100f, 0}, {0x1p100f, -0x1p100f, 0}, 0, INFINITY},
		{{INFINITY, INFINITY, 0}, {1, -1, 0}, 0, NAN},
		{{0, 0, 0}, {0, 0, 0}, NAN, NAN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		float by_model = sum_of(&model, cases[i].x, cases[i].y, 3, cases[i].c);
		float by_tiles = sum_of(&tiles_block, cases[i].x, cases[i].y, 3, cases[i].c);

		if (!same(by_model, cases[i].sum) || !same(by_tiles, cases[i].sum))
			fprintf(stderr, "\ncase %zu: model %a, tiles %a, expected %a\n", i, (double)by_model,
				(double)by_tiles, (double)cases[i].sum);
		CU_ASSERT(same(by_model, cases[i].sum) && same(by_tiles, cases[i].sum));
	}
}

/*
 * Each product meets at most 16 roundings in a running sum, one where the two sums meet, and one for each instruction
 * from its own on, so with n of them the result is within (17 + n) u / (1 - (17 + n) u) of the sum of all magnitudes,
 * u = 2^-24. Numbers are large enough that nothing is flushed.
 */
static void near_the_exact_sum(void)
{
	static operands o;
	double most = 0;

	for (uint32_t turn = 0; turn < 8; turn++) {
		int64_t pairs = 16 * (1 + turn % 4);
		double n = (double)(17 + pairs / 16) * 0x1p-24, bound = n / (1 - n);
		float c[MR_BLOCK * MR_BLOCK];

		fill(&o, NORMAL, 100 + turn);
		memcpy(c, o.c, sizeof(c));
		run(&model, o.a, PITCH, MR_BLOCK, o.b, pairs, true, o.c);
		for (int i = 0; i < MR_BLOCK * MR_BLOCK; i++) {
			double sum = (double)c[i], size = fabs(sum), off;

			for (int64_t p = 0; p < 2 * pairs; p++) {
				uint32_t a = o.a[i / MR_BLOCK * PITCH + p / 2];
				uint32_t b = o.b[p / 2 * MR_BLOCK + i % MR_BLOCK];
				double x = (double)mr_bf16_widen((uint16_t)(p % 2 ? a >> 16 : a)) *
					   (double)mr_bf16_widen((uint16_t)(p % 2 ? b >> 16 : b));

				sum += x;
				size += fabs(x);
			}
			off = fabs(sum - (double)o.c[i]) / (bound * size);
			most = off > most ? off : most;
		}
	}
	CU_ASSERT(most <= 1);
	CU_ASSERT(most > 1e-3); /* it is no exact sum either */
}

/* --- memory and calls --------------------------------------------------------------------------------------------- */

/* A's last row, B and C end where memory ends, or begin where it begins; only the block's rows of A are there. */
static void edges_of_memory(const mr_block_engine *e)
{
	for (int64_t rows = 1; rows <= MR_BLOCK; rows++) {
		bool at_end = rows % 3 != 0;
		int64_t pairs = rows % 2 ? 16 : 48, pitch = pairs + rows % 5 * 3;
		guarded a = guarded_make((rows - 1) * pitch + pairs, at_end);
		guarded b = guarded_make(pairs * MR_BLOCK, at_end);
		guarded c = guarded_fill(MR_BLOCK * MR_BLOCK, at_end, 3, -1, 1);

		for (size_t i = 0; i < a.n; i++)
			a.p[i] = mr_f32_of_bits(pair(NORMAL, 1, i));
		for (size_t i = 0; i < b.n; i++)
			b.p[i] = mr_f32_of_bits(pair(NORMAL, 2, i));
		guarded_freeze(&a);
		guarded_freeze(&b);
		run(e, (const uint32_t *)a.p, pitch, rows, (const uint32_t *)b.p, pairs, rows % 4 != 0, c.p);
		for (int64_t i = 0; i < rows * MR_BLOCK; i++)
			CU_ASSERT_FATAL(isfinite(c.p[i]));
		guarded_free(&a);
		guarded_free(&b);
		guarded_free(&c);
	}
}

static void edges(void)
{
	edges_of_memory(&model);
	edges_of_memory(&tiles_block);
}

/* A long sum in one call, and in calls that continue each other. */
static void chains(void)
{
	static const mr_block_engine *const engines[] = {&model, &tiles_block};
	static operands o;
	_Alignas(64) float one[MR_BLOCK * MR_BLOCK];

	for (int i = 0; i < 2; i++)
		for (int64_t rows = 5; rows <= MR_BLOCK; rows += 9) {
			fill(&o, ANY_FINITE, 200 + (uint32_t)rows);
			run(engines[i], o.a, PITCH, rows, o.b, 64, false, one);
			run(engines[i], o.a, PITCH, rows, o.b, 16, false, o.c);
			run(engines[i], o.a + 16, PITCH, rows, o.b + 16 * MR_BLOCK, 48, true, o.c);
			CU_ASSERT_FATAL(same_rows(one, o.c, rows));
		}
}

/* What a thread has of the tiles' state: loaded once for all blocks of 32 rows, again for others, and given back. */
static void *product_of_a_thread(void *arg)
{
	static const int64_t rows[] = {32, 32, 32, 7, 32, 32};
	_Alignas(64) float c[MR_BLOCK * MR_BLOCK];
	const operands *o = arg;

	for (int again = 0; again < 2; again++) {
		tiles_counted = (tiles_counts){0};
		for (int i = 0; i < 6; i++)
			tiles_block.block(o->a, PITCH, rows[i], o->b, 32, false, c);
		tiles_block.release();
		CU_ASSERT_EQUAL(tiles_counted.configs, 3);
		CU_ASSERT_EQUAL(tiles_counted.releases, 1);
		CU_ASSERT_EQUAL(tiles_counted.products, 5 * 8 + 4);
	}
	return NULL;
}

static void state_of_a_thread(void)
{
	static operands o;
	pthread_t other;

	fill(&o, NORMAL, 300);
	(void)product_of_a_thread(&o);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, product_of_a_thread, &o), 0);
	pthread_join(other, NULL);
}

/* --- which engine ------------------------------------------------------------------------------------------------- */

/* What MR_BF16_ENGINE=@name gives; NULL: the variable is not there. */
static const mr_block_engine *asked_for(const char *name, const char **why)
{
	const char *before = getenv("MR_BF16_ENGINE");
	char *kept = before ? strdup(before) : NULL;
	const mr_block_engine *e;

	if (name)
		setenv("MR_BF16_ENGINE", name, 1);
	else
		unsetenv("MR_BF16_ENGINE");
	e = mr_block_engine_find(why);
	unsetenv("MR_BF16_ENGINE");
	if (kept)
		setenv("MR_BF16_ENGINE", kept, 1);
	free(kept);
	return e;
}

static void choice(void)
{
	const char *why, *why_not_amx;
	const mr_block_engine *e = asked_for("model", &why), *amx = asked_for("amx", &why_not_amx);

	CU_ASSERT_FATAL(e && !why);
	CU_ASSERT_PTR_EQUAL(e->block, mr_block_model);
	CU_ASSERT_PTR_NULL(asked_for("tiles", &why));
	CU_ASSERT_PTR_NOT_NULL_FATAL(why);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "MR_BF16_ENGINE"));
	CU_ASSERT_EQUAL(amx == NULL, why_not_amx != NULL);
	e = asked_for(NULL, &why);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_EQUAL(e == amx, why == NULL);
	CU_ASSERT(e->block != mr_block_model);
	if (__builtin_cpu_supports("avx512bf16") && !getenv("ONEDNN_MAX_CPU_ISA"))
		CU_ASSERT(e->block == mr_block_avx512 || e->block == mr_block_amx);
}

/* --- B where it is stored ----------------------------------------------------------------------------------------- */

static uint16_t *halves(guarded *g, int64_t n, uint32_t stream)
{
	uint16_t *p;

	*g = guarded_make((n + 1) / 2, true);
	p = (uint16_t *)(void *)g->p + n % 2;
	for (int64_t i = 0; i < n; i++)
		p[i] = number(NORMAL, stream, (uint64_t)i);
	return p;
}

/* C = A B, or A B^T, by @e. */
static void product(const mr_block_engine *e, int64_t m, int64_t n, int64_t k, bool tb, bool add, const uint16_t *a,
		    const uint16_t *b, uint16_t *c)
{
	mr_block_scratch s = {.l2_bytes = MR_BLOCK_L2};
	mr_block_gemm g = {.vec = &mr_vec_blocks_avx512_bf16,
			   .engine = e,
			   .m = m,
			   .n = n,
			   .k = k,
			   .tb = tb,
			   .pieces = 1,
			   .as = &a,
			   .bs = &b,
			   .out = {.n = n, .c = c, .add = add, .bias = b, .act = add ? MR_ACT_NONE : MR_ACT_RELU}};

	CU_ASSERT_FATAL(mr_block_gemm_run(&g, 1, &s) == MR_OK);
	mr_block_scratch_fini(&s);
}

/* Few rows of A: what is read in place has the bits of what is packed, on both sides of the numbers at which it is.
 * @longest of the lengths of k. */
static void in_place_as_packed(const mr_block_engine *e, uint32_t longest)
{
	static const int64_t wide[] = {32, 64, 160, 36, 1}, deep[] = {2, 30, 64, 7, 514, 1056, 4100, 8192};
	mr_block_engine packs = *e;

	packs.stored = NULL;
	packs.turned = packs.turned_half = NULL;
	for (uint32_t turn = 0; turn < 240; turn++) {
		int64_t m = turn % 9 ? 1 + turn * 7 % 34 : e->turned_most - 26 + turn / 8;
		int64_t n = wide[turn % 5], k = deep[turn % longest];
		bool tb = turn / 8 % 2, add = turn / 3 % 2;
		guarded of_a, of_b, of_c[2];
		uint16_t *a = halves(&of_a, m * k, 4 * turn), *b = halves(&of_b, n * k, 4 * turn + 1), *c[2];

		for (int i = 0; i < 2; i++) {
			c[i] = halves(&of_c[i], m * n, 4 * turn + 2);
			product(i ? &packs : e, m, n, k, tb, add, a, b, c[i]);
		}
		CU_ASSERT_FATAL(!memcmp(c[0], c[1], (size_t)(m * n) * sizeof(*c[0])));
		guarded_free(&of_a);
		guarded_free(&of_b);
		for (int i = 0; i < 2; i++)
			guarded_free(&of_c[i]);
	}
}

static void stored_as_packed(void)
{
	const char *const names[] = {"avx512_bf16", "amx"}, *why;

	for (int i = 0; i < 2; i++) {
		const mr_block_engine *found = asked_for(names[i], &why);

		if (found)
			in_place_as_packed(found, 8);
		else
			printf("(skipped: %s) ", why);
	}
	if (asked_for("avx512_bf16", &why))
		in_place_as_packed(&tiles_block, 6);
}

/* The CPU itself. */
static void hardware(void)
{
	const char *why;
	const mr_block_engine *amx = asked_for("amx", &why);

	if (!amx) {
		printf("(skipped: %s) ", why);
		return;
	}
	compare(&model, amx);
	edges_of_memory(amx);
}
#endif

void mr_suite_blocks(void);

void mr_suite_blocks(void)
{
	MR_SUITE("blocks");

#if defined(MR_DNNL) && defined(__x86_64__)
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return; /* this CPU has no backend fused */
	MR_TEST(model_is_the_manual);
	MR_TEST(denormals_whatever_mxcsr_says);
	MR_TEST(sums);
	MR_TEST(near_the_exact_sum);
	MR_TEST(edges);
	MR_TEST(chains);
	MR_TEST(state_of_a_thread);
	MR_TEST(choice);
	MR_TEST(stored_as_packed);
	MR_TEST(hardware);
#else
	(void)mr_suite_;
#endif
}
