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
#define PANEL_TILES 64       /* the same, where slivers are kept */
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

/* One block of k in panels. */
typedef struct panel_block {
	const mr_vec_gemm *g;
	int64_t row, rows, tiles;      /* of C: where they begin, how many, in how many tiles, */
	int32_t first[PANEL_TILES + 1]; /* where each of those begins, and their end, */
	int64_t q0, q1;                /* and which are to be computed */
	int64_t j0, j1;                /* columns */
	int64_t k0, k;
	ahead ahead;                   /* in B */
	float *slivers, *panel, *partial;
} panel_block;

static void panel_rows(panel_block *p, int64_t row, int64_t rows, int64_t tiles)
{
	p->row = row;
	p->rows = rows;
	p->tiles = p->q1 = tiles;
	for (int64_t q = 0; q <= tiles; q++)
		p->first[q] = (int32_t)tile_row(rows, q, tiles);
}

static void panel_tiles(panel_block *p, int64_t j)
{
	const mr_vec_gemm *g = p->g;
	bool first = p->k0 == 0, last = p->k0 + p->k == g->k;
	int64_t cols = least(NR, p->j1 - j), n = p->q1 - p->q0, each = (p->k * (NR / LINE) + n - 1) / n;
	bool in_passing = !g->tb && cols == NR;
	float *partial = p->partial + (j - p->j0) * p->rows;
	tile t = {.g = g, .j = j, .cols = cols, .k = p->k, .b = p->panel, .in_pitch = first ? g->n : NR, .out_pitch = NR,
		  .own_pitch = g->n, .skip = g->n - p->ahead.row_lines * LINE, .row_lines = p->ahead.row_lines};

	if (in_passing) {
		t.pack = p->panel;
		t.b = g->b + p->k0 * g->n + j;
		t.b_pitch = g->n;
	} else {
		pack_panel(g, p->k0, p->k, j, cols, p->panel);
	}
	for (int64_t q = p->q0; q < p->q1; q++) {
		int64_t r = p->first[q];

		t.i = p->row + r;
		t.a = p->slivers + q * SLIVER;
		t.soon = p->slivers + (q + 1 < p->q1 ? q + 1 : p->q0) * SLIVER;
		if (!first || g->add)
			t.in = first ? g->c + t.i * g->n + j : partial + r * NR;
		if (last)
			t.own = g->c + t.i * g->n + j, t.n_own = p->first[q + 1] - r;
		else
			t.out = partial + r * NR;
		if (!g->tb)
			t.next = g->b + p->j0 + ahead_take(&p->ahead, each, g->n, &t);
		tile_any(&t, p->first[q + 1] - r);
		t.pack = NULL;
		t.b = p->panel;
	}
}

/* Columns j0 .. j1 of one block of k: meanwhile the next block's rows of B are fetched, or this one's again behind the last. */
static void panel_columns(panel_block *p)
{
	int64_t row_lines = (p->j1 - p->j0 + LINE - 1) / LINE;

	p->ahead = (ahead){.row = p->k0 + p->k == p->g->k ? p->k0 : p->k0 + p->k, .row_lines = row_lines,
			   .lines = p->k * row_lines};
	for (int64_t j = p->j0; j < p->j1; j += NR)
		panel_tiles(p, j);
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
		int64_t r = p->first[q];

		copy_rows(p->g, p->row + r, p->first[q + 1] - r, p->k0, p->k, p->slivers + q * SLIVER, DEPTH);
	}
}

static void panels_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	int64_t tiles = tiles_of(r1 - r0), at_once = least(tiles, PANEL_GROUPS);
	int64_t width = PARTIAL_FLOATS / (at_once * GEMM_ROWS) / NR * NR;
	panel_block p = {.g = g, .panel = scratch, .slivers = scratch + DEPTH * NR};

	p.partial = p.slivers + PANEL_GROUPS * SLIVER;
	for (int64_t q = 0; q < tiles; q += at_once) {
		int64_t end = least(q + at_once, tiles), row = tile_row(r1 - r0, q, tiles);

		panel_rows(&p, r0 + row, tile_row(r1 - r0, end, tiles) - row, end - q);
		for (p.j0 = c0; p.j0 < c1; p.j0 = p.j1) {
			p.j1 = least(c1, p.j0 + width);
			for (p.k0 = 0; p.k0 < g->k; p.k0 += p.k) {
				p.k = least(DEPTH, g->k - p.k0);
				panel_slivers(&p);
				fetch_rows(&p);
				panel_columns(&p);
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
		panel_columns(p);
	}
}

/*
 * A unit is a panel of columns with all k and some tiles of rows. The first seven eighths of a thread's part are one sweep, whose
 * rows of B are long; it leaves all slivers behind for the units after it.
 */
static void panels_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	int64_t parts = panel_parts(g->m), panels = (g->n + NR - 1) / NR, made = 0, end;
	int64_t width = PARTIAL_FLOATS / (tiles_of(g->m) * GEMM_ROWS) / NR;
	int64_t own = panels * 7 / 8 / g->n_share > 0 ? least(width, panels * 7 / 8 / g->n_share) * parts : 1;
	panel_block p = {.g = g, .panel = scratch, .partial = scratch + DEPTH * NR};
	float *slivers = p.partial + PARTIAL_FLOATS + PANEL_GROUPS * GEMM_ROWS * NR;

	panel_rows(&p, 0, g->m, tiles_of(g->m));
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
	int64_t n = (j1 - j0 + NR - 1) / NR, row_lines = (j1 - j0 + LINE - 1) / LINE, each = (rows * row_lines + n - 1) / n;
	bool last = k0 + k == g->k;
	/* the next group's rows, in the order of memory */
	ahead next = {.row = i + rows, .row_lines = row_lines, .lines = i + 2 * rows <= g->m ? rows * row_lines : 0};
	tile t = {.g = g, .i = i, .k = k, .a = sliver, .in_pitch = g->n, .out_pitch = g->n,
		  .skip = g->n - row_lines * LINE, .row_lines = row_lines};

	for (int64_t q = 0; q < n; q++) {
		int64_t j = j0 + q * NR;
		float *c = g->c + i * g->n + j;

		t.j = j;
		t.cols = least(NR, j1 - j);
		t.b = panels + q * NR * k;
		t.in = k0 > 0 || g->add ? c : NULL;
		t.out = last ? NULL : c;
		t.step_next = j0 + ahead_take(&next, each, g->n, &t);
		t.next = g->c + t.step_next;
		tile_any(&t, rows);
	}
}

/* Columns of a block: as few blocks as do, all alike. */
static int64_t group_width(int64_t cols)
{
	int64_t blocks = (cols + GROUP_COLS - 1) / GROUP_COLS;

	return ((cols + blocks - 1) / blocks + NR - 1) / NR * NR;
}

static void groups_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	int64_t rows = r1 - r0, tiles = tiles_of(rows), width = group_width(c1 - c0);
	float *sliver = scratch, *panels = scratch + GROUP_DEPTH * LANES;

	for (int64_t j0 = c0; j0 < c1; j0 += width) {
		int64_t j1 = least(c1, j0 + width), k;

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
	int64_t tiles = tiles_of(g->m), width = group_width(g->n), packed = -1, at, end;
	float *sliver = scratch, *panels = scratch + GROUP_DEPTH * LANES;

	while ((at = mr_share_take(g->share, g->n_share, worker, 1, &end)) >= 0) {
		int64_t j0 = at / tiles * width, j1 = least(g->n, j0 + width), q = at % tiles;
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
