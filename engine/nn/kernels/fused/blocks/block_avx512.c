/*
 * block_avx512.c - blocks of products of bf16 numbers by vdpbf16ps (avx512_bf16): up to 11 rows and all 32 columns of C
 * stay in 22 of 32 registers. The instruction treats denormal operands as 0 and flushes denormal results to 0.
 */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake sets the flags for clang */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi2,prfchw")
#endif
#include <immintrin.h>

#include "nn/kernels/fused/blocks/block_engine.h"

enum { ROWS = 11, LANES = 16 };

/* Where a block's B comes from: a panel, or where it is stored; or from a panel, or the first half of it, while A is
 * read where it is stored. */
typedef enum source { PANEL, STORED, TURNED, TURNED_HALF } source;

typedef struct operand {
	const uint32_t *panel;
	const uint16_t *stored;
	int64_t pitch;
} operand;

/* The accumulators of one row: of half a panel only the first counts. With STORED the first has columns 0 to 3 of each
 * 8, the second the others, as the CPU interleaves rows in pieces of 128 bits. */
typedef struct sums {
	__m512 v[ROWS][2];
} sums;

/* Pairs ahead of which rows of B as stored are fetched: they lie in different pages. The block beside is fetched into
 * L2 meanwhile. */
#define AHEAD 8

static inline __attribute__((always_inline)) void load_pair(source from, const operand *b, int64_t p, __m512i x[2])
{
	if (from == STORED) {
		const uint16_t *even = b->stored + 2 * p * b->pitch;
		__m512i first = _mm512_loadu_si512(even), second = _mm512_loadu_si512(even + b->pitch);

		__builtin_prefetch(even + 2 * AHEAD * b->pitch, 0, 3);
		__builtin_prefetch(even + (2 * AHEAD + 1) * b->pitch, 0, 3);
		__builtin_prefetch(even + MR_BLOCK, 0, 2);
		__builtin_prefetch(even + b->pitch + MR_BLOCK, 0, 2);
		x[0] = _mm512_unpacklo_epi16(first, second);
		x[1] = _mm512_unpackhi_epi16(first, second);
		return;
	}
	x[0] = _mm512_loadu_si512(b->panel + p * MR_BLOCK);
	if (from != TURNED_HALF)
		x[1] = _mm512_loadu_si512(b->panel + p * MR_BLOCK + LANES);
}

static inline __attribute__((always_inline)) void one_pair(source from, sums *acc, const uint32_t *const row[4],
							   int64_t pitch, int rows, int64_t p, const operand *b)
{
	__m512i y[2];

	load_pair(from, b, p, y);
#pragma GCC unroll 11
	for (int r = 0; r < rows; r++) {
		__m512i x = _mm512_set1_epi32((int)row[r / 3][r % 3 * pitch + p]);

		__asm__("" : "+v"(x)); /* one load for both */
		acc->v[r][0] = _mm512_dpbf16_ps(acc->v[r][0], (__m512bh)x, (__m512bh)y[0]);
		if (from != TURNED_HALF)
			acc->v[r][1] = _mm512_dpbf16_ps(acc->v[r][1], (__m512bh)x, (__m512bh)y[1]);
	}
}

/* A row's accumulators from columns in order, and back. */
static inline __attribute__((always_inline)) void begin_row(source from, __m512 acc[2], const float *c)
{
	__m512 first = _mm512_loadu_ps(c), second = from == TURNED_HALF ? first : _mm512_loadu_ps(c + LANES);
	__m512i order = _mm512_setr_epi32(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);

	acc[0] = first;
	acc[1] = second;
	if (from != STORED)
		return;
	acc[0] = _mm512_permutex2var_ps(first, order, second);
	acc[1] = _mm512_permutex2var_ps(first, _mm512_add_epi32(order, _mm512_set1_epi32(4)), second);
}

static inline __attribute__((always_inline)) void end_row(source from, const __m512 acc[2], float *c)
{
	__m512i order = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);

	if (from != STORED) {
		_mm512_storeu_ps(c, acc[0]);
		if (from != TURNED_HALF)
			_mm512_storeu_ps(c + LANES, acc[1]);
		return;
	}
	_mm512_storeu_ps(c, _mm512_permutex2var_ps(acc[0], order, acc[1]));
	order = _mm512_add_epi32(order, _mm512_set1_epi32(8));
	_mm512_storeu_ps(c + LANES, _mm512_permutex2var_ps(acc[0], order, acc[1]));
}

