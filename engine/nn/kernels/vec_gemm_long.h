/*
 * vec_gemm_long.h - A^T B for long sums: x^T dz of a large batch, with or without the optimizer step that consumes it. See vec_gemm.h.
 *
 *	          j -> panels of WIDE columns
 *	i    +------+------+------+
 *	     | tile |      |      |     a group: WIDE_ROWS rows of C; LONG_GROUPS of them are a set
 *	i+6  +------+------+------+
 *
 * A block is a part of C whose sums fit L2, and LONG_K of k. Its part of B is packed in panels [k][WIDE], and the columns of A^T of one
 * set in rows [k][LONG_SET]; both are read row by row, whole lines of one page after the other, by tiles in passing: while one set is
 * multiplied, each of its tiles copies some rows of the next one's columns and some of the next block's panels, between multiply-adds,
 * and fetches what the tile behind it will copy. So after the first block, which for this reason has few k, nobody packs.
 *
 * What comes from far away is fetched a line or two for every LONG_SLOT of k, evenly: a core has few places for lines under way, and
 * the panels that come from L2 need them too. With the same lines fetched at the beginning of each tile the products took 4 % longer.
 *
 * Sums that are not finished wait in tiles of their own, in L2: C would be a page for each of a tile's rows.
 *
 * Measured on two cores with 2 MiB of L2 each, of a peak of 456 GFLOP/s, AdamW inside, 1024 rows, as one of the tall orders with tiles
 * of fourteen rows and here: 256 x 1024: 370, 388; 1024 x 256: 378, 397; 256 x 768: 366, 380; 256 x 256: 372, 380.
 */
#define LONG_K 256                          /* of a block */
#define LONG_FIRST_K 32                     /* of the first */
#define LONG_COLS 512                       /* columns of a block: its part of B, twice, is half of L2; */
#define LONG_AREA (516 * 256)               /* elements of C: a quarter; */
#define LONG_ROWS 516                       /* and rows */
#define LONG_GROUPS 8                       /* of a set */
#define LONG_SET (LONG_GROUPS * WIDE_ROWS)
#define LONG_SLOT 8                         /* k between two looks at what else there is to do */
#define LONG_TILE (WIDE_ROWS * WIDE)
#define LONG_AHEAD 16                       /* rows that are fetched ahead by who packs outside of tiles */
#define LONG_B_AHEAD 2                      /* and rows of B by who does in a tile */

_Static_assert(LONG_SET % LANES == 0, "a row of a set is whole vectors");
_Static_assert(LONG_COLS % WIDE == 0 && LONG_ROWS % WIDE_ROWS == 0 && LONG_AREA / LONG_COLS >= WIDE_ROWS, "a block is whole tiles");

/* As `tile`: set up once, changed from tile to tile. */
typedef struct long_tile {
	const mr_vec_gemm *g;
	int64_t k;
	const float *a;             /* of LONG_SET columns those of the tile's group */
	const float *b;             /* panel */
	const float *in;            /* the sum so far; NULL: none */
	int64_t in_pitch;
	float *out;
	int64_t out_pitch;
	const float *own;           /* what the next tile begins with, contiguous */
	int64_t step_soon, step_now; /* places in C whose weights and state are fetched: into L2, into L1; < 0: none */
	const float *a_from;        /* rows copied in passing: of A^T, */
	float *a_to;
	int64_t a_rows, a_ahead;
	int64_t a_slot, a_every, b_slot, b_every;
	const float *b_from;        /* and pieces of rows of B, WIDE each: */
	float *b_to;
	int64_t b_pieces;
	int64_t b_left, b_panels;   /* up to the end of this row; in a row */
	int64_t b_k;                /* rows of the panels they go to */
} long_tile;

FORCE_INLINE void long_passing(long_tile *t, int64_t s)
{
	if (s == t->a_slot) {
		t->a_slot += t->a_every;
#pragma GCC unroll 6
		for (int v = 0; v < LONG_SET; v += LANES)
			v_store(t->a_to + v, v_load(t->a_from + v, 0), 0);
#pragma GCC unroll 4
		for (int v = 0; v < LONG_SET; v += LINE)
			fetch_l2(t->a_from + t->a_ahead + v);
		t->a_from += t->g->m;
		t->a_to += LONG_SET;
	}
	if (s == t->b_slot) {
		t->b_slot += t->b_every;
		bool ends = --t->b_left == 0;

#pragma GCC unroll 4
		for (int v = 0; v < WIDE; v += LANES)
			v_store(t->b_to + v, v_load(t->b_from + v, 0), 0);
#pragma GCC unroll 4
		for (int v = 0; v < WIDE; v += LINE)
			fetch_l2(t->b_from + LONG_B_AHEAD * t->g->n + v);
		t->b_from += WIDE + (ends ? t->g->n - t->b_panels * WIDE : 0);
		t->b_to += t->b_k * WIDE + (ends ? WIDE - t->b_panels * t->b_k * WIDE : 0);
		t->b_left += ends ? t->b_panels : 0;
	}
}

