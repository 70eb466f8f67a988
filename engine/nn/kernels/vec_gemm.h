/*
 * vec_gemm.h - matrix products with a small or skinny operand, where a general library waits for memory, and the product
 * whose result is a gradient that an optimizer step consumes on the spot.
 *
 * C[m,n] = op(A)[m,k] op(B)[k,n]. A tile of C, TILE rows x 2 vectors, stays in registers while k runs: A comes as a
 * sliver (the tile's rows, broadcast number by number: [k][LANES], in panels [rows][DEPTH], which is a copy and no turn), B as
 * a panel [k][2 LANES]. Each element of C is one chain of fused multiply-adds over ascending k, begun at 0, or with `add` at
 * what is in C; blocks of k continue the chain (long sums of strips do not: vec_gemm_strips.h). So the bits depend neither on
 * tiles and blocks nor on how the work was shared out, and adding up micro-batches gives the same bits as one product over all
 * their rows.
 *
 * Four orders, each for the shape in which the big operand is streamed once, front to back, since what limits small
 * batches is the latency of the last cache level. A core keeps a dozen lines in flight for its own misses, but its hardware
 * streamer keeps several times that, provided that addresses ascend. Hence prefetches run through the *memory* order of what comes
 * next, whatever order the tiles read it in.
 *
 *	panels	x W: few rows of A; W by blocks of DEPTH rows. The first tile of a panel packs it in passing. From some dozens of
 *		rows on in tiles of four vectors, with AVX-512 (vec_gemm_wide.h).
 *	groups	x^T dz: few k, a big C. A group is one tile's rows of C; C, or weights and optimizer state, stream by.
 *		With an optimizer step, of 48 k or more: in tiles of four vectors (vec_gemm_stepped.h).
 *	strips	dz W^T: few rows of A; rows of W are read as they lie, and the lanes hold rows of A (vec_gemm_strips.h).
 *	tall	each of the three for the many rows of a large batch (vec_gemm_tall.h).
 */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* dst[c][lane] = src[lane][c]: LANES rows and columns. */
static inline void turn_square(const float *src, int64_t pitch, float *dst, int64_t dst_pitch)
{
#pragma GCC unroll 4
	for (int c = 0; c < LANES; c += 4) {
		V x[4];

		v_columns(src + c, pitch, x);
#pragma GCC unroll 4
		for (int u = 0; u < 4; u++)
			v_store(dst + (c + u) * dst_pitch, x[u], 0);
	}
}

/* dst[l][lane] = src[lane][l]: @rows (at most LANES) rows of @src, @k columns; missing rows are 0. */
static void pack_turned(const float *src, int64_t pitch, int64_t rows, int64_t k, float *dst, int64_t dst_pitch)
{
	int64_t l = 0;

	for (; rows >= LANES && l + LANES <= k; l += LANES) {
		for (int r = 0; r < LANES; r++)
			fetch_line(src + r * pitch + l + 2 * LINE);
		turn_square(src + l, pitch, dst + l * dst_pitch, dst_pitch);
	}
	for (; l < k; l += LANES) {
		int64_t n = k - l < LANES ? k - l : LANES;
		V x[LANES];

		for (int r = 0; r < LANES; r++)
			x[r] = r < rows ? v_load(src + r * pitch + l, n < LANES ? n : 0) : v_set(0.0f);
		v_turn(x);
		for (int r = 0; r < n; r++)
			v_store(dst + (l + r) * dst_pitch, x[r], 0);
	}
}

/* dst[l][lane] = src[l][lane]: @cols (at most LANES) columns; missing ones are 0. */
static void pack_straight(const float *src, int64_t pitch, int64_t cols, int64_t k, float *dst, int64_t dst_pitch)
{
	for (int64_t l = 0; l < k; l++)
		v_store(dst + l * dst_pitch, cols > 0 ? v_load(src + l * pitch, cols < LANES ? cols : 0) : v_set(0.0f), 0);
}

