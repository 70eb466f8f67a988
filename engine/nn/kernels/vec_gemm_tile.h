/*
 * vec_gemm_tile.h - one tile of a matrix product: GEMM_ROWS x 2 vectors of C in registers while k runs. See vec_gemm.h.
 */
#define NR (2 * LANES)
#define LINE 16 /* floats of a cache line */
#define AHEAD 5 /* k that a tile's operand is fetched ahead into L1 */
#define DEPTH 64 /* k of a block in panels, and what lies between two rows of their slivers */

/*
 * Whoever runs several tiles sets one of these up and changes it from tile to tile. Made anew for each it is cleared by wide
 * stores; a field behind them is not read from the store buffer but waited for, until every store of the tile before has left
 * the core.
 */
typedef struct tile {
	const mr_vec_gemm *g;
	int64_t i, j, cols;      /* place in C; columns of this tile, at most NR */
	int64_t k;
	const float *a;          /* sliver; in panels [rows][DEPTH], otherwise [k][LANES] */
	const float *soon;       /* in panels: the next tile's; otherwise NULL */
	const float *b;          /* panel, or rows of B itself when it is to be packed */
	int64_t b_pitch;
	float *pack;             /* where the panel goes; NULL: it is packed */
	const float *in;         /* the sum so far; NULL: none */
	int64_t in_pitch;
	float *out;              /* NULL: this is the last block; C gets bias and activation, or the step is taken */
	int64_t out_pitch;
	const float *next;       /* what will be read next from far away, */
	int64_t step_next;       /* or with a step: the place in C, weights and state that will, */
	int64_t n_next;          /* and how many lines of it this tile fetches; */
	int64_t left, skip;      /* of @next: lines up to the end of its row, then floats to the row behind it, */
	int64_t row_lines;       /* and lines of that one */
	float *own;              /* in panels: rows of C that this tile will write, to be had before, */
	int64_t own_pitch, n_own; /* and how many */
} tile;

#define FORCE_INLINE static inline __attribute__((always_inline))

static inline void fetch_l2(const float *p)
{
	__builtin_prefetch(p, 0, 2);
}

/* For lines that will be written: shared ones are taken from the other cores now, not when the store waits. */
static inline void fetch_own(float *p)
{
	__builtin_prefetch(p, 1, 2);
}

static inline void fetch_own_l1(float *p)
{
	__builtin_prefetch(p, 1, 3);
}

static inline void fetch_l1(const float *p)
{
	__builtin_prefetch(p, 0, 3);
	__builtin_prefetch(p + LINE, 0, 3);
}

static inline void fetch_line(const float *p)
{
	__builtin_prefetch(p, 0, 3);
}

FORCE_INLINE void tile_fma(V acc[GEMM_ROWS][2], int rows, const float *a, int64_t pitch, V b0, V b1)
{
#pragma GCC unroll 14
	for (int r = 0; r < rows; r++) {
		V x = v_set(a[r * pitch]);

		acc[r][0] = v_fma(x, b0, acc[r][0]);
		acc[r][1] = v_fma(x, b1, acc[r][1]);
	}
}

/* The lanes of vector 1 and 0 of a tile that are read and written; see `part` in the lanes' header. */
typedef struct edge {
	bool two;
	int64_t p0, p1;
} edge;

FORCE_INLINE edge edge_of(const tile *t, bool full)
{
	int64_t cols = t->cols;

	if (full)
		return (edge){.two = true};
	return (edge){
		.two = cols > LANES,
		.p0 = cols < LANES ? cols : 0,
		.p1 = cols > LANES && cols < NR ? cols - LANES : 0,
	};
}

FORCE_INLINE void tile_begin(const tile *t, V acc[GEMM_ROWS][2], int rows, edge e)
{
	if (!t->in) {
#pragma GCC unroll 14
		for (int r = 0; r < rows; r++)
			acc[r][0] = acc[r][1] = v_set(0.0f);
		return;
	}
#pragma GCC unroll 14
	for (int r = 0; r < rows; r++) {
		const float *in = t->in + r * t->in_pitch;

		acc[r][0] = v_load(in, e.p0);
		acc[r][1] = e.two ? v_load(in + LANES, e.p1) : v_set(0.0f);
	}
}