FORCE_INLINE void long_one(V acc[WIDE_ROWS][WIDE_VECS], int rows, int vecs, const float *a, const float *b)
{
	V y[WIDE_VECS];

#pragma GCC unroll 4
	for (int v = 0; v < vecs; v++)
		y[v] = v_load(b + v * LANES, 0);
#pragma GCC unroll 4
	for (int v = 0; v < vecs * LANES; v += LINE)
		fetch_line(b + AHEAD * WIDE + v);
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		V x = v_set(a[r]);

#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r][v] = v_fma(x, y[v], acc[r][v]);
	}
}

/* A row of what is stepped, or of C, into L1. */
FORCE_INLINE void long_fetch(const long_tile *t, int64_t at)
{
	const mr_vec_step *s = t->g->step;

#pragma GCC unroll 4
	for (int v = 0; v < WIDE; v += LINE) {
		if (!s) {
			fetch_own(t->g->c + at + v);
		} else {
			__builtin_prefetch(s->dst + at + v, 1, 3);
			if (s->m)
				__builtin_prefetch(s->m + at + v, 1, 3);
			if (s->v)
				__builtin_prefetch(s->v + at + v, 1, 3);
		}
	}
}

FORCE_INLINE void long_run(long_tile *t, int rows, int vecs)
{
	V acc[WIDE_ROWS][WIDE_VECS];
	const float *a = t->a, *b = t->b;
	int64_t slots = t->k / LONG_SLOT, l = t->k - slots * LONG_SLOT;

#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r][v] = t->in ? v_load(t->in + r * t->in_pitch + v * LANES, 0) : v_set(0.0f);
	for (int64_t s = 0; s < slots; s++) {
		int64_t late = s + WIDE_ROWS - slots;

		long_passing(t, s);
		if (s < WIDE_ROWS * WIDE_LINES && t->step_soon >= 0) {
			int64_t at = t->step_soon + s / WIDE_LINES * t->g->n + s % WIDE_LINES * LINE;

			if (t->g->step)
				fetch_step(t->g->step, at);
			else
				fetch_own(t->g->c + at);
		}
		if (late >= 0) {
#pragma GCC unroll 4
			for (int v = 0; v < WIDE; v += LINE)
				__builtin_prefetch(t->own + late * WIDE + v, 1, 3);
			if (t->step_now >= 0)
				long_fetch(t, t->step_now + late * t->g->n);
		}
#pragma GCC unroll 8
		for (int u = 0; u < LONG_SLOT; u++, a += LONG_SET, b += WIDE)
			long_one(acc, rows, vecs, a, b);
	}
	for (; l > 0; l--, a += LONG_SET, b += WIDE)
		long_one(acc, rows, vecs, a, b);
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			v_store(t->out + r * t->out_pitch + v * LANES, acc[r][v], 0);
}

static __attribute__((noinline)) void long_six(long_tile *t)
{
	long_run(t, WIDE_ROWS, WIDE_VECS);
}

static __attribute__((noinline)) void long_five(long_tile *t)
{
	long_run(t, WIDE_ROWS - 1, WIDE_VECS);
}

static __attribute__((noinline)) void long_narrow(long_tile *t)
{
	long_run(t, WIDE_ROWS, 1);
}

/* --- blocks and sets ---------------------------------------------------------------------------------------------- */

typedef struct long_block {
	int64_t i0, i1, j0, j1, k0, k; /* rows and columns of C, and of k */
	int64_t groups, panels, whole; /* of them; panels without a last one that has fewer columns */
} long_block;

typedef struct long_work {
	long_tile t;
	int64_t r0, r1, c0, c1, rows;  /* of C, and how many of them a block has at most */
	long_block now, next;          /* next.k is 0 behind the last */
	int64_t set, sets;             /* of this block */
	int64_t a_row, b_row, b_panel; /* what is copied of the next set's columns, and of the next block's panels */
	int64_t a_each, b_each;        /* rows and pieces a tile */
	float *a, *a_next, *b, *b_next, *sums;
} long_work;

