/*
 * vec_gemm_stepped.h - A^T B whose result is a gradient, and the optimizer step that consumes it: x^T dz of a training step.
 *
 *	          j -> panels of WIDE columns
 *	i    +------+------+------+
 *	     | tile | next |      |     a group: WIDE_ROWS rows of weights and state. The first group of a block of columns packs the panels
 *	i+6  +------+------+------+     of B in passing; all tiles fetch what the next group will step
 *
 * Of the columns of A^T as many are packed at a time as STEPPED_TILES groups need, row by row: whole lines, and a page touched
 * once for all of them. A row of the next ones is copied by each tile in passing, having been fetched by the tile before.
 *
 * A tile leaves its gradient in L1, where it waits for its step. A step of a few operations is taken by the tile behind it, a
 * line at a time between multiply-adds, which hide its loads and stores (128 rows, momentum: 5 % faster than after each tile).
 * Adam's two dozen operations would hold those up: its steps are taken at once, and in passing were 14 % slower.
 *
 * Six rows and not fourteen: of weights, momentum and gradient each row is a page, and vec_gemm_wide.h says what pages cost.
 * Threads share rows, not columns: where two have halves of the same pages, the hardware fetches beyond the end of one's half
 * what the other one is writing (15 % slower).
 *
 * Who works on the first group of a block of columns adds up the columns of its panels, for the bias: a pass over dz less (steps of
 * an MLP of 6 x 1024, 128 rows: 11.67 ms in place of 11.75, medians of 890 each, in turn).
 *
 * Measured on two cores with 2 MiB of L2 each, of a peak of 458 GFLOP/s, all of it inside, before (tiles of two vectors, packing first)
 * and here: momentum, 1024 x 1024: 48 rows 286, 326; 64 rows 323, 350; 128 rows 358, 386. AdamW, 256 rows: 768 x 768 335, 354;
 * 768 x 3072 330, 345; 3072 x 768 359, 369.
 */
#define STEPPED_TILES 8
#define STEPPED_PITCH (STEPPED_TILES * WIDE_ROWS)
#define STEPPED_K 256       /* longest sum */
#define STEPPED_LEAST_K 48  /* with fewer, tiles of two vectors are as good or better: see vec_gemm_groups.h */
#define STEPPED_COLS 1024   /* columns of a block: its packed part of B fits L2 */
#define STEPPED_AHEAD 16    /* rows that are fetched ahead of what packs them */
#define STEPPED_LINES (WIDE_ROWS * WIDE_LINES) /* of a tile */
#define STEPPED_UNROLL 2    /* k between two looks at what else there is to do */

_Static_assert(STEPPED_LEAST_K >= STEPPED_UNROLL * STEPPED_LINES, "a tile has time for all lines of the one before");
_Static_assert(STEPPED_LINES >= STEPPED_PITCH / LANES, "and for a row of A^T");

/* A gradient that waits for its step. */
typedef struct stepped_grad {
	const float *sum;        /* [rows][WIDE]; NULL: none */
	int64_t i, j, rows;      /* place in C */
} stepped_grad;

/* As `tile`: set up once, changed from tile to tile. */
typedef struct stepped {
	const mr_vec_gemm *g;
	int64_t k;
	const float *a;          /* a tile's columns of A^T, STEPPED_PITCH from row to row */
	float *panel;            /* [k][WIDE] */
	const float *b;          /* its place in B, for the tile that packs it; NULL: it is packed */
	const float *in;         /* the sum so far; NULL: none */
	int64_t in_pitch;
	float *out;              /* [rows][WIDE] */
	int64_t next, n_next;    /* the place in C of what is fetched for a step, and how many lines; */
	int64_t left, skip, row_lines; /* up to the end of its row, floats to the row behind it, and lines of that one */
	const float *from;       /* vectors that are copied in passing */
	float *to;
	int64_t n_copy;
	stepped_grad grad;
} stepped;

/* --- a tile ------------------------------------------------------------------------------------------------------- */

