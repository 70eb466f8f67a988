/*
 * vec_gemm_wide.h - x W for more than a few rows of A: tiles of six rows and WIDE columns. See vec_gemm.h.
 *
 *	          j -> panels of WIDE columns
 *	k0   +------+------+------+
 *	     | pack | next |      |     a block: WIDE_K rows of W. The first tile of a panel packs it in passing; meanwhile the next
 *	k0+k +------+------+------+     panel's lines are fetched, and a row of A's next block in each tile
 *
 * Two things decide here besides the multiply-adds. Pages: a row of W or of A is often a page of its own, and where a host
 * backs memory by small pages a core knows 96 of them for loads and 16 for stores (7 cycles a miss, 36 for a walk). Six rows
 * of A and of C are fewer than the fourteen of a tile of two vectors, twice as many columns take twice as much of each page
 * of W, and rows of A are read as they lie, six lines of one set of L1 at a time. And branches: what a tile fetches is a row
 * of lines for every LINE rows of k, the same each time, in loops of constant length. Counting loops whose length varies, to
 * spread the fetches evenly, were mispredicted at each end, which cost 15 % with tiles of this shape and 5 % with fourteen rows.
 *
 * Sums that are not finished wait in panels of their own, in L2. Measured on two cores with 2 MiB of L2 each, of a peak of
 * 460 GFLOP/s, in panels of two vectors and here: 128 rows, 1024 x 1024: 386, 401; 784 x 1024: 376, 405; 256 rows, 768 x 768:
 * 386, 413; 768 x 3072 with GELU: 362, 394. With AVX2, whose registers hold six rows of two vectors anyway, panels are 2 % faster
 * (198, 193; 205, 200), and all products x W go through them.
 */
#define WIDE_ROWS 6
#define WIDE (WIDE_VECS * LANES)
#define WIDE_LINES (WIDE / LINE)
#define WIDE_K 128
#define WIDE_LEAST_ROWS 48     /* fewer make too few tiles of a packed panel, */
#define WIDE_LEAST_COLS (4 * WIDE) /* fewer waste too much in the last panel */
#define WIDE_MOST_ROWS 256     /* at a time */
#define WIDE_TILES ((WIDE_MOST_ROWS + WIDE_ROWS - 1) / WIDE_ROWS)
#define WIDE_PARTIAL 131072    /* floats of unfinished sums: a quarter of L2 */
#define WIDE_UNIT_TILES 11     /* rows of a unit: with 5 of them a product of 128 rows took 2 % longer */

/* As `tile`: set up once, changed from tile to tile. */
typedef struct wide {
	const mr_vec_gemm *g;
	int64_t at, j;           /* place in C, of a tile that finishes */
	int64_t k;
	const float *a;          /* rows of A as they lie */
	const float *b;          /* panel [k][WIDE], or rows of W itself when it is to be packed */
	int64_t b_pitch;
	float *pack;             /* where the panel goes */
	const float *in;         /* the sum so far; NULL: none */
	int64_t in_pitch;
	float *out;              /* NULL: C gets bias and activation */
	int64_t out_pitch;
	const float *next;       /* fetched into L2: WIDE_LINES lines each of some rows for every LINE of k, */
	int64_t next_pitch, next_rows;
	float *own;              /* and into L1, to be written: a row for every LINE of k, */
	int64_t own_pitch, n_own; /* as many */
} wide;

/* A panel's operand is fetched so many k ahead while it is packed. */
#define WIDE_AHEAD 4

FORCE_INLINE void wide_fma(V acc[WIDE_ROWS][WIDE_VECS], int rows, const float *a, int64_t pitch, const V b[WIDE_VECS])
{
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		V x = v_set(a[r * pitch]);

#pragma GCC unroll 4
		for (int v = 0; v < WIDE_VECS; v++)
			acc[r][v] = v_fma(x, b[v], acc[r][v]);
	}
}