/* First row of group @q: those of five rows come last. A block of few rows has one group that is shorter. */
static int64_t long_row(const long_block *b, int64_t q)
{
	int64_t rows = b->i1 - b->i0, five = b->groups * WIDE_ROWS - rows;

	if (five > b->groups)
		return least(b->i1, b->i0 + q * WIDE_ROWS);
	return b->i0 + q * WIDE_ROWS - largest(0, q - (b->groups - five));
}

/* As few parts of at most @most as there may be, multiples of @step but for the last one: the end of the one that begins at @at. */
static int64_t long_part(int64_t from, int64_t at, int64_t to, int64_t most, int64_t step)
{
	int64_t parts = (to - from + most - 1) / most, each = ((to - from + parts - 1) / parts + step - 1) / step * step;

	return least(to, at + each);
}

static void long_measure(const long_work *w, long_block *b)
{
	bool first = b->i0 == w->r0 && b->j0 == w->c0; /* of C: nobody packs it in passing, so that it begins with few k, */
	int64_t most = first ? least(LONG_K, b->k0 + LONG_FIRST_K) : LONG_K; /* and doubles them */

	b->i1 = long_part(w->r0, b->i0, w->r1, w->rows, WIDE_ROWS);
	b->j1 = long_part(w->c0, b->j0, w->c1, LONG_COLS, WIDE);
	b->k = long_part(b->k0, b->k0, w->t.g->k, most, LONG_SLOT) - b->k0;
	b->groups = (b->i1 - b->i0 + WIDE_ROWS - 1) / WIDE_ROWS;
	b->panels = (b->j1 - b->j0 + WIDE - 1) / WIDE;
	b->whole = (b->j1 - b->j0) / WIDE;
}

/* The block behind @b. */
static long_block long_behind(const long_work *w, const long_block *b)
{
	long_block n = {.i0 = b->i0, .j0 = b->j0, .k0 = b->k0 + b->k};

	if (n.k0 >= w->t.g->k) {
		n.k0 = 0;
		n.j0 = b->j1;
	}
	if (n.j0 >= w->c1) {
		n.j0 = w->c0;
		n.i0 = b->i1;
	}
	if (n.i0 < w->r1)
		long_measure(w, &n);
	return n;
}

/* Rows and columns of set @s, and how many groups it has. */
typedef struct long_set {
	int64_t q0, q1, i0, i1, k0, k;
} long_set;

static long_set long_set_of(const long_block *b, int64_t s)
{
	int64_t q0 = s * LONG_GROUPS, q1 = least(b->groups, q0 + LONG_GROUPS);

	return (long_set){q0, q1, long_row(b, q0), long_row(b, q1), b->k0, b->k};
}

/* The one behind set @s of this block. */
static long_set long_set_behind(const long_work *w, int64_t s)
{
	if (s + 1 < w->sets)
		return long_set_of(&w->now, s + 1);
	return w->next.k ? long_set_of(&w->next, 0) : (long_set){0};
}

FORCE_INLINE void long_fetch_row(const float *row, int64_t cols)
{
	for (int64_t x = 0; x < cols; x += LINE)
		fetch_l2(row + x);
}

/* Rows from .. to of the columns of a set. */
static void long_columns(const mr_vec_gemm *g, const long_set *s, int64_t from, int64_t to, float *dst)
{
	int64_t cols = s->i1 - s->i0;

	for (int64_t l = from; l < to; l++) {
		const float *row = stepped_a(g, s->k0 + l) + s->i0;

		if (l + LONG_AHEAD < to)
			long_fetch_row(stepped_a(g, s->k0 + l + LONG_AHEAD) + s->i0, cols);
		for (int64_t x = 0; x < cols; x += LANES)
			v_store(dst + l * LONG_SET + x, v_load(row + x, cols - x < LANES ? cols - x : 0), 0);
	}
}

/* Rows from .. to of panels p0 .. of a block; missing columns are 0. */
static void long_panels(const mr_vec_gemm *g, const long_block *b, int64_t from, int64_t to, int64_t p0, float *dst)
{
	for (int64_t l = from; l < to; l++) {
		const float *row = stepped_b(g, b->k0 + l) + b->j0;

		if (l + LONG_AHEAD < to)
			long_fetch_row(stepped_b(g, b->k0 + l + LONG_AHEAD) + b->j0 + p0 * WIDE, b->j1 - b->j0 - p0 * WIDE);
		for (int64_t p = p0; p < b->panels; p++)
			for (int64_t v = 0; v < WIDE; v += LANES) {
				int64_t cols = b->j1 - b->j0 - p * WIDE - v;

				v_store(dst + (p * b->k + l) * WIDE + v,
					cols > 0 ? v_load(row + p * WIDE + v, cols < LANES ? cols : 0) : v_set(0.0f), 0);
			}
	}
}

