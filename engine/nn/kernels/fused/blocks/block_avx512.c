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

static inline __attribute__((always_inline)) void one_pair(__m512 acc[ROWS][2], const uint32_t *const row[4],
							   int64_t pitch, int rows, int64_t p, const uint32_t *b)
{
	__m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + LANES);

#pragma GCC unroll 11
	for (int r = 0; r < rows; r++) {
		__m512i x = _mm512_set1_epi32((int)row[r / 3][r % 3 * pitch + p]);

		__asm__("" : "+v"(x)); /* one load for both */
		acc[r][0] = _mm512_dpbf16_ps(acc[r][0], (__m512bh)x, (__m512bh)b0);
		acc[r][1] = _mm512_dpbf16_ps(acc[r][1], (__m512bh)x, (__m512bh)b1);
	}
}

static inline __attribute__((always_inline)) void tile(const uint32_t *a, int64_t pitch, int rows, const uint32_t *b,
						       int64_t pairs, bool add, float *c)
{
	const uint32_t *row[4] = {a, a + 3 * pitch, a + 6 * pitch, a + 9 * pitch};
	__m512 acc[ROWS][2];
	int64_t p = 0;

#pragma GCC unroll 11
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < 2; v++)
			acc[r][v] = add ? _mm512_loadu_ps(c + r * MR_BLOCK + v * LANES) : _mm512_setzero_ps();
	for (; p + 4 <= pairs; p += 4, b += 4 * MR_BLOCK)
#pragma GCC unroll 4
		for (int u = 0; u < 4; u++)
			one_pair(acc, row, pitch, rows, p + u, b + u * MR_BLOCK);
	for (; p < pairs; p++, b += MR_BLOCK)
		one_pair(acc, row, pitch, rows, p, b);
#pragma GCC unroll 11
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < 2; v++)
			_mm512_storeu_ps(c + r * MR_BLOCK + v * LANES, acc[r][v]);
}

#define TILE(n) \
	static __attribute__((noinline)) void tile_##n(const uint32_t *a, int64_t pitch, const uint32_t *b, \
						       int64_t pairs, bool add, float *c) \
	{ \
		tile(a, pitch, n, b, pairs, add, c); \
	}
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) TILE(9) TILE(10) TILE(11)

typedef void tile_fn(const uint32_t *a, int64_t pitch, const uint32_t *b, int64_t pairs, bool add, float *c);

void mr_block_avx512(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
		     float *c)
{
	static tile_fn *const by_rows[ROWS + 1] = {NULL,   tile_1, tile_2, tile_3, tile_4,  tile_5,
						   tile_6, tile_7, tile_8, tile_9, tile_10, tile_11};
	int64_t tiles = (rows + ROWS - 1) / ROWS;

	for (int64_t t = 0; t < tiles; t++) {
		int64_t first = rows * t / tiles, n = rows * (t + 1) / tiles - first;

		by_rows[n](a + first * a_pitch, a_pitch, b, pairs, add, c + first * MR_BLOCK);
	}
}
#endif