/* @packs is constant in each caller. */
FORCE_INLINE void wide_k(V acc[WIDE_ROWS][WIDE_VECS], int rows, const float *a, int64_t pitch, const float *b, int64_t b_pitch,
			 float *pack, bool packs)
{
	V x[WIDE_VECS];

#pragma GCC unroll 4
	for (int v = 0; v < WIDE_VECS; v++)
		x[v] = v_load(b + v * LANES, 0);
	if (packs) {
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_LINES; v++)
			fetch_line(b + WIDE_AHEAD * b_pitch + v * LINE);
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_VECS; v++)
			v_store(pack + v * LANES, x[v], 0);
	}
	wide_fma(acc, rows, a, pitch, x);
}

FORCE_INLINE void wide_begin(const wide *t, V acc[WIDE_ROWS][WIDE_VECS], int rows)
{
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_VECS; v++)
			acc[r][v] = t->in ? v_load(t->in + r * t->in_pitch + v * LANES, 0) : v_set(0.0f);
}

FORCE_INLINE void wide_store(V acc[WIDE_ROWS][WIDE_VECS], int rows, float *out, int64_t pitch)
{
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_VECS; v++)
			v_store(out + r * pitch + v * LANES, acc[r][v], 0);
}

/* As tile_gelu. */
FORCE_INLINE void wide_gelu(const wide *t, V acc[WIDE_ROWS][WIDE_VECS], int rows)
{
	float sum[WIDE_ROWS * WIDE] __attribute__((aligned(64)));
	const mr_vec_gemm *g = t->g;

	wide_store(acc, rows, sum, WIDE);
	for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
		for (int v = 0; v < WIDE; v += LANES) {
			V slope, y = gelu_and_slope(v_load(sum + r * WIDE + v, 0), &slope);

			v_store(g->c + t->at + r * g->n + v, y, 0);
			v_store(g->slope + t->at + r * g->n + v, slope, 0);
		}
	}
}

FORCE_INLINE void wide_finish(const wide *t, V acc[WIDE_ROWS][WIDE_VECS], int rows)
{
	const mr_vec_gemm *g = t->g;

	if (g->bias) {
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_VECS; v++) {
			V b = v_load(g->bias + t->j + v * LANES, 0);

#pragma GCC unroll 6
			for (int r = 0; r < rows; r++)
				acc[r][v] = v_add(acc[r][v], b);
		}
	}
	if (g->act == MR_ACT_GELU) {
		wide_gelu(t, acc, rows);
		return;
	}
	if (g->addend) {
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (int v = 0; v < WIDE_VECS; v++)
				acc[r][v] = v_add(acc[r][v], v_load(g->addend + t->at + r * g->n + v * LANES, 0));
	}
	if (g->act == MR_ACT_RELU) {
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (int v = 0; v < WIDE_VECS; v++)
				acc[r][v] = v_relu(acc[r][v]);
	}
	wide_store(acc, rows, g->c + t->at, g->n);
}

FORCE_INLINE void wide_run(const wide *t, int rows, bool packs)
{
	V acc[WIDE_ROWS][WIDE_VECS];
	const float *a = t->a, *b = t->b, *next = t->next;
	int64_t pitch = t->g->k, b_pitch = packs ? t->b_pitch : WIDE, n_own = t->n_own, l = t->k;
	float *pack = t->pack, *own = t->own;

	wide_begin(t, acc, rows);
	for (; l >= LINE; l -= LINE) {
		for (int64_t r = t->next_rows; r > 0; r--, next += t->next_pitch)
#pragma GCC unroll 4
			for (int v = 0; v < WIDE_LINES; v++)
				fetch_l2(next + v * LINE);
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_LINES; v++)
			fetch_own_l1(own + v * LINE);
		own += --n_own > 0 ? t->own_pitch : 0;
		for (int v = 0; v < LINE; v += 4) {
#pragma GCC unroll 4
			for (int u = 0; u < 4; u++)
				wide_k(acc, rows, a + u, pitch, b + u * b_pitch, b_pitch, pack + u * WIDE, packs);
			a += 4;
			b += 4 * b_pitch;
			pack += packs ? 4 * WIDE : 0;
		}
	}
	for (; l > 0; l--, a++, b += b_pitch, pack += packs ? WIDE : 0)
		wide_k(acc, rows, a, pitch, b, b_pitch, pack, packs);
	if (t->out)
		wide_store(acc, rows, t->out, t->out_pitch);
	else
		wide_finish(t, acc, rows);
}