/* --- what a tile copies in passing -------------------------------------------------------------------------------- */

/* Rows that lie one behind the other from row @at of k on, at most @most. */
static int64_t long_rows_on(const mr_vec_gemm *g, bool pieces, int64_t at, int64_t most)
{
	return pieces ? least(most, g->piece - at % g->piece) : most;
}

static void long_plan_columns(long_work *w, const long_set *s)
{
	const mr_vec_gemm *g = w->t.g;
	int64_t rows = least(w->a_each, s->k - w->a_row);

	w->t.a_rows = 0;
	w->t.a_slot = -1;
	if (rows <= 0)
		return;
	if (s->i1 - s->i0 == LONG_SET) {
		w->t.a_rows = long_rows_on(g, g->as, s->k0 + w->a_row, least(rows, w->now.k / LONG_SLOT));
		w->t.a_from = stepped_a(g, s->k0 + w->a_row) + s->i0;
		w->t.a_to = w->a_next + w->a_row * LONG_SET;
		w->t.a_ahead = w->a_each * g->m;
	}
	long_columns(g, s, w->a_row + w->t.a_rows, w->a_row + rows, w->a_next);
	w->a_row += rows;
	if (w->t.a_rows > 0) {
		w->t.a_every = w->now.k / LONG_SLOT / w->t.a_rows;
		w->t.a_slot = w->now.k / LONG_SLOT - 1 - (w->t.a_rows - 1) * w->t.a_every;
	}
}