FORCE_INLINE void tile_store(V acc[GEMM_ROWS][2], int rows, float *out, int64_t pitch, edge e)
{
#pragma GCC unroll 14
	for (int r = 0; r < rows; r++) {
		v_store(out + r * pitch, acc[r][0], e.p0);
		if (e.two)
			v_store(out + r * pitch + LANES, acc[r][1], e.p1);
	}
}

/* @kind is constant in each caller, so that one optimizer's arithmetic is left; and so is @plain: see step_plain_v. */
FORCE_INLINE void step_with(const mr_vec_step *s, const step_lanes *c, int64_t at, V g, int64_t part, mr_step_kind kind, bool plain)
{
	V w = v_load(s->src + at, part), m = w, v = w;

	if (plain) {
		m = v_load(s->m + at, part);
		w = step_plain_v(c, w, g, &m);
		v_store(s->m + at, m, part);
		v_store(s->dst + at, w, part);
		return;
	}
	switch (kind) {
#define MR_STEP(kind, id, states, passes, rate, rate_g) \
	case MR_STEP_##kind: \
		if (states > 0) \
			m = v_load(s->m + at, part); \
		if (states > 1) \
			v = v_load(s->v + at, part); \
		w = step_##id##_v(c, w, g, &m, &v); \
		if (states > 0) \
			v_store(s->m + at, m, part); \
		if (states > 1) \
			v_store(s->v + at, v, part); \
		break;
#include "nn/optim/optim.def"
#undef MR_STEP
	case MR_N_STEPS: break;
	}
	v_store(s->dst + at, w, part);
}

FORCE_INLINE void step_at(const mr_vec_step *s, const step_lanes *c, int64_t at, V g, int64_t part)
{
	step_with(s, c, at, g, part, s->kind, false);
}

/* @kind is constant in each caller. */
FORCE_INLINE void tile_step(const tile *t, V acc[GEMM_ROWS][2], int rows, edge e, mr_step_kind kind)
{
	mr_vec_step s = *t->g->step; /* a copy: stores cannot alias it */
	step_lanes c = step_lanes_of(&s);
	int64_t at = t->i * t->g->n + t->j;

	s.kind = kind;
#pragma GCC unroll 14
	for (int r = 0; r < rows; r++) {
		step_at(&s, &c, at + r * t->g->n, acc[r][0], e.p0);
		if (e.two)
			step_at(&s, &c, at + r * t->g->n + LANES, acc[r][1], e.p1);
	}
}

