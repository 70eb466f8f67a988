/*
 * block_amx.c - blocks of bf16 products in the CPU's tiles (AMX): 2 x 2 tiles of C, to which every 16 pairs the
 * products of two tiles of A and two of B are added.
 *
 *	           B0 6   B1 7                   16 columns each
 *	A0 4       C  0   C  1    rows 0 to 15
 *	A1 5       C  2   C  3    rows 16 to 31
 *
 * The tiles of A and C have as many rows as the block, so that nothing after A's last row is read. The shapes of tiles
 * are a state of the thread: the first block loads them, a block with another number of rows loads them again, and
 * mr_block_amx_release, called after the last block of a product, releases the registers. Until then the operating
 * system saves 8 KiB more at each context switch of the thread; afterwards oneDNN may load its own shapes.
 *
 * tests/nn/tiles.h emulates the instructions of this file in C.
 */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake sets the flags for clang */
#pragma GCC target("amx-tile,amx-bf16")
#endif
#include <assert.h>
#include <immintrin.h>

#include "nn/kernels/fused/blocks/block_engine.h"

enum { SIDE = MR_BLOCK, HALF = SIDE / 2, PAIRS = 16, TILE_BYTES = 64 };

/* The operand of LDTILECFG, palette 1. */
typedef struct shape {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
} shape;

_Static_assert(sizeof(shape) == 64, "LDTILECFG reads 64 bytes");

static _Thread_local int64_t shaped_for; /* rows of a block; 0: tiles have no shape */

static void shape_for(int64_t rows)
{
	static const uint8_t is_lower[8] = {0, 0, 1, 1, 0, 1}, is_b[8] = {[6] = 1, [7] = 1};
	shape s = {.palette = 1};

	for (int t = 0; t < 8; t++) {
		int64_t n = is_b[t] ? PAIRS : is_lower[t] ? rows - HALF : rows;

		n = n > 16 ? 16 : n;
		s.rows[t] = (uint8_t)(n > 0 ? n : 0);
		s.row_bytes[t] = n > 0 ? TILE_BYTES : 0;
	}
	__asm__ volatile("" : : "r"(&s) : "memory"); /* GCC 12 assumes that only 8 bytes are read */
	_tile_loadconfig(&s);
	shaped_for = rows;
}

void mr_block_amx_release(void)
{
	_tile_release();
	shaped_for = 0;
}

/*
 * The operands come from L2 or L3, and a load of a tile waits for each line of it: without the prefetches, which stand
 * between the products so that few are under way at once, a core that shares its caches with a busy neighbour computes
 * little more than half as much; on a quiet one they cost nothing. Those behind the end of B fetch what is not used.
 */
static inline void fetch(const uint32_t *b, int quarter)
{
	enum { LINE = 64, AHEAD = 2 * PAIRS * SIDE * 4, LINES = PAIRS * SIDE * 4 / LINE / 4 };
	uintptr_t at = (uintptr_t)b + AHEAD + (uintptr_t)(quarter * LINES * LINE);

#pragma GCC unroll 8
	for (int i = 0; i < LINES; i++)
		__builtin_prefetch((const void *)(at + (uintptr_t)(i * LINE)), 0, 3);
}

/* Up to 16 rows: the upper two tiles of C. */
static inline void upper(const uint32_t *a, int64_t a_pitch, const uint32_t *b, int64_t pairs)
{
	for (int64_t p = 0; p < pairs; p += PAIRS) {
		const uint32_t *panel = b + p * SIDE;

		_tile_loadd(4, a + p, a_pitch * 4);
		_tile_loadd(6, panel, SIDE * 4);
		_tile_loadd(7, panel + HALF, SIDE * 4);
		fetch(panel, 0);
		fetch(panel, 1);
		_tile_dpbf16ps(0, 4, 6);
		fetch(panel, 2);
		fetch(panel, 3);
		_tile_dpbf16ps(1, 4, 7);
	}
}