/* Rows are WIDE_ROWS or one less; see WIDE_LEAST_ROWS. */
static __attribute__((noinline)) void wide_plain(const wide *t, int64_t rows)
{
	if (rows == WIDE_ROWS)
		wide_run(t, WIDE_ROWS, false);
	else
		wide_run(t, WIDE_ROWS - 1, false);
}

static __attribute__((noinline)) void wide_packing(const wide *t, int64_t rows)
{
	if (rows == WIDE_ROWS)
		wide_run(t, WIDE_ROWS, true);
	else
		wide_run(t, WIDE_ROWS - 1, true);
}

/* --- a block of k ------------------------------------------------------------------------------------------------- */

typedef struct wide_block {
	const mr_vec_gemm *g;
	int64_t row, rows, tiles;       /* of C: where they begin, how many, in how many tiles, */
	int32_t first[WIDE_TILES + 1];  /* where each of those begins, and their end, */
	int64_t q0, q1;                 /* and which are to be computed */
	int64_t j0, j1;                 /* columns */
	int64_t k0, k, each;            /* k of this block, and of each but the last */
	int64_t fetched, at_once;       /* rows of A whose part of the next block is on its way; more of them a tile */
	float *panel, *partial;
} wide_block;

static void wide_rows(wide_block *p, int64_t row, int64_t rows)
{
	int64_t blocks = (p->g->k + WIDE_K - 1) / WIDE_K;

	p->each = ((p->g->k + blocks - 1) / blocks + LINE - 1) / LINE * LINE;
	p->row = row;
	p->rows = rows;
	p->q0 = 0;
	p->tiles = p->q1 = (rows + WIDE_ROWS - 1) / WIDE_ROWS;
	for (int64_t q = 0; q <= p->tiles; q++)
		p->first[q] = (int32_t)tile_row(rows, q, p->tiles);
}

/* Panel [k][WIDE] of columns that are not next to each other, or that end before it does. */
static void wide_pack(const wide_block *p, int64_t j, int64_t cols)
{
	const mr_vec_gemm *g = p->g;

	for (int64_t v = 0; v < WIDE; v += LANES) {
		if (g->tb)
			pack_turned(g->b + (j + v) * g->k + p->k0, g->k, cols - v < LANES ? cols - v : LANES, p->k, p->panel + v,
				    WIDE);
		else
			pack_straight(g->b + p->k0 * g->n + j + v, g->n, cols - v, p->k, p->panel + v, WIDE);
	}
}

/*
 * The panel after the one at @j, or behind the last one of these columns the first of the next: the lines of it that tile @q
 * fetches. A tile has p->k / LINE rows of lines for each of t->next_rows. Rows of W lie one below the other; those of a stored
 * transpose are longer than WIDE, and taken in pieces.
 */
static void wide_next(const wide_block *p, wide *t, int64_t j, int64_t q)
{
	const mr_vec_gemm *g = p->g;
	bool here = j + WIDE < p->j1, more = p->k0 + p->k < g->k;
	int64_t jn = here ? j + WIDE : more ? p->j0 : p->j1 < g->n ? p->j1 : p->j0;
	int64_t kn = here ? p->k0 : more ? p->k0 + p->k : 0, k = least(p->each, g->k - kn);
	int64_t per_tile = p->k / LINE * t->next_rows, pieces = g->tb ? (k + WIDE - 1) / WIDE : 1;
	int64_t rows = g->tb ? least(WIDE, g->n - jn) : k, row = q / pieces * per_tile;

	t->next_pitch = g->tb ? g->k : g->n;
	if (row >= rows) { /* nothing is left: lines that are there */
		t->next = p->panel;
		t->next_pitch = 0;
	} else if (g->tb) {
		t->next = g->b + (jn + row) * g->k + kn + q % pieces * WIDE;
	} else {
		t->next = g->b + (kn + row) * g->n + jn;
	}
}