FORCE_INLINE void tile_step_any(const tile *t, V acc[GEMM_ROWS][2], int rows, edge e)
{
	switch (t->g->step->kind) {
#define MR_STEP(kind, id, states, passes, rate, rate_g) \
	case MR_STEP_##kind: \
		tile_step(t, acc, rows, e, MR_STEP_##kind); \
		return;
#include "nn/optim/optim.def"
#undef MR_STEP
	case MR_N_STEPS: return;
	}
}

/*
 * GELU, and its slope to g->slope. With all accumulators alive there are no registers for it, so sums go through memory: through C they
 * would be waited for, since its rows are often a page long, and a load that agrees with a store under way in the last 12 bits of
 * its address waits for that.
 */
FORCE_INLINE void tile_gelu(const tile *t, V acc[GEMM_ROWS][2], int rows, edge e)
{
	float sum[GEMM_ROWS * NR] __attribute__((aligned(64)));
	const mr_vec_gemm *g = t->g;
	int64_t at = t->i * g->n + t->j;

	tile_store(acc, rows, sum, NR, (edge){.two = true});
	for (int r = 0; r < rows; r++, at += g->n) {
		V slope[2], y0 = gelu_and_slope(v_load(sum + r * NR, 0), &slope[0]);
		V y1 = gelu_and_slope(v_load(sum + r * NR + LANES, 0), &slope[1]);

		v_store(g->c + at, y0, e.p0);
		v_store(g->slope + at, slope[0], e.p0);
		if (e.two) {
			v_store(g->c + at + LANES, y1, e.p1);
			v_store(g->slope + at + LANES, slope[1], e.p1);
		}
	}
}

FORCE_INLINE void tile_finish(const tile *t, V acc[GEMM_ROWS][2], int rows, edge e)
{
	const mr_vec_gemm *g = t->g;
	int64_t at = t->i * g->n + t->j;
	V zero = v_set(0.0f);

	if (g->bias) {
		V b0 = v_load(g->bias + t->j, e.p0), b1 = e.two ? v_load(g->bias + t->j + LANES, e.p1) : zero;

#pragma GCC unroll 14
		for (int r = 0; r < rows; r++) {
			acc[r][0] = v_add(acc[r][0], b0);
			acc[r][1] = v_add(acc[r][1], b1);
		}
	}
	if (g->act == MR_ACT_GELU) {
		tile_gelu(t, acc, rows, e);
		return;
	}
	if (g->factor) {
#pragma GCC unroll 14
		for (int r = 0; r < rows; r++) {
			const float *x = g->factor + at + r * g->n;

			acc[r][0] = v_mul(acc[r][0], v_load(x, e.p0));
			acc[r][1] = v_mul(acc[r][1], e.two ? v_load(x + LANES, e.p1) : zero);
		}
	}
	if (g->addend) {
#pragma GCC unroll 14
		for (int r = 0; r < rows; r++) {
			const float *x = g->addend + at + r * g->n;

			acc[r][0] = v_add(acc[r][0], v_load(x, e.p0));
			acc[r][1] = v_add(acc[r][1], e.two ? v_load(x + LANES, e.p1) : zero);
		}
	}
	if (g->act == MR_ACT_RELU) {
#pragma GCC unroll 14
		for (int r = 0; r < rows; r++) {
			acc[r][0] = v_relu(acc[r][0]);
			acc[r][1] = v_relu(acc[r][1]);
		}
	}
	tile_store(acc, rows, g->c + at, g->n, e);
}

/* Where the lines that a tile fetches lie: the weights, which other threads have read since, and the same places of the optimizer's
 * arrays, which one thread alone uses. */
FORCE_INLINE void fetch_step(const mr_vec_step *s, int64_t at)
{
	fetch_own(s->dst + at);
	if (s->dst != s->src)
		fetch_l2(s->src + at);
	if (s->m)
		fetch_l2(s->m + at);
	if (s->v)
		fetch_l2(s->v + at);
}

typedef enum tile_kind { TILE_PANEL, TILE_PACK, TILE_GROUP, TILE_STEP } tile_kind;

/* A row of C, at most NR floats from @c, and what will be added to it. */
FORCE_INLINE void fetch_result(const mr_vec_gemm *g, float *c)
{
	for (int64_t j = 0; j < NR; j += LINE) {
		fetch_own(c + j);
		if (g->addend)
			fetch_l2(g->addend + (c - g->c) + j);
	}
}

/* The k of a tile that packs its panel. */
FORCE_INLINE void tile_pack_k(const tile *t, V acc[GEMM_ROWS][2], int rows)
{
	const float *a = t->a, *b = t->b, *next = t->next, *soon = t->soon;
	int64_t pitch = t->b_pitch, left = t->left;
	float *pack = t->pack, *own = t->own;

	for (int64_t l = 0; l < t->k; l++, a++, b += pitch, pack += NR, next += LINE, soon += LINE) {
		V b0 = v_load(b, 0), b1 = v_load(b + LANES, 0);

		if (l < t->n_next) {
			if (left-- == 0) {
				next += t->skip;
				left = t->row_lines - 1;
			}
			fetch_l2(next);
		}
		if (l < t->n_own) {
			fetch_result(t->g, own);
			own += t->own_pitch;
		}
		fetch_line(soon);
		fetch_l1(b + AHEAD * pitch);
		v_store(pack, b0, 0);
		v_store(pack + LANES, b1, 0);
		tile_fma(acc, rows, a, DEPTH, b0, b1);
	}
}

/* One k of a tile whose panel is packed: in groups panels come from L2, in panels slivers do. */
FORCE_INLINE void tile_k_one(V acc[GEMM_ROWS][2], int rows, const float **a, const float **b, const float **soon, tile_kind kind)
{
	V b0 = v_load(*b, 0), b1 = v_load(*b + LANES, 0);

	if (kind == TILE_PANEL)
		fetch_line(*soon);
	else
		fetch_l1(*b + AHEAD * NR);
	tile_fma(acc, rows, *a, kind == TILE_PANEL ? DEPTH : 1, b0, b1);
	*a += kind == TILE_PANEL ? 1 : LANES;
	*b += NR;
	*soon += LINE;
}

/* What is fetched from far away is spread evenly over k: a core has few places for lines under way, and panels need them too. */
FORCE_INLINE void tile_k(const tile *t, V acc[GEMM_ROWS][2], int rows, tile_kind kind)
{
	const float *a = t->a, *b = t->b, *next = t->next, *soon = t->soon;
	int64_t at = t->step_next, left = t->left, n_next = t->n_next < t->k ? t->n_next : t->k;
	float *own = t->own;
	int64_t every = n_next ? t->k / n_next : 0, rest = t->k - every * n_next;

	for (int64_t n = 0; n < n_next; n++, next += LINE, at += LINE) {
		if (left-- == 0) {
			next += t->skip;
			at += t->skip;
			left = t->row_lines - 1;
		}
		if (kind == TILE_STEP)
			fetch_step(t->g->step, at);
		else
			fetch_l2(next);
		if (kind == TILE_PANEL && n < t->n_own) {
			fetch_result(t->g, own);
			own += t->own_pitch;
		}
		for (int64_t u = 0; u < every; u++)
			tile_k_one(acc, rows, &a, &b, &soon, kind);
	}
	for (int64_t u = 0; u < rest; u++)
		tile_k_one(acc, rows, &a, &b, &soon, kind);
}

FORCE_INLINE void tile_run(const tile *t, int rows, bool full, tile_kind kind)
{
	V acc[GEMM_ROWS][2];
	edge e = edge_of(t, full);

	tile_begin(t, acc, rows, e);
	if (kind == TILE_PACK)
		tile_pack_k(t, acc, rows);
	else
		tile_k(t, acc, rows, kind);
	if (t->out)
		tile_store(acc, rows, t->out, t->out_pitch, e);
	else if (kind != TILE_STEP)
		tile_finish(t, acc, rows, e);
	else
		tile_step_any(t, acc, rows, e);
}

/* One body for each number of rows, so that the accumulators are registers. */
#if GEMM_ROWS == 14
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif
#define TILE_CASE(n) \
	case n: \
		tile_run(t, n, TILE_FULL, TILE_KIND); \
		break;

static __attribute__((noinline)) void tile_panel(const tile *t, int64_t rows)
{
#define TILE_FULL true
#define TILE_KIND TILE_PANEL
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_KIND
}

static __attribute__((noinline)) void tile_pack(const tile *t, int64_t rows)
{
#define TILE_KIND TILE_PACK
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_KIND
}

static __attribute__((noinline)) void tile_group(const tile *t, int64_t rows)
{
#define TILE_KIND TILE_GROUP
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_KIND
}

static __attribute__((noinline)) void tile_stepped(const tile *t, int64_t rows)
{
#define TILE_KIND TILE_STEP
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_FULL
}

static __attribute__((noinline)) void tile_stepped_edge(const tile *t, int64_t rows)
{
#define TILE_FULL false
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_KIND
}

static __attribute__((noinline)) void tile_group_edge(const tile *t, int64_t rows)
{
#define TILE_KIND TILE_GROUP
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_KIND
}

static __attribute__((noinline)) void tile_panel_edge(const tile *t, int64_t rows)
{
#define TILE_KIND TILE_PANEL
	switch (rows) {
		EACH_ROWS(TILE_CASE)
	}
#undef TILE_KIND
#undef TILE_FULL
}

static void tile_any(const tile *t, int64_t rows)
{
	bool full = t->cols == NR;

	if (t->soon)
		(!full ? tile_panel_edge : t->pack ? tile_pack : tile_panel)(t, rows);
	else if (t->g->step && !t->out)
		(full ? tile_stepped : tile_stepped_edge)(t, rows);
	else
		(full ? tile_group : tile_group_edge)(t, rows);
}
