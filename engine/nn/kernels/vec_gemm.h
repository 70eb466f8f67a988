/*
 * vec_gemm.h - matrix products with a small or skinny operand, where a general library waits for memory, and the product
 * whose result is a gradient that an optimizer step consumes on the spot.
 *
 * C[m,n] = op(A)[m,k] op(B)[k,n]. A tile of C, TILE rows x 2 vectors, stays in registers while k runs: A comes as a
 * sliver (the tile's rows, broadcast number by number: [k][LANES], in panels [rows][DEPTH], which is a copy and no turn), B as
 * a panel [k][2 LANES]. Each element of C is one chain of fused multiply-adds over ascending k, begun at 0, or with `add` at
 * what is in C; blocks of k continue the chain. So the bits depend neither on tiles and blocks nor on how the work was shared out, and adding up micro-batches gives
 * the same bits as one product over all their rows.
 *
 * Four orders, each for the shape in which the big operand is streamed once, front to back, since what limits small
 * batches is the latency of the last cache level. A core keeps a dozen lines in flight for its own misses, but its hardware
 * streamer keeps several times that, provided that addresses ascend. Hence prefetches run through the *memory* order of what comes
 * next, whatever order the tiles read it in.
 *
 *	panels	x W: few rows of A; W by blocks of DEPTH rows. The first tile of a panel packs it in passing.
 *	groups	x^T dz: few k, a big C. A group is one tile's rows of C; C, or weights and optimizer state, stream by.
 *	strips	dz W^T: few rows of A; rows of W are read as they lie, and the lanes hold rows of A (vec_gemm_strips.h).
 *	tall	each of the three for the many rows of a large batch (vec_gemm_tall.h).
 */