/* Rows of A of the block behind this one: half of them were written by another core when there are two. */
static void wide_fetch_a(wide_block *p)
{
	const mr_vec_gemm *g = p->g;
	int64_t k0 = p->k0 + p->k, k1 = least(g->k, k0 + p->each), end = least(p->rows, p->fetched + p->at_once);

	for (; p->fetched < end; p->fetched++)
		for (int64_t l = k0; l < k1; l += LINE)
			fetch_l2(g->a + (p->row + p->fetched) * g->k + l);
}

/* What is left to do for @rows rows of C in the last panel, of @cols columns, whose sums are at @sum, [rows][WIDE]. */
static void wide_edge(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t j, int64_t cols, const float *sum)
{
	for (int64_t r = 0; r < rows; r++, sum += WIDE) {
		for (int64_t v = 0; v < cols; v += LANES) {
			int64_t at = (i + r) * g->n + j + v, part = cols - v < LANES ? cols - v : 0;
			V x = v_load(sum + v, 0);

			if (g->bias)
				x = v_add(x, v_load(g->bias + j + v, part));
			if (g->act == MR_ACT_GELU) {
				V slope;

				x = gelu_and_slope(x, &slope);
				v_store(g->slope + at, slope, part);
			} else if (g->act == MR_ACT_RELU) {
				x = v_relu(x);
			} else if (g->addend) {
				x = v_add(x, v_load(g->addend + at, part));
			}
			v_store(g->c + at, x, part);
		}
	}
}

/* sum[rows][WIDE] = C, where that is added to. */
static void wide_edge_load(const mr_vec_gemm *g, int64_t i, int64_t rows, int64_t j, int64_t cols, float *sum)
{
	for (int64_t r = 0; r < rows; r++, sum += WIDE)
		for (int64_t v = 0; v < WIDE; v += LANES)
			v_store(sum + v, cols > v ? v_load(g->c + (i + r) * g->n + j + v, cols - v < LANES ? cols - v : 0)
						  : v_set(0.0f), 0);
}

/* What is added to @rows rows of C that a tile finishes: before it runs, for the loop over its k has no register left for this. */
static void wide_fetch_addend(const mr_vec_gemm *g, int64_t at, int64_t rows)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t v = 0; v < WIDE; v += LINE)
			fetch_l2(g->addend + at + r * g->n + v);
}

static void wide_panel(wide_block *p, int64_t j)
{
	const mr_vec_gemm *g = p->g;
	bool first = p->k0 == 0, last = p->k0 + p->k == g->k;
	int64_t cols = least(WIDE, p->j1 - j);
	bool whole = cols == WIDE, finishes = last && whole, from_c = first && g->add && whole, packs = whole && !g->tb;
	wide t = {.g = g, .j = j, .k = p->k, .b_pitch = g->n, .pack = p->panel, .in_pitch = from_c ? g->n : WIDE, .out_pitch = WIDE,
		  .own_pitch = finishes ? g->n : WIDE, .next_rows = (LINE + p->q1 - p->q0 - 1) / (p->q1 - p->q0)};

	if (!packs)
		wide_pack(p, j, cols);
	for (int64_t q = p->q0; q < p->q1; q++) {
		int64_t i = p->row + p->first[q], rows = p->first[q + 1] - p->first[q];
		float *sum = p->partial + (j - p->j0) * p->rows + p->first[q] * WIDE, *c = g->c + i * g->n + j;

		t.at = i * g->n + j;
		t.a = g->a + i * g->k + p->k0;
		t.b = packs && q == p->q0 ? g->b + p->k0 * g->n + j : p->panel;
		t.in = from_c ? c : first && !g->add ? NULL : sum;
		t.out = finishes ? NULL : sum;
		t.own = finishes ? c : sum + rows * WIDE;
		t.n_own = rows;
		wide_next(p, &t, j, q - p->q0);
		wide_fetch_a(p);
		if (finishes && g->addend)
			wide_fetch_addend(g, t.at, rows);
		if (first && g->add && !whole)
			wide_edge_load(g, i, rows, j, cols, sum);
		(packs && q == p->q0 ? wide_packing : wide_plain)(&t, rows);
		if (last && !whole)
			wide_edge(g, i, rows, j, cols, sum);
	}
}