/* Beside mr_step_kind: no step in this tile, and momentum's where nothing is multiplied by 1. */
enum { STEP_NONE = -1, STEP_PLAIN = -2 };

static bool stepped_plain(const mr_vec_step *s)
{
	return s->kind == MR_STEP_MOMENTUM && s->gscale == 1 && s->keep == 1 && !s->nesterov;
}

/* The step of some columns of a row. @kind is constant in each caller. */
FORCE_INLINE void stepped_row(const mr_vec_step *s, const step_lanes *c, const float *grad, int64_t at, int64_t cols, int kind)
{
#pragma GCC unroll 4
	for (int64_t v = 0; v < cols; v += LANES) {
		int64_t part = cols - v < LANES ? cols - v : 0;

		step_with(s, c, at + v, v_load(grad + v, 0), part, kind == STEP_PLAIN ? MR_STEP_MOMENTUM : (mr_step_kind)kind,
			  kind == STEP_PLAIN);
	}
}

/* One k. @packs and @vecs are constant in each caller. */
FORCE_INLINE void stepped_one(V acc[WIDE_ROWS][WIDE_VECS], int rows, int vecs, const float *a, const float *b, int64_t pitch,
			      float *pack, bool packs)
{
	V y[WIDE_VECS];

#pragma GCC unroll 4
	for (int v = 0; v < vecs; v++)
		y[v] = v_load(b + v * LANES, 0);
#pragma GCC unroll 4
	for (int v = 0; v < vecs * LANES; v += LINE) {
		fetch_line(b + AHEAD * pitch + v);
		if (packs)
			fetch_l2(b + WIDE + v); /* the next panel's */
	}
	if (packs) { /* not in the condition of a loop: at -O0 that is one never entered, and its annotation a warning */
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			v_store(pack + v * LANES, y[v], 0);
	}
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		V x = v_set(a[r]);

#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r][v] = v_fma(x, y[v], acc[r][v]);
	}
}

FORCE_INLINE void stepped_fetch(const stepped *t, int64_t at)
{
	fetch_step(t->g->step, at);
	if (t->in)
		fetch_l2(t->g->c + at);
}

FORCE_INLINE void stepped_k(const stepped *t, V acc[WIDE_ROWS][WIDE_VECS], int rows, int vecs, bool packs, int kind)
{
	const float *a = t->a, *b = packs ? t->b : t->panel, *grad = t->grad.sum;
	float *panel = t->panel;
	int64_t pitch = packs ? t->g->n : WIDE, l = t->k, at = t->grad.i * t->g->n + t->grad.j, next = t->next, left = t->left;
	int64_t every = largest(1, t->k / (STEPPED_UNROLL * STEPPED_LINES)), n_grad = kind == STEP_NONE ? 0 : STEPPED_LINES;
	mr_vec_step s = *t->g->step; /* a copy: stores cannot alias it */
	step_lanes c = step_lanes_of(&s);

	for (int64_t e = 0; l >= STEPPED_UNROLL; e++) {
		if (e < t->n_next) {
			if (left-- == 0) {
				next += t->skip;
				left = t->row_lines - 1;
			}
			stepped_fetch(t, next);
			next += LINE;
		}
		if (e < n_grad) {
			stepped_row(&s, &c, grad, at, LINE, kind);
			grad += LINE;
			at += (e + 1) % WIDE_LINES ? LINE : t->g->n - WIDE + LINE;
		}
		if (e < t->n_copy)
			v_store(t->to + e * LANES, v_load(t->from + e * LANES, 0), 0);
		for (int64_t n = every; n > 0 && l >= STEPPED_UNROLL; n--, l -= STEPPED_UNROLL) {
#pragma GCC unroll 8
			for (int u = 0; u < STEPPED_UNROLL; u++, a += STEPPED_PITCH, b += pitch, panel += WIDE)
				stepped_one(acc, rows, vecs, a, b, pitch, panel, packs);
		}
	}
	for (; l > 0; l--, a += STEPPED_PITCH, b += pitch, panel += WIDE)
		stepped_one(acc, rows, vecs, a, b, pitch, panel, packs);
}