/* Of rows that are read where they are stored: their next lines, and into L2 those of the block behind. */
static inline __attribute__((always_inline)) void fetch_rows(const uint32_t *const row[4], int64_t pitch, int rows,
							     int64_t p)
{
#pragma GCC unroll 11
	for (int r = 0; r < rows; r++) {
		__builtin_prefetch(row[r / 3] + r % 3 * pitch + p + LANES, 0, 3);
		__builtin_prefetch(row[r / 3] + (r % 3 + MR_BLOCK) * pitch + p, 0, 2);
	}
}

static inline __attribute__((always_inline)) void tile(source from, const uint32_t *a, int64_t pitch, int rows,
						       const operand *b, int64_t pairs, bool add, float *c)
{
	const uint32_t *row[4] = {a, a + 3 * pitch, a + 6 * pitch, a + 9 * pitch};
	const operand at = *b;
	int64_t p = 0;
	sums acc;

#pragma GCC unroll 11
	for (int r = 0; r < rows; r++) {
		acc.v[r][0] = acc.v[r][1] = _mm512_setzero_ps();
		if (add)
			begin_row(from, acc.v[r], c + r * MR_BLOCK);
	}
	for (; p + 4 <= pairs; p += 4) {
		if (from >= TURNED && p % LANES == 0)
			fetch_rows(row, pitch, rows, p);
#pragma GCC unroll 4
		for (int u = 0; u < 4; u++)
			one_pair(from, &acc, row, pitch, rows, p + u, &at);
	}
	for (; p < pairs; p++)
		one_pair(from, &acc, row, pitch, rows, p, &at);
#pragma GCC unroll 11
	for (int r = 0; r < rows; r++)
		end_row(from, acc.v[r], c + r * MR_BLOCK);
}

typedef void tile_fn(const uint32_t *a, int64_t pitch, const operand *b, int64_t pairs, bool add, float *c);

#define TILE(from, n) \
	static __attribute__((noinline)) void tile_##from##_##n(const uint32_t *a, int64_t pitch, const operand *b, \
								int64_t pairs, bool add, float *c) \
	{ \
		tile(from, a, pitch, n, b, pairs, add, c); \
	}
#define TILES(from) \
	TILE(from, 1) TILE(from, 2) TILE(from, 3) TILE(from, 4) TILE(from, 5) TILE(from, 6) TILE(from, 7) \
	TILE(from, 8) TILE(from, 9) TILE(from, 10) TILE(from, 11) \
	static tile_fn *const tiles_##from[ROWS + 1] = { \
		NULL, tile_##from##_1, tile_##from##_2, tile_##from##_3, tile_##from##_4, tile_##from##_5, \
		tile_##from##_6, tile_##from##_7, tile_##from##_8, tile_##from##_9, tile_##from##_10, \
		tile_##from##_11};
TILES(PANEL)
TILES(STORED)
TILES(TURNED)
TILES(TURNED_HALF)

static void tiles(tile_fn *const by_rows[], const uint32_t *a, int64_t a_pitch, int64_t rows, const operand *b,
		  int64_t pairs, bool add, float *c)
{
	int64_t n_tiles = (rows + ROWS - 1) / ROWS;

	for (int64_t t = 0; t < n_tiles; t++) {
		int64_t first = rows * t / n_tiles, n = rows * (t + 1) / n_tiles - first;

		by_rows[n](a + first * a_pitch, a_pitch, b, pairs, add, c + first * MR_BLOCK);
	}
}

void mr_block_avx512(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
		     float *c)
{
	tiles(tiles_PANEL, a, a_pitch, rows, &(operand){.panel = b}, pairs, add, c);
}

void mr_block_avx512_turned(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs,
			    bool add, float *c)
{
	tiles(tiles_TURNED, a, a_pitch, rows, &(operand){.panel = b}, pairs, add, c);
}

void mr_block_avx512_turned_half(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs,
				 bool add, float *c)
{
	tiles(tiles_TURNED_HALF, a, a_pitch, rows, &(operand){.panel = b}, pairs, add, c);
}

void mr_block_avx512_stored(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint16_t *b, int64_t b_pitch,
			    int64_t pairs, bool add, float *c)
{
	tiles(tiles_STORED, a, a_pitch, rows, &(operand){.stored = b, .pitch = b_pitch}, pairs, add, c);
}
#endif