#define GROUP_DEPTH 256  /* k of a block in groups */
#define GROUP_COLS 1024  /* columns of a block in groups: its packed part of B fits L2 */
#define SLIVER (DEPTH * GEMM_ROWS) /* floats of a sliver in panels */
#define PANEL_GROUPS 32  /* tiles of rows that share a packed panel */
#define PARTIAL_FLOATS 131072 /* unfinished part of C that is kept in panels: half of a 1 MiB L2 */
#define KEPT_FLOATS 327680   /* slivers that are kept for panels taken later */
#define UNIT_TILES 5         /* rows of a unit of panels */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* dst[l][lane] = src[lane][l]: @rows (at most LANES) rows of @src, @k columns; missing rows are 0. */
static void pack_turned(const float *src, int64_t pitch, int64_t rows, int64_t k, float *dst, int64_t dst_pitch)
{
	for (int64_t l = 0; l < k; l += LANES) {
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

/* Rows i.. of A, k0.. of k, as a sliver of panels. */
static void copy_rows(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t k0, int64_t k, float *dst)
{
	for (int64_t r = 0; r < rows; r++, dst += DEPTH) {
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

/* One block of k in panels. */
typedef struct panel_block {
	const mr_vec_gemm *g;
	int64_t row, rows, tiles; /* of C: where they begin, how many, in how many tiles, */
	int64_t q0, q1;           /* and those of them to be computed */
	int64_t j0, j1;           /* columns */
	int64_t k0, k;
	float *slivers, *panel, *partial;
} panel_block;

static void panel_tiles(const panel_block *p, int64_t j)
{
	const mr_vec_gemm *g = p->g;
	bool first = p->k0 == 0, last = p->k0 + p->k == g->k;
	int64_t cols = least(NR, p->j1 - j), lines = p->k * (NR / LINE), line = (j - p->j0) / NR * lines;
	int64_t row_lines = (p->j1 - p->j0 + LINE - 1) / LINE, next_row = last ? p->k0 : p->k0 + p->k;
	bool in_passing = !g->tb && cols == NR;
	tile t = {.g = g, .j = j, .cols = cols, .k = p->k, .b = p->panel, .in_pitch = first ? g->n : NR, .out_pitch = NR,
		  .skip = g->n - row_lines * LINE, .row_lines = row_lines};

	if (in_passing) {
		t.pack = p->panel;
		t.b = g->b + p->k0 * g->n + j;
		t.b_pitch = g->n;
	} else {
		pack_panel(g, p->k0, p->k, j, cols, p->panel);
	}
	for (int64_t q = p->q0, n = p->q1 - p->q0; q < p->q1; q++) {
		int64_t r = tile_row(p->rows, q, p->tiles), rows = tile_row(p->rows, q + 1, p->tiles) - r;
		int64_t l0 = line + lines * (q - p->q0) / n, l1 = line + lines * (q - p->q0 + 1) / n;
		float *partial = p->partial + (j - p->j0) * p->rows + r * NR;

		t.i = p->row + r;
		t.a = p->slivers + q * SLIVER;
		t.soon = p->slivers + (q + 1 < p->q1 ? q + 1 : p->q0) * SLIVER;
		if (!first || g->add)
			t.in = first ? g->c + t.i * g->n + j : partial;
		if (!last)
			t.out = partial;
		if (!g->tb) {
			t.next = g->b + (next_row + l0 / row_lines) * g->n + p->j0 + l0 % row_lines * LINE;
			t.n_next = l1 - l0;
			t.left = row_lines - l0 % row_lines;
		}
		tile_any(&t, rows);
		t.pack = NULL;
		t.b = p->panel;
	}
}

/* The next block's part of A: half of it was written by another core when there are two. */
static void fetch_rows(const panel_block *p)
{
	const mr_vec_gemm *g = p->g;
	int64_t k0 = p->k0 + p->k, k1 = least(g->k, k0 + DEPTH);

	for (int64_t i = p->row; i < p->row + p->rows; i++)
		for (int64_t l = k0; l < k1; l += LINE)
			fetch_l2(g->a + i * g->k + l);
}

/* The slivers of one block of k. */
static void panel_slivers(const panel_block *p)
{
	for (int64_t q = 0; q < p->tiles; q++) {
		int64_t i = tile_row(p->rows, q, p->tiles);

		copy_rows(p->g, p->row + i, tile_row(p->rows, q + 1, p->tiles) - i, p->k0, p->k, p->slivers + q * SLIVER);
	}
}

static void panels_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	int64_t tiles = tiles_of(r1 - r0), at_once = least(tiles, PANEL_GROUPS);
	int64_t width = PARTIAL_FLOATS / (at_once * GEMM_ROWS) / NR * NR;
	panel_block p = {.g = g, .panel = scratch, .slivers = scratch + DEPTH * NR};

	p.partial = p.slivers + PANEL_GROUPS * SLIVER;
	for (int64_t q = 0; q < tiles; q += at_once) {
		p.tiles = p.q1 = least(at_once, tiles - q);
		p.row = r0 + tile_row(r1 - r0, q, tiles);
		p.rows = r0 + tile_row(r1 - r0, q + p.tiles, tiles) - p.row;
		for (p.j0 = c0; p.j0 < c1; p.j0 = p.j1) {
			p.j1 = least(c1, p.j0 + width);
			for (p.k0 = 0; p.k0 < g->k; p.k0 += p.k) {
				p.k = least(DEPTH, g->k - p.k0);
				panel_slivers(&p);
				fetch_rows(&p);
				for (int64_t j = p.j0; j < p.j1; j += NR)
					panel_tiles(&p, j);
			}
		}
	}
}

static int64_t panel_parts(int64_t m)
{
	int64_t tiles = tiles_of(m);

	return tiles < 2 * UNIT_TILES ? 1 : tiles / UNIT_TILES;
}

/* Columns of panels a .. b, all k, for tiles q0 .. q1. Slivers stay for the next call; of @made blocks of k there are some. */
static void panels_sweep(panel_block *p, int64_t a, int64_t b, float *slivers, int64_t *made)
{
	const mr_vec_gemm *g = p->g;
	int64_t block = 0;

	p->j0 = a * NR;
	p->j1 = least(g->n, b * NR);
	for (p->k0 = 0; p->k0 < g->k; p->k0 += p->k, block++) {
		p->k = least(DEPTH, g->k - p->k0);
		p->slivers = slivers + block * p->tiles * SLIVER;
		if (block == *made) {
			panel_slivers(p);
			fetch_rows(p);
			++*made;
		}
		for (int64_t j = p->j0; j < p->j1; j += NR)
			panel_tiles(p, j);
	}
}

/*
 * A unit is a panel of columns with all k and some tiles of rows. The first three quarters of a thread's part are one sweep, whose
 * rows of B are long; it leaves all slivers behind for the units after it.
 */
static void panels_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	int64_t parts = panel_parts(g->m), panels = (g->n + NR - 1) / NR, made = 0, end;
	int64_t width = PARTIAL_FLOATS / (tiles_of(g->m) * GEMM_ROWS) / NR;
	int64_t own = panels * 3 / 4 / g->n_share > 0 ? least(width, panels * 3 / 4 / g->n_share) * parts : 1;
	panel_block p = {.g = g, .rows = g->m, .tiles = tiles_of(g->m), .panel = scratch, .partial = scratch + DEPTH * NR};
	float *slivers = p.partial + PARTIAL_FLOATS + PANEL_GROUPS * GEMM_ROWS * NR;

	for (int64_t at; (at = mr_share_take(g->share, g->n_share, worker, own, &end)) >= 0; own = 1) {
		while (at < end) {
			int64_t part = at % parts, whole = part ? 0 : (end - at) / parts;

			p.q0 = whole ? 0 : p.tiles * part / parts;
			p.q1 = whole ? p.tiles : p.tiles * (part + 1) / parts;
			panels_sweep(&p, at / parts, at / parts + (whole ? whole : 1), slivers, &made);
			at += whole ? whole * parts : 1;
		}
	}
}

/* All tiles of one group: @rows rows of C from @i, columns j0 .. j1. Sums that are not finished wait in C itself. */
static void group_tiles(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t j0, int64_t j1, int64_t k0, int64_t k,
			const float *sliver, const float *panels)
{
	int64_t n = (j1 - j0 + NR - 1) / NR, row_lines = (j1 - j0 + LINE - 1) / LINE, lines = rows * row_lines;
	bool last = k0 + k == g->k, fetch = i + 2 * rows <= g->m;
	tile t = {.g = g, .i = i, .k = k, .a = sliver, .in_pitch = g->n, .out_pitch = g->n,
		  .skip = g->n - row_lines * LINE, .row_lines = row_lines};

	for (int64_t q = 0; q < n; q++) {
		int64_t j = j0 + q * NR, l0 = lines * q / n, l1 = lines * (q + 1) / n;
		float *c = g->c + i * g->n + j;

		t.j = j;
		t.cols = least(NR, j1 - j);
		t.b = panels + q * NR * k;
		t.in = k0 > 0 || g->add ? c : NULL;
		t.out = last ? NULL : c;
		if (fetch) { /* the next group's rows, in the order of memory */
			t.step_next = (i + rows + l0 / row_lines) * g->n + j0 + l0 % row_lines * LINE;
			t.next = g->c + t.step_next;
			t.n_next = l1 - l0;
			t.left = row_lines - l0 % row_lines;
		}
		tile_any(&t, rows);
	}
}

static void groups_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	int64_t rows = r1 - r0, tiles = tiles_of(rows);
	float *sliver = scratch, *panels = scratch + GROUP_DEPTH * LANES;

	for (int64_t j0 = c0; j0 < c1; j0 += GROUP_COLS) {
		int64_t j1 = least(c1, j0 + GROUP_COLS), k;

		for (int64_t k0 = 0; k0 < g->k; k0 += k) {
			k = least(GROUP_DEPTH, g->k - k0);
			for (int64_t j = j0; j < j1; j += NR)
				pack_panel_rows(g, k0, k, j, least(NR, j1 - j), panels + (j - j0) * k);
			for (int64_t q = 0; q < tiles; q++) {
				int64_t i = tile_row(rows, q, tiles), n = tile_row(rows, q + 1, tiles) - i;

				pack_sliver(g, r0 + i, n, k0, k, sliver);
				group_tiles(g, r0 + i, n, j0, j1, k0, k, sliver, panels);
			}
		}
	}
}

/* A unit is one group in one block of columns. A thread packs a block's part of B when it takes the first unit of it. */
static void groups_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	int64_t tiles = tiles_of(g->m), packed = -1, at, end;
	float *sliver = scratch, *panels = scratch + GROUP_DEPTH * LANES;

	while ((at = mr_share_take(g->share, g->n_share, worker, 1, &end)) >= 0) {
		int64_t j0 = at / tiles * GROUP_COLS, j1 = least(g->n, j0 + GROUP_COLS), q = at % tiles;
		int64_t i = tile_row(g->m, q, tiles), rows = tile_row(g->m, q + 1, tiles) - i;

		for (int64_t j = j0; j < j1 && packed != j0; j += NR)
			pack_panel_rows(g, 0, g->k, j, least(NR, j1 - j), panels + (j - j0) * g->k);
		packed = j0;
		pack_sliver(g, i, rows, 0, g->k, sliver);
		group_tiles(g, i, rows, j0, j1, 0, g->k, sliver, panels);
	}
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

static void gemm_panels(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	gemm_range(args, lo, hi, worker, panels_run, panels_shared);
}

static void gemm_groups(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	gemm_range(args, lo, hi, worker, groups_run, groups_shared);
}