FORCE_INLINE void stepped_run(const stepped *t, int rows, int vecs, bool packs, int kind)
{
	V acc[WIDE_ROWS][WIDE_VECS];

#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r][v] = t->in ? v_load(t->in + r * t->in_pitch + v * LANES, 0) : v_set(0.0f);
	stepped_k(t, acc, rows, vecs, packs, kind);
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			v_store(t->out + r * WIDE + v * LANES, acc[r][v], 0);
}

#define STEPPED_CASE(n, vecs, packs) \
	case n: \
		stepped_run(t, n, vecs, packs, STEP_NONE); \
		break;
#define STEPPED_TILE(name, vecs, packs) \
	static __attribute__((noinline)) void name(const stepped *t, int64_t rows) \
	{ \
		switch (rows) { \
			STEPPED_CASE(1, vecs, packs) \
			STEPPED_CASE(2, vecs, packs) \
			STEPPED_CASE(3, vecs, packs) \
			STEPPED_CASE(4, vecs, packs) \
			STEPPED_CASE(5, vecs, packs) \
			STEPPED_CASE(6, vecs, packs) \
		} \
	}

STEPPED_TILE(stepped_narrow, 1, false)
STEPPED_TILE(stepped_full, WIDE_VECS, false)
STEPPED_TILE(stepped_packing, WIDE_VECS, true)

/* A whole tile that takes the step of a whole one before it. */
#define STEPPED_PASSING(name, kind) \
	static __attribute__((noinline)) void name(const stepped *t) \
	{ \
		stepped_run(t, WIDE_ROWS, WIDE_VECS, false, kind); \
	}

STEPPED_PASSING(stepped_in_pure, STEP_PLAIN)

/* The step alone, of @cols columns. */
#define STEPPED_KIND(name, kind) \
	static __attribute__((noinline)) void name(const mr_vec_gemm *g, const stepped_grad *w, int64_t cols) \
	{ \
		mr_vec_step s = *g->step; \
		step_lanes c = step_lanes_of(&s); \
		int64_t at = w->i * g->n + w->j; \
		for (int64_t r = 0; r < w->rows; r++, at += g->n) { \
			if (cols == WIDE) \
				stepped_row(&s, &c, w->sum + r * WIDE, at, WIDE, kind); \
			else \
				stepped_row(&s, &c, w->sum + r * WIDE, at, cols, kind); \
		} \
	}

STEPPED_KIND(stepped_pure, STEP_PLAIN)

