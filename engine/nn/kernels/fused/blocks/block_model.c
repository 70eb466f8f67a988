/*
 * block_model.c - blocks of bf16 products by a model of the tile instruction TDPBF16PS, in C.
 *
 * The instruction adds to each f32 of C the products of up to 16 pairs of bf16 numbers, by its published pseudo-code:
 *
 *	even, odd = 0
 *	for each pair, ascending:  even += a.even * b.even;  odd += a.odd * b.odd
 *	c += even + odd
 *
 * Each += rounds once, to the nearest even: products are fused multiply-adds, in which the product of two bf16 numbers
 * is exact. Denormal operands are treated as zeros, and denormal results become zeros with their sign, as with DAZ and
 * FTZ of MXCSR, regardless of MXCSR. The pseudo-code does not specify which NaN results; here it is always the same
 * one.
 *
 * A block executes the same instructions in the same order as in block_amx.c: an instruction for each 16 pairs,
 * ascending.
 */
#if defined(__x86_64__) && !defined(__clang__) /* MillraceLayers.cmake sets the flags for clang */
#pragma GCC target("avx2,fma")
#endif
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/bf16.h"
#include "nn/kernels/fused/blocks/block_engine.h"

enum { SIDE = MR_BLOCK, PAIRS = 16 /* pairs of one instruction */ };

#define LEAST_NORMAL 0x00800000u
#define MAGNITUDE 0x7fffffffu

static inline float without_denormal(uint32_t bits)
{
	return mr_f32_of_bits((bits & MAGNITUDE) < LEAST_NORMAL ? bits & ~MAGNITUDE : bits);
}

static inline float flushed(float x)
{
	return without_denormal(mr_bits_of_f32(x));
}

/*
 * If a result just below the least normal number is rounded to the nearest f32, denormals included, it may become that
 * number. FTZ tests a result that is rounded as if its exponent were unbounded: below 2^-126 - 2^-151 it becomes 0. The
 * sum in f64 need not be exact to be on the right side, since a product of two bf16 numbers has 16 bits.
 */
static float add_product_exactly(float sum, float a, float b)
{
	float r = flushed(fmaf(a, b, sum));

	if ((mr_bits_of_f32(r) & MAGNITUDE) == LEAST_NORMAL &&
	    fabs((double)a * (double)b + (double)sum) < 0x1p-126 - 0x1p-151)
		return copysignf(0, r);
	return r;
}

typedef struct sums {
	float even[SIDE], odd[SIDE];
} sums;

/* 16 pairs of B, with lower and upper numbers separated and denormals replaced by 0. */
typedef struct panel {
	float even[PAIRS][SIDE], odd[PAIRS][SIDE];
} panel;

static void panel_init(panel *to, const uint32_t *b)
{
	for (int p = 0; p < PAIRS; p++)
		for (int j = 0; j < SIDE; j++) {
			to->even[p][j] = without_denormal(b[p * SIDE + j] << 16);
			to->odd[p][j] = without_denormal(b[p * SIDE + j] & 0xffff0000u);
		}
}

/* sum += x * b; returns false if the least normal number occurs, which may be rounded wrongly. */
static inline bool add_products(float sum[restrict SIDE], float x, const float b[restrict SIDE])
{
	uint32_t doubtful = 0;

	for (int j = 0; j < SIDE; j++) {
		uint32_t bits = mr_bits_of_f32(fmaf(x, b[j], sum[j])), size = bits & MAGNITUDE;

		doubtful |= size == LEAST_NORMAL;
		sum[j] = mr_f32_of_bits(size < LEAST_NORMAL ? bits & ~MAGNITUDE : bits);
	}
	return !doubtful;
}

static void add_products_exactly(float sum[SIDE], float x, const float b[SIDE])
{
	for (int j = 0; j < SIDE; j++)
		sum[j] = add_product_exactly(sum[j], x, b[j]);
}

static bool row_sums(sums *s, const uint32_t *a, const panel *b)
{
	uint32_t good = 1;

	memset(s, 0, sizeof(*s));
	for (int p = 0; p < PAIRS; p++) {
		good &= add_products(s->even, without_denormal(a[p] << 16), b->even[p]);
		good &= add_products(s->odd, without_denormal(a[p] & 0xffff0000u), b->odd[p]);
	}
	return good;
}

static void row_sums_exactly(sums *s, const uint32_t *a, const panel *b)
{
	memset(s, 0, sizeof(*s));
	for (int p = 0; p < PAIRS; p++) {
		add_products_exactly(s->even, without_denormal(a[p] << 16), b->even[p]);
		add_products_exactly(s->odd, without_denormal(a[p] & 0xffff0000u), b->odd[p]);
	}
}

/* A denormal sum of two numbers that are not denormal is exact. */
static void add_sums(float c[restrict SIDE], const sums *restrict s)
{
	for (int j = 0; j < SIDE; j++) {
		float sum = flushed(flushed(c[j]) + flushed(s->even[j] + s->odd[j]));

		c[j] = mr_f32_of_bits((mr_bits_of_f32(sum) & MAGNITUDE) > 0x7f800000u ? 0x7fc00000u
										      : mr_bits_of_f32(sum));
	}
}

void mr_block_model(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
		    float *c)
{
	panel of_b;
	sums s;

	assert(rows > 0 && rows <= SIDE && pairs % PAIRS == 0);
	if (!add)
		memset(c, 0, (size_t)rows * SIDE * sizeof(*c));
	for (int64_t p = 0; p < pairs; p += PAIRS) {
		panel_init(&of_b, b + p * SIDE);
		for (int64_t i = 0; i < rows; i++) {
			if (!row_sums(&s, a + i * a_pitch + p, &of_b))
				row_sums_exactly(&s, a + i * a_pitch + p, &of_b);
			add_sums(c + i * SIDE, &s);
		}
	}
}