static inline void all(const uint32_t *a, int64_t a_pitch, const uint32_t *b, int64_t pairs)
{
	const uint32_t *below = a + HALF * a_pitch;

	for (int64_t p = 0; p < pairs; p += PAIRS) {
		const uint32_t *panel = b + p * SIDE;

		_tile_loadd(4, a + p, a_pitch * 4);
		_tile_loadd(6, panel, SIDE * 4);
		fetch(panel, 0);
		_tile_dpbf16ps(0, 4, 6);
		_tile_loadd(5, below + p, a_pitch * 4);
		fetch(panel, 1);
		_tile_dpbf16ps(2, 5, 6);
		_tile_loadd(7, panel + HALF, SIDE * 4);
		fetch(panel, 2);
		_tile_dpbf16ps(1, 4, 7);
		fetch(panel, 3);
		_tile_dpbf16ps(3, 5, 7);
	}
}

/* @both: there are lower tiles; @wide: right ones. A tile without a shape must not be touched. */
static inline void begin(bool both, bool wide, bool add, const float *c)
{
	if (add) {
		_tile_loadd(0, c, SIDE * 4);
		if (wide)
			_tile_loadd(1, c + HALF, SIDE * 4);
		if (both)
			_tile_loadd(2, c + HALF * SIDE, SIDE * 4);
		if (both && wide)
			_tile_loadd(3, c + HALF * SIDE + HALF, SIDE * 4);
		return;
	}
	_tile_zero(0);
	_tile_zero(1);
	if (!both)
		return;
	_tile_zero(2);
	_tile_zero(3);
}

static inline void end(bool both, bool wide, float *c)
{
	_tile_stored(0, c, SIDE * 4);
	if (wide)
		_tile_stored(1, c + HALF, SIDE * 4);
	if (both)
		_tile_stored(2, c + HALF * SIDE, SIDE * 4);
	if (both && wide)
		_tile_stored(3, c + HALF * SIDE + HALF, SIDE * 4);
}

static inline void shape_of(int64_t rows, int64_t pairs)
{
	assert(rows > 0 && rows <= SIDE && pairs % PAIRS == 0);
	(void)pairs;
	if (shaped_for != rows)
		shape_for(rows);
	__asm__ volatile("" : : : "memory"); /* keeps tile loads, whose reads are unknown to GCC, after this point */
}

void mr_block_amx(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
		  float *c)
{
	bool both = rows > HALF;

	shape_of(rows, pairs);
	begin(both, true, add, c);
	if (both)
		all(a, a_pitch, b, pairs);
	else
		upper(a, a_pitch, b, pairs);
	end(both, true, c);
}

/* --- A where it is stored: its rows come from afar, and B, which is small, is in L1 ------------------------------- */

/* Prefetches @n rows. */
static inline void fetch_rows(const uint32_t *a, int64_t a_pitch, int64_t n)
{
	uintptr_t at = (uintptr_t)a + 2 * TILE_BYTES;

	for (int64_t i = 0; i < n; i++)
		__builtin_prefetch((const void *)(at + (uintptr_t)(i * a_pitch * 4)), 0, 3);
}

/* @wide: with the columns of B1. */
static inline void stored_rows(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs,
			       bool wide)
{
	int64_t upper_rows = rows > HALF ? HALF : rows, lower_rows = rows - upper_rows;
	const uint32_t *below = a + HALF * a_pitch;

	for (int64_t p = 0; p < pairs; p += PAIRS) {
		_tile_loadd(4, a + p, a_pitch * 4);
		_tile_loadd(6, b + p * SIDE, SIDE * 4);
		fetch_rows(a + p, a_pitch, upper_rows);
		_tile_dpbf16ps(0, 4, 6);
		if (wide) {
			_tile_loadd(7, b + p * SIDE + HALF, SIDE * 4);
			_tile_dpbf16ps(1, 4, 7);
		}
		if (lower_rows) {
			_tile_loadd(5, below + p, a_pitch * 4);
			fetch_rows(below + p, a_pitch, lower_rows);
			_tile_dpbf16ps(2, 5, 6);
		}
		if (lower_rows && wide)
			_tile_dpbf16ps(3, 5, 7);
	}
}

void mr_block_amx_turned(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
			 float *c)
{
	shape_of(rows, pairs);
	begin(rows > HALF, true, add, c);
	stored_rows(a, a_pitch, rows, b, pairs, true);
	end(rows > HALF, true, c);
}

void mr_block_amx_turned_half(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs,
			      bool add, float *c)
{
	shape_of(rows, pairs);
	begin(rows > HALF, false, add, c);
	stored_rows(a, a_pitch, rows, b, pairs, false);
	end(rows > HALF, false, c);
}
#endif