#define MR_STEP(kind, id, states, passes, rate, rate_g) \
	STEPPED_PASSING(stepped_in_##id, MR_STEP_##kind) \
	STEPPED_KIND(stepped_##id, MR_STEP_##kind)
#include "nn/optim/optim.def"
#undef MR_STEP

typedef struct stepped_kinds {
	void (*passing)(const stepped *t); /* NULL: does not pay */
	void (*alone)(const mr_vec_gemm *g, const stepped_grad *w, int64_t cols);
} stepped_kinds;

static const stepped_kinds *stepped_kind_of(const mr_vec_step *s)
{
	static const stepped_kinds pure = {stepped_in_pure, stepped_pure};
	static const stepped_kinds each[] = {
#define MR_STEP(kind, id, states, passes, rate, rate_g) [MR_STEP_##kind] = {passes ? stepped_in_##id : NULL, stepped_##id},
#include "nn/optim/optim.def"
#undef MR_STEP
	};

	return stepped_plain(s) ? &pure : &each[s->kind];
}

/* --- columns of A^T and panels of B ------------------------------------------------------------------------------- */

typedef struct stepped_work {
	stepped t;
	int64_t r0, rows, tiles;   /* rows of C, and how many tiles share them */
	int64_t j0, j1, panels;    /* the block */
	bool packed;               /* are its panels? */
	int64_t first, end;        /* tiles whose columns of A^T are packed; none: equal */
	int64_t soon_end;          /* those behind them, up to here, are packed meanwhile: */
	int64_t soon, soon_each;   /* so many rows of them are there, and each tile copies so many */
	float *columns, *soon_columns, *panel;
	float sums[2][WIDE_ROWS * WIDE];
} stepped_work;

/* First row of tile @q. Whole tiles come first, so that their columns of A^T begin at whole lines. */
static int64_t stepped_at(const stepped_work *w, int64_t q)
{
	int64_t whole = w->rows - (WIDE_ROWS - 1) * w->tiles;

	if (whole < 0)
		return w->r0 + tile_row(w->rows, q, w->tiles);
	return w->r0 + q * WIDE_ROWS - largest(0, q - whole);
}

/* Row @l of A^T and of B: they lie row by row, in one piece or in several. */
static const float *stepped_a(const mr_vec_gemm *g, int64_t l)
{
	return g->as ? g->as[l / g->piece] + l % g->piece * g->m : g->a + l * g->m;
}

static const float *stepped_b(const mr_vec_gemm *g, int64_t l)
{
	return g->bs ? g->bs[l / g->piece] + l % g->piece * g->n : g->b + l * g->n;
}

/* Row @l of the columns of tiles @q to @end. */
static void stepped_copy_row(const stepped_work *w, int64_t l, int64_t q, int64_t end, float *columns)
{
	int64_t i = stepped_at(w, q), cols = stepped_at(w, end) - i;
	const float *row = stepped_a(w->t.g, l) + i;
	float *dst = columns + l * STEPPED_PITCH;

	for (int64_t x = 0; x < cols; x += LANES)
		v_store(dst + x, v_load(row + x, cols - x < LANES ? cols - x : 0), 0);
}

/* Inlined by force: the compiler takes a function that does nothing but fetch for one that does nothing, and drops it. */
FORCE_INLINE void stepped_fetch_row(const stepped_work *w, int64_t l, int64_t q, int64_t end)
{
	int64_t i = stepped_at(w, q), to = stepped_at(w, end);

	if (l < w->t.k)
		for (const float *row = stepped_a(w->t.g, l); i < to; i += LINE)
			fetch_line(row + i);
}

/* The columns of tiles from @q to the next multiple of STEPPED_TILES, which may have been packed in passing. */
static void stepped_columns(stepped_work *w, int64_t q)
{
	int64_t calls;

	if (q == w->end && w->soon_end > q && w->soon == w->t.k) {
		float *done = w->soon_columns;

		w->soon_columns = w->columns;
		w->columns = done;
		w->end = w->soon_end;
	} else {
		w->end = least(w->tiles, q - q % STEPPED_TILES + STEPPED_TILES);
		for (int64_t l = 0; l < w->t.k; l++) {
			stepped_fetch_row(w, l + STEPPED_AHEAD, q, w->end);
			stepped_copy_row(w, l, q, w->end, w->columns);
		}
	}
	w->first = q;
	calls = (w->end - q) * w->panels;
	w->soon_end = least(w->tiles, w->end + STEPPED_TILES);
	w->soon = w->soon_end > w->end ? 0 : w->t.k;
	w->soon_each = (w->t.k + calls - 1) / calls;
	for (int64_t l = 0; l < w->soon_each && w->soon < w->t.k; l++)
		stepped_fetch_row(w, l, w->end, w->soon_end);
}

/* A tile's share of the columns behind: a row of whole vectors is copied in passing, others are here. */
static void stepped_soon(stepped_work *w)
{
	stepped *t = &w->t;
	int64_t end = least(t->k, w->soon + w->soon_each), i = stepped_at(w, w->end), cols = stepped_at(w, w->soon_end) - i;

	t->n_copy = 0;
	for (; w->soon < end; w->soon++) {
		stepped_fetch_row(w, w->soon + w->soon_each, w->end, w->soon_end);
		if (w->soon + 1 == end && cols == STEPPED_PITCH) {
			t->from = stepped_a(t->g, w->soon) + i;
			t->to = w->soon_columns + w->soon * STEPPED_PITCH;
			t->n_copy = STEPPED_PITCH / LANES;
		} else {
			stepped_copy_row(w, w->soon, w->end, w->soon_end, w->soon_columns);
		}
	}
}

/* The panel at column @j, @cols columns, row by row; missing columns are 0. */
static void stepped_panel(const stepped *t, int64_t j, int64_t cols)
{
	float *dst = t->panel;

	for (int64_t l = 0; l < t->k; l++, dst += WIDE) {
		const float *row = stepped_b(t->g, l) + j;

		for (int64_t v = 0; v < WIDE; v += LANES)
			v_store(dst + v, v < cols ? v_load(row + v, cols - v < LANES ? cols - v : 0) : v_set(0.0f), 0);
	}
}

/* The sums of the columns from @j, @cols of them, of the panel, which is still in L1. */
static void stepped_sums(const stepped *t, int64_t j, int64_t cols)
{
	const mr_vec_gemm *g = t->g;
	const float *b = t->panel;
	V s[WIDE_VECS];

#pragma GCC unroll 4
	for (int v = 0; v < WIDE_VECS; v++)
		s[v] = v_set(0.0f);
	for (int64_t l = 0; l < t->k; l++, b += WIDE)
#pragma GCC unroll 4
		for (int v = 0; v < WIDE_VECS; v++)
			s[v] = v_add(s[v], v_load(b + v * LANES, 0));
	for (int v = 0; v * LANES < cols; v++) {
		int64_t part = cols - v * LANES < LANES ? cols - v * LANES : 0;
		float *y = g->sums + j + v * LANES;

		v_store(y, g->add ? v_add(v_load(y, part), s[v]) : s[v], part);
	}
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

/* Computes a tile and leaves its gradient to the next one, if that pays; takes the step of the one before, in passing if both are whole. */
static void stepped_tile(stepped_work *w, int64_t i, int64_t rows, int64_t j, int64_t cols)
{
	stepped *t = &w->t;
	const mr_vec_gemm *g = t->g;
	const stepped_kinds *kind = stepped_kind_of(g->step);
	float *c = g->c + i * g->n + j;

	t->out = w->sums[t->grad.sum == w->sums[0]];
	t->in = g->add ? c : NULL;
	t->in_pitch = g->n;
	if (t->in && cols < WIDE) {
		for (int64_t r = 0; r < rows; r++)
			memcpy(t->out + r * WIDE, c + r * g->n, (size_t)cols * sizeof(float));
		t->in = t->out;
		t->in_pitch = WIDE;
	}
	if (t->grad.sum && rows == WIDE_ROWS && t->grad.rows == WIDE_ROWS && cols > LANES && !t->b) {
		kind->passing(t);
	} else {
		(t->b ? stepped_packing : cols > LANES ? stepped_full : stepped_narrow)(t, rows);
		if (t->grad.sum)
			kind->alone(g, &t->grad, WIDE);
	}
	t->grad = (stepped_grad){t->out, i, j, rows};
	if (!kind->passing || cols < WIDE) {
		kind->alone(g, &t->grad, cols);
		t->grad.sum = NULL;
	}
}

/* All tiles of group @q. */
static void stepped_group(stepped_work *w, int64_t q)
{
	stepped *t = &w->t;
	const mr_vec_gemm *g = t->g;
	int64_t i = stepped_at(w, q), rows = stepped_at(w, q + 1) - i, lines, line = 0, row = i + rows;

	if (q < w->first || q >= w->end)
		stepped_columns(w, q);
	t->a = w->columns + i - stepped_at(w, w->first);
	t->row_lines = (w->j1 - w->j0 + LINE - 1) / LINE;
	t->skip = g->n - t->row_lines * LINE;
	lines = q + 1 < w->tiles ? rows * t->row_lines : 0;
	for (int64_t p = 0, j = w->j0; j < w->j1; p++, j += WIDE) {
		int64_t cols = least(WIDE, w->j1 - j);

		t->panel = w->panel + p * WIDE * t->k;
		t->b = !w->packed && !g->bs && cols == WIDE ? g->b + j : NULL;
		if (!w->packed && !t->b)
			stepped_panel(t, j, cols);
		t->next = row * g->n + w->j0 + line * LINE;
		t->n_next = least(STEPPED_LINES, lines);
		t->left = t->row_lines - line;
		lines -= t->n_next;
		line += t->n_next;
		while (line >= t->row_lines) {
			row++;
			line -= t->row_lines;
		}
		stepped_soon(w);
		stepped_tile(w, i, rows, j, cols);
		if (i == 0 && g->sums)
			stepped_sums(t, j, cols);
	}
	w->packed = true;
}

/* Columns of a block: as few blocks as do, all alike. */
static int64_t stepped_width(int64_t cols)
{
	int64_t blocks = (cols + STEPPED_COLS - 1) / STEPPED_COLS;

	return ((cols + blocks - 1) / blocks + WIDE - 1) / WIDE * WIDE;
}

static void stepped_begin(stepped_work *w, const mr_vec_gemm *g, int64_t r0, int64_t r1, float *scratch)
{
	w->t = (stepped){.g = g, .k = g->k};
	w->r0 = r0;
	w->rows = r1 - r0;
	w->tiles = (w->rows + WIDE_ROWS - 1) / WIDE_ROWS;
	w->first = w->end = w->soon_end = 0;
	w->j0 = w->j1 = -1;
	w->panel = scratch;
	w->columns = scratch + STEPPED_K * (STEPPED_COLS + WIDE);
	w->soon_columns = w->columns + STEPPED_K * STEPPED_PITCH;
}

static void stepped_block(stepped_work *w, int64_t j0, int64_t j1)
{
	w->packed = w->packed && j0 == w->j0 && j1 == w->j1;
	w->j0 = j0;
	w->j1 = j1;
	w->panels = (j1 - j0 + WIDE - 1) / WIDE;
}

static void stepped_end(stepped_work *w)
{
	if (w->t.grad.sum)
		stepped_kind_of(w->t.g->step)->alone(w->t.g, &w->t.grad, WIDE);
}

static void stepped_range(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	int64_t width = stepped_width(c1 - c0);
	stepped_work w;

	stepped_begin(&w, g, r0, r1, scratch);
	for (int64_t j = c0; j < c1; j += width) {
		w.packed = false;
		stepped_block(&w, j, least(c1, j + width));
		for (int64_t q = 0; q < w.tiles; q++)
			stepped_group(&w, q);
	}
	stepped_end(&w);
}

/* A unit is one group in one block of columns. A thread packs a block's part of B when it takes the first unit of it. */
static void stepped_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	int64_t width = stepped_width(g->n), at, end;
	stepped_work w;

	stepped_begin(&w, g, 0, g->m, scratch);
	w.packed = false;
	while ((at = mr_share_take(g->share, g->n_share, worker, 1, &end)) >= 0) {
		int64_t j = at / w.tiles * width;

		stepped_block(&w, j, least(g->n, j + width));
		stepped_group(&w, at % w.tiles);
	}
	stepped_end(&w);
}

static bool stepped_takes(const mr_vec_gemm *g)
{
	return g->step && g->k >= STEPPED_LEAST_K && g->k <= STEPPED_K;
}

static int64_t stepped_units(const mr_vec_gemm *g)
{
	int64_t width = stepped_width(g->n);

	return (g->n + width - 1) / width * ((g->m + WIDE_ROWS - 1) / WIDE_ROWS);
}

#define STEPPED_FLOATS (STEPPED_K * (STEPPED_COLS + WIDE) + 2 * STEPPED_K * STEPPED_PITCH)