/* Whole panels; a last one of fewer columns is packed when its block begins. */
static void long_plan_panels(long_work *w)
{
	const mr_vec_gemm *g = w->t.g;
	const long_block *b = &w->next;
	int64_t at = b->k0 + w->b_row, left = (b->k - w->b_row) * b->whole - w->b_panel;
	int64_t rows_on = b->k && left > 0 ? long_rows_on(g, g->bs, at, b->k) : 0;

	w->t.b_pieces = least(least(w->b_each, w->now.k / LONG_SLOT), least(left, rows_on * b->whole - w->b_panel));
	w->t.b_slot = -1;
	if (w->t.b_pieces <= 0)
		return;
	w->t.b_from = stepped_b(g, at) + b->j0 + w->b_panel * WIDE;
	w->t.b_to = w->b_next + (w->b_panel * b->k + w->b_row) * WIDE;
	w->t.b_left = b->whole - w->b_panel;
	w->t.b_panels = b->whole;
	w->t.b_k = b->k;
	w->t.b_every = w->now.k / LONG_SLOT / w->t.b_pieces;
	w->t.b_slot = w->now.k / LONG_SLOT - 1 - (w->t.b_pieces - 1) * w->t.b_every;
	w->b_panel += w->t.b_pieces;
	w->b_row += w->b_panel / b->whole;
	w->b_panel %= b->whole;
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

/* Rows of a tile's @sum from C, where that is added to, or to C, if the tile is not whole. */
static void long_edge(const mr_vec_gemm *g, int64_t at, int64_t rows, int64_t cols, float *sum, bool load)
{
	for (int64_t r = 0; r < rows; r++, at += g->n, sum += WIDE) {
		if (load)
			memcpy(sum, g->c + at, (size_t)cols * sizeof(float));
		else
			memcpy(g->c + at, sum, (size_t)cols * sizeof(float));
	}
}

static void long_one_tile(long_work *w, const long_set *s, int64_t q, int64_t p)
{
	long_tile *t = &w->t;
	const mr_vec_gemm *g = t->g;
	const long_block *b = &w->now;
	int64_t i = long_row(b, q), rows = long_row(b, q + 1) - i, j = b->j0 + p * WIDE, cols = least(WIDE, b->j1 - j);
	int64_t at = i * g->n + j;
	bool whole = cols == WIDE && rows >= WIDE_ROWS - 1, last = b->k0 + b->k == g->k;
	float *sum = w->sums + (q * b->panels + p) * LONG_TILE;

	t->a = w->a + i - s->i0;
	t->b = w->b + p * b->k * WIDE;
	t->in = b->k0 > 0 ? sum : NULL;
	t->in_pitch = t->out_pitch = WIDE;
	t->out = sum;
	t->own = sum + LONG_TILE;
	if (b->k0 == 0 && g->add && whole) {
		t->in = g->c + at;
		t->in_pitch = g->n;
	} else if (b->k0 == 0 && g->add) {
		long_edge(g, at, rows, cols, sum, true);
		t->in = sum;
	}
	if (last && whole && !g->step) {
		t->out = g->c + at;
		t->out_pitch = g->n;
	}
	t->step_now = last && whole && rows == WIDE_ROWS ? at : -1;
	t->step_soon = t->step_now >= 0 && i + 2 * WIDE_ROWS <= b->i1 ? at + WIDE_ROWS * g->n : -1;
	(cols <= LANES ? long_narrow : rows == WIDE_ROWS - 1 ? long_five : long_six)(t);
	if (last && g->step)
		stepped_kind_of(g->step)->alone(g, &(stepped_grad){sum, i, j, rows}, cols);
	else if (last && !whole)
		long_edge(g, at, rows, cols, sum, false);
}

static void long_run_set(long_work *w, int64_t s)
{
	const mr_vec_gemm *g = w->t.g;
	long_set set = long_set_of(&w->now, s), next = long_set_behind(w, s);
	int64_t calls = (set.q1 - set.q0) * w->now.panels;
	float *done = w->a;

	w->a_row = 0;
	w->a_each = (next.k + calls - 1) / calls;
	for (int64_t l = 0; l < least(w->a_each, next.k); l++)
		long_fetch_row(stepped_a(g, next.k0 + l) + next.i0, next.i1 - next.i0);
	for (int64_t q = set.q0; q < set.q1; q++)
		for (int64_t p = 0; p < w->now.panels; p++) {
			long_plan_columns(w, &next);
			long_plan_panels(w);
			long_one_tile(w, &set, q, p);
		}
	w->a = w->a_next;
	w->a_next = done;
}

static void long_run_block(long_work *w)
{
	const mr_vec_gemm *g = w->t.g;
	int64_t pieces = w->next.k * w->next.whole, calls = w->now.groups * w->now.panels;
	float *done = w->b;

	w->t.k = w->now.k;
	w->sets = (w->now.groups + LONG_GROUPS - 1) / LONG_GROUPS;
	w->b_row = w->b_panel = 0;
	w->b_each = (pieces + calls - 1) / calls;
	for (int64_t l = 0; l < least(LONG_B_AHEAD, w->next.k); l++)
		long_fetch_row(stepped_b(g, w->next.k0 + l) + w->next.j0, w->next.j1 - w->next.j0);
	for (int64_t s = 0; s < w->sets; s++)
		long_run_set(w, s);
	if (w->next.k) {
		long_panels(g, &w->next, w->b_row, w->next.k, 0, w->b_next);
		if (w->next.whole < w->next.panels)
			long_panels(g, &w->next, 0, w->b_row, w->next.whole, w->b_next);
	}
	w->b = w->b_next;
	w->b_next = done;
}

static void long_range(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	long_work w = {.t = {.g = g}, .r0 = r0, .r1 = r1, .c0 = c0, .c1 = c1, .now = {.i0 = r0, .j0 = c0}};
	int64_t width;
	long_set first;

	if (r0 >= r1 || c0 >= c1)
		return;
	width = (long_part(0, 0, c1 - c0, LONG_COLS, WIDE) + WIDE - 1) / WIDE * WIDE;
	w.rows = least(LONG_ROWS, LONG_AREA / width / WIDE_ROWS * WIDE_ROWS);
	w.b = scratch;
	w.b_next = w.b + LONG_K * LONG_COLS;
	w.sums = w.b_next + LONG_K * LONG_COLS;
	w.a = w.sums + LONG_AREA + LONG_TILE;
	w.a_next = w.a + LONG_K * LONG_SET;
	long_measure(&w, &w.now);
	first = long_set_of(&w.now, 0);
	long_panels(g, &w.now, 0, w.now.k, 0, w.b);
	long_columns(g, &first, 0, first.k, w.a);
	for (; w.now.k; w.now = w.next) {
		w.next = long_behind(&w, &w.now);
		long_run_block(&w);
	}
}

#define LONG_FLOATS (2 * LONG_K * LONG_COLS + LONG_AREA + LONG_TILE + 2 * LONG_K * LONG_SET)