/* Columns j0 .. j1, whose sums fit p->partial, all k, for tiles q0 .. q1. */
static void wide_sweep(wide_block *p, int64_t j0, int64_t j1, bool fetch_a)
{
	int64_t calls = (j1 - j0 + WIDE - 1) / WIDE * (p->q1 - p->q0);

	p->j0 = j0;
	p->j1 = j1;
	p->at_once = fetch_a ? (p->rows + calls - 1) / calls : 0;
	for (p->k0 = 0; p->k0 < p->g->k; p->k0 += p->k) {
		p->k = least(p->each, p->g->k - p->k0);
		p->fetched = 0;
		for (int64_t j = j0; j < j1; j += WIDE)
			wide_panel(p, j);
	}
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

static bool wide_takes(int64_t rows, int64_t cols)
{
	return WIDE_VECS == 4 && rows >= WIDE_LEAST_ROWS && cols >= WIDE_LEAST_COLS;
}

/* Panels whose unfinished sums of @rows rows there is room for. */
static int64_t wide_room(int64_t rows)
{
	return WIDE_PARTIAL / WIDE / rows;
}

/* In how few pieces of at most @most @n things can be. */
static int64_t pieces_of(int64_t n, int64_t most)
{
	return (n + most - 1) / most;
}

static void wide_range(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	wide_block p = {.g = g, .panel = scratch, .partial = scratch + WIDE_K * WIDE};
	int64_t heights = pieces_of(r1 - r0, WIDE_MOST_ROWS), panels;

	/* Ranges of columns begin anywhere: a panel is his in whose range it begins. */
	c0 = pieces_of(c0, WIDE) * WIDE;
	c1 = least(g->n, pieces_of(c1, WIDE) * WIDE);
	panels = c1 > c0 ? pieces_of(c1 - c0, WIDE) : 0;
	for (int64_t h = 0; h < heights; h++) {
		int64_t row = r0 + tile_row(r1 - r0, h, heights), end = r0 + tile_row(r1 - r0, h + 1, heights);
		int64_t sweeps = pieces_of(panels, wide_room(end - row));

		wide_rows(&p, row, end - row);
		for (int64_t s = 0; s < sweeps; s++)
			wide_sweep(&p, c0 + panels * s / sweeps * WIDE, least(c1, c0 + panels * (s + 1) / sweeps * WIDE), true);
	}
}

static int64_t wide_parts(int64_t m)
{
	int64_t tiles = pieces_of(m, WIDE_ROWS);

	return tiles < 2 * WIDE_UNIT_TILES ? 1 : tiles / WIDE_UNIT_TILES;
}

/* As in panels: seven eighths of a thread's part in sweeps, then panels of columns, all k, some tiles of rows. */
static void wide_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	int64_t parts = wide_parts(g->m), panels = pieces_of(g->n, WIDE), room = wide_room(g->m);
	int64_t left = panels * 7 / 8 / g->n_share, own, end;
	wide_block p = {.g = g, .panel = scratch, .partial = scratch + WIDE_K * WIDE};

	wide_rows(&p, 0, g->m);
	for (int64_t at; own = left > 0 ? least(left, room) * parts : 1,
		     (at = mr_share_take(g->share, g->n_share, worker, own, &end)) >= 0; left -= room) {
		while (at < end) {
			int64_t part = at % parts, whole = part ? 0 : (end - at) / parts;

			p.q0 = whole ? 0 : p.tiles * part / parts;
			p.q1 = whole ? p.tiles : p.tiles * (part + 1) / parts;
			wide_sweep(&p, at / parts * WIDE, least(g->n, (at / parts + (whole ? whole : 1)) * WIDE), whole);
			at += whole ? whole * parts : 1;
		}
	}
}

static int64_t wide_units(const mr_vec_gemm *g)
{
	return g->m <= WIDE_MOST_ROWS ? pieces_of(g->n, WIDE) * wide_parts(g->m) : 0;
}

#define WIDE_FLOATS (WIDE_K * WIDE + WIDE_PARTIAL + WIDE_ROWS * WIDE)