/* Rows i.. of A, k0.. of k, as a sliver of rows @pitch apart (at least @k, rounded up to LANES). */
static void copy_rows(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t k0, int64_t k, float *dst, int64_t pitch)
{
	for (int64_t r = 0; r < rows; r++, dst += pitch) {
		const float *src = g->a + (i + r) * g->k + k0;
		int64_t l = 0;

		for (; l + LANES <= k; l += LANES)
			v_store(dst + l, v_load(src + l, 0), 0);
		if (l < k)
			v_store(dst + l, v_load(src + l, k - l), 0);
	}
}

static void pack_panel(const mr_vec_gemm *g, int64_t k0, int64_t k, int64_t j, int64_t cols, float *dst)
{
	for (int v = 0; v < 2; v++, j += LANES, cols -= LANES, dst += LANES) {
		if (g->tb)
			pack_turned(g->b + j * g->k + k0, g->k, cols, k, dst, NR);
		else
			pack_straight(g->b + k0 * g->n + j, g->n, cols, k, dst, NR);
	}
}

/* In groups A^T and B lie row by row, in one piece or in several. A sliver is [k][LANES]. */
static void pack_sliver(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t k0, int64_t k, float *dst)
{
	if (!g->as) {
		pack_straight(g->a + k0 * g->m + i, g->m, rows, k, dst, LANES);
		return;
	}
	for (int64_t l = 0, n; l < k; l += n) {
		int64_t at = k0 + l, in = at % g->piece;

		n = least(k - l, g->piece - in);
		pack_straight(g->as[at / g->piece] + in * g->m + i, g->m, rows, n, dst + l * LANES, LANES);
	}
}

static void pack_panel_rows(const mr_vec_gemm *g, int64_t k0, int64_t k, int64_t j, int64_t cols, float *dst)
{
	if (!g->bs) {
		pack_panel(g, k0, k, j, cols, dst);
		return;
	}
	for (int64_t l = 0, n; l < k; l += n) {
		int64_t at = k0 + l, in = at % g->piece;
		const float *rows = g->bs[at / g->piece] + in * g->n + j;

		n = least(k - l, g->piece - in);
		pack_straight(rows, g->n, cols, n, dst + l * NR, NR);
		pack_straight(rows + LANES, g->n, cols - LANES, n, dst + l * NR + LANES, NR);
	}
}

/* --- the orders --------------------------------------------------------------------------------------------------- */

/* First row of tile @q of @n tiles that share @rows rows as evenly as possible. */
static int64_t tile_row(int64_t rows, int64_t q, int64_t n)
{
	return rows * q / n;
}

static int64_t tiles_of(int64_t rows)
{
	return (rows + GEMM_ROWS - 1) / GEMM_ROWS;
}

/*
 * What comes next from far away, fetched some lines a tile. All that a tile begins with (its rows, where its sums lie) is found
 * without a division: on the way to its first multiply-add one takes longer than what is left to do for the tile before.
 */
typedef struct ahead {
	int64_t row, line, row_lines; /* the next line, and lines of a row's part that is wanted */
	int64_t lines;                /* that are left */
} ahead;

/* At most @most lines are this tile's. Returns the first, relative to row 0, line 0, in rows of @pitch floats. */
static int64_t ahead_take(ahead *h, int64_t most, int64_t pitch, tile *t)
{
	int64_t at = h->row * pitch + h->line * LINE;

	t->n_next = least(most, h->lines);
	t->left = h->row_lines - h->line;
	h->lines -= t->n_next;
	h->line += t->n_next;
	if (h->line >= h->row_lines) {
		h->row += h->line / h->row_lines;
		h->line %= h->row_lines;
	}
	return at;
}

/* Rows r0 .. r1 and columns c0 .. c1 of C. */
typedef void gemm_order_fn(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch);

/* All units that the thread can get. */
typedef void gemm_shared_fn(const mr_vec_gemm *g, uint32_t worker, float *scratch);

/* The range is of rows or of columns of C. */
static void gemm_range(const mr_vec_gemm *g, int64_t lo, int64_t hi, uint32_t worker, gemm_order_fn *run,
		       gemm_shared_fn *shared)
{
	float *scratch = g->scratch + worker * g->scratch_floats;

	if (g->share)
		shared(g, worker, scratch);
	else if (g->by_rows)
		run(g, lo, hi, 0, g->n, scratch);
	else
		run(g, 0, g->m, lo, hi, scratch);
}
