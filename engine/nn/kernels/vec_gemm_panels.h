/*
 * vec_gemm_panels.h - x W: few rows of A, whose slivers stay in L1; W by blocks of DEPTH rows, of which each element is read
 * once. The first tile of a panel packs it in passing. See vec_gemm.h.
 */
#define SLIVER (DEPTH * GEMM_ROWS) /* floats of a sliver in panels */
#define PANEL_GROUPS 32  /* tiles of rows that share a packed panel */
#define PARTIAL_FLOATS 131072 /* unfinished part of C that is kept in panels: half of a 1 MiB L2 */
#define KEPT_FLOATS 327680   /* slivers that are kept for panels taken later */
#define PANEL_TILES 64       /* the same, where slivers are kept */
#define UNIT_TILES 5         /* rows of a unit of panels */

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

static void gemm_panels(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_gemm *g = args;

	if (wide_takes(g->by_rows ? hi - lo : g->m, g->n))
		gemm_range(g, lo, hi, worker, wide_range, wide_shared);
	else
		gemm_range(g, lo, hi, worker, panels_run, panels_shared);
}

static int64_t panel_units(const mr_vec_gemm *g)
{
	int64_t blocks = (g->k + DEPTH - 1) / DEPTH;

	if (!g->by_rows && wide_takes(g->m, g->n))
		return wide_units(g);
	return !g->by_rows && tiles_of(g->m) <= PANEL_TILES && blocks * tiles_of(g->m) * SLIVER <= KEPT_FLOATS
		       ? (g->n + NR - 1) / NR * panel_parts(g->m) : 0;
}

static size_t panel_floats(int64_t k)
{
	(void)k;
	return DEPTH * NR + PARTIAL_FLOATS + PANEL_GROUPS * GEMM_ROWS * NR + KEPT_FLOATS; /* more than wide tiles need */
}

_Static_assert(DEPTH * NR + PARTIAL_FLOATS + KEPT_FLOATS >= WIDE_FLOATS, "panels and wide tiles share their scratch");
