/*
 * vec_gemm_tall.h - products over many rows of a batch: C = A op(B) for many rows of A, and A^T B for long sums.
 *
 * B passes by in blocks, TALL_K x TALL_COLS, packed in panels [k][NR] that L2 holds; all tiles of C's rows are multiplied by a block
 * before the next one, each with its part of A in a sliver that L1 holds. Sums that are not finished wait in C, whose columns of a
 * block fit L2. In A op(B) every thread has rows of its own. Threads that share a step so keep to their rows from layer to layer: what
 * one wrote it finds in its own L2, where products cut along columns fetch half of their input from the other core.
 *
 * What is touched next is fetched while a tile runs: the lines of C that the tile behind it reads and writes, weights and
 * state if it steps, the rows of A of the tiles behind those, and the next block. Steps of a gpt of width 768, 1024 rows, AdamW, two
 * threads with 2 MiB of L2 each: 60 % of the peak with oneDNN's products, 76 % with these (three interleaved runs; steps of Adam had
 * become cheaper as well). Sums as in vec_gemm.h: one chain over ascending k.
 *
 * Of x^T dz the first tile of a panel, which has each row of dz in registers, adds up the panel's columns too: the gradient of the
 * bias. With thirteen rows or fewer, as first tiles have unless all have fourteen, there are registers for that. A pass over dz less:
 * steps of a gpt of width 256, 1024 rows, two threads, took 60.1 ms in place of 60.9 (medians of 290 each, in turn).
 */
#define TALL_K 256
#define TALL_COLS 256
#define TALL_TURNED_COLS 512 /* of A^T B: twice as wide, for half as many slivers, which take longer to pack there */
#define TALL_PITCH (TALL_K + LINE) /* rows of a sliver begin in different sets of L1 */

/* Columns of a block. */
static int64_t tall_cols(const mr_vec_gemm *g)
{
	return g->ta ? TALL_TURNED_COLS : TALL_COLS;
}

/* Lines that a tile fetches into L2, a sixteenth of them at a time. */
typedef struct stream {
	const float *p;
	int64_t lines;
} stream;

#define STREAMS 4

typedef struct tall {
	const mr_vec_gemm *g;
	int64_t i, j, cols;       /* place in C; columns of this tile, at most NR */
	int64_t k;                /* of this block */
	const float *sliver;      /* [rows][TALL_PITCH]; of A^T [k][LANES] */
	float *panel;             /* [k][NR], one of the block's */
	const float *b;           /* its place in B, at pitch g->n, for the tile that packs it; otherwise NULL */
	const float *in;          /* the sum so far, at pitch g->n; NULL: none */
	float *out;               /* where an unfinished sum goes, or one that is stepped; NULL: C gets bias and activation */
	int64_t out_pitch;
	float *sums;              /* [NR] of the panel's columns so far: of A^T B, for the tile that packs it */
	int64_t next;             /* element of C where the next tile begins; < 0: there is none */
	bool last;                /* the sum is finished by this block */
	stream soon[STREAMS];
} tall;

/* Of the next tile's row @row: what it reads and writes. */
FORCE_INLINE void tall_fetch_row(const tall *t, int64_t row)
{
	const mr_vec_gemm *g = t->g;
	int64_t at = t->next + row * g->n;

	for (int64_t end = at + NR; at < end; at += LINE) {
		fetch_own_l1(g->c + at);
		if (g->act == MR_ACT_GELU)
			fetch_own_l1(g->slope + at);
		if (t->last && g->addend)
			fetch_l2(g->addend + at);
		if (t->last && g->factor)
			fetch_line(g->factor + at);
		if (t->last && g->step)
			fetch_step(g->step, at);
	}
}

/* @packs, a constant in each caller: the first tile of a panel reads B itself, and leaves the panel to the others. */
FORCE_INLINE void tall_k(const tall *t, V acc[GEMM_ROWS][2], int rows, bool turned, bool packs)
{
	int64_t a_row = turned ? 1 : TALL_PITCH, a_k = turned ? LANES : 1, l = 0, pitch = packs ? t->g->n : NR;
	const float *a = t->sliver, *b = packs ? t->b : t->panel;
	float *panel = t->panel;
	V s0 = v_set(0.0f), s1 = s0;

	if (turned && packs) {
		s0 = v_load(t->sums, 0);
		s1 = v_load(t->sums + LANES, 0);
	}
	for (int64_t line = 0; l + LINE <= t->k; l += LINE, line++) {
		if (line < rows && t->next >= 0)
			tall_fetch_row(t, line);
		for (int s = 0; s < STREAMS; s++)
			for (int64_t x = line; x < t->soon[s].lines; x += TALL_K / LINE)
				fetch_l2(t->soon[s].p + x * LINE);
#pragma GCC unroll 4
		for (int u = 0; u < LINE; u++, a += a_k, b += pitch) {
			V b0 = v_load(b, 0), b1 = v_load(b + LANES, 0);

			fetch_l1(b + AHEAD * pitch);
			if (packs) {
				v_store(panel, b0, 0);
				v_store(panel + LANES, b1, 0);
				panel += NR;
			}
			if (turned && packs) {
				s0 = v_add(s0, b0);
				s1 = v_add(s1, b1);
			}
			tile_fma(acc, rows, a, a_row, b0, b1);
		}
	}
	for (; l < t->k; l++, a += a_k, b += NR)
		tile_fma(acc, rows, a, a_row, v_load(b, 0), v_load(b + LANES, 0));
	if (turned && packs) {
		v_store(t->sums, s0, 0);
		v_store(t->sums + LANES, s1, 0);
	}
}

FORCE_INLINE void tall_tile(const tall *t, int rows, bool full, bool turned, bool packs)
{
	tile as = {.g = t->g, .i = t->i, .j = t->j, .cols = t->cols, .in = t->in, .in_pitch = t->g->n};
	V acc[GEMM_ROWS][2];
	edge e = edge_of(&as, full);

	tile_begin(&as, acc, rows, e);
	tall_k(t, acc, rows, turned, packs);
	if (turned || t->out)
		tile_store(acc, rows, t->out, t->out_pitch, e);
	else
		tile_finish(&as, acc, rows, e);
}

#define TALL_CASE(n) \
	case n: \
		tall_tile(t, n, TALL_FULL, TALL_TURNED, TALL_PACKS); \
		break;

static __attribute__((noinline)) void tall_full(const tall *t, int64_t rows)
{
#define TALL_FULL true
#define TALL_TURNED false
#define TALL_PACKS false
	switch (rows) {
		EACH_ROWS(TALL_CASE)
	}
#undef TALL_PACKS
}

static __attribute__((noinline)) void tall_packing(const tall *t, int64_t rows)
{
#define TALL_PACKS true
	switch (rows) {
		EACH_ROWS(TALL_CASE)
	}
#undef TALL_TURNED
}

static __attribute__((noinline)) void tall_turned_packing(const tall *t, int64_t rows)
{
#define TALL_TURNED true
	switch (rows) {
		EACH_ROWS(TALL_CASE)
	}
#undef TALL_PACKS
}

static __attribute__((noinline)) void tall_turned(const tall *t, int64_t rows)
{
#define TALL_PACKS false
	switch (rows) {
		EACH_ROWS(TALL_CASE)
	}
#undef TALL_FULL
}

static __attribute__((noinline)) void tall_turned_edge(const tall *t, int64_t rows)
{
#define TALL_FULL false
	switch (rows) {
		EACH_ROWS(TALL_CASE)
	}
#undef TALL_TURNED
}

static __attribute__((noinline)) void tall_edge(const tall *t, int64_t rows)
{
#define TALL_TURNED false
	switch (rows) {
		EACH_ROWS(TALL_CASE)
	}
#undef TALL_TURNED
#undef TALL_FULL
#undef TALL_PACKS
}

static void tall_any(const tall *t, int64_t rows)
{
	if (t->g->ta)
		(t->b ? tall_turned_packing : t->cols == NR ? tall_turned : tall_turned_edge)(t, rows);
	else
		(t->b ? tall_packing : t->cols == NR ? tall_full : tall_edge)(t, rows);
}

/* The steps of a tile whose gradient is at @grad, [rows][NR]. @kind is constant in each caller. */
FORCE_INLINE void tall_step_kind(const tall *t, int64_t rows, const float *grad, mr_step_kind kind)
{
	mr_vec_step s = *t->g->step; /* a copy: stores cannot alias it */
	step_lanes c = step_lanes_of(&s);

	s.kind = kind;
	for (int64_t r = 0; r < rows; r++, grad += NR) {
		int64_t at = (t->i + r) * t->g->n + t->j;

		for (int64_t j = 0; j < t->cols; j += LANES) {
			int64_t part = t->cols - j < LANES ? t->cols - j : 0;

			step_at(&s, &c, at + j, v_load(grad + j, part), part);
		}
	}
}

static void tall_step(const tall *t, int64_t rows, const float *grad)
{
	switch (t->g->step->kind) {
#define MR_STEP(kind, id, states, passes, rate, rate_g) \
	case MR_STEP_##kind: \
		tall_step_kind(t, rows, grad, MR_STEP_##kind); \
		return;
#include "nn/optim/optim.def"
#undef MR_STEP
	case MR_N_STEPS: return;
	}
}

/* --- blocks of B and slivers of A --------------------------------------------------------------------------------- */

/* A block of B: columns @j .. @j + @cols. */
typedef struct tall_block {
	int64_t j, cols, k0, k;
} tall_block;

/* Rows of B as they lie: k of them, or where B is stored transposed its columns. */
static int64_t block_rows(const mr_vec_gemm *g, const tall_block *b)
{
	return g->tb ? b->cols : b->k;
}

static stream block_row(const mr_vec_gemm *g, const tall_block *b, int64_t row)
{
	int64_t at = b->k0 + row;

	if (g->tb)
		return (stream){g->b + (b->j + row) * g->k + b->k0, (b->k + LINE - 1) / LINE};
	return (stream){(g->bs ? g->bs[at / g->piece] + at % g->piece * g->n : g->b + at * g->n) + b->j,
			(b->cols + LINE - 1) / LINE};
}

/* The sums of @b's columns of piece @piece of k are there: @sums goes to its place, and begins anew. */
static void tall_give(const mr_vec_gemm *g, const tall_block *b, int64_t piece, float *sums)
{
	for (int64_t j = 0; j < b->cols; j += LANES) {
		int64_t part = b->cols - j < LANES ? b->cols - j : 0;
		float *y = g->sums + b->j + j;
		V s = v_load(sums + j, 0);

		v_store(y, g->add || piece > 0 ? v_add(v_load(y, part), s) : s, part);
		v_store(sums + j, v_set(0.0f), 0);
	}
}

/* The sums of columns, row @l of @b added, which lies at @src. */
static void tall_sum_row(const mr_vec_gemm *g, const tall_block *b, int64_t l, const float *src, float *sums)
{
	int64_t at = b->k0 + l;

	if (g->bs && at > 0 && at % g->piece == 0)
		tall_give(g, b, at / g->piece - 1, sums);
	for (int64_t j = 0; j < b->cols; j += LANES)
		v_store(sums + j, v_add(v_load(sums + j, 0), v_load(src + j, b->cols - j < LANES ? b->cols - j : 0)), 0);
}

/* Whole rows at a time: panels one after the other would come for two lines of a row each. */
static void tall_pack_straight(const mr_vec_gemm *g, const tall_block *b, float *panels, float *sums)
{
	for (int64_t l = 0; l < b->k; l++) {
		const float *src = block_row(g, b, l).p;
		float *dst = panels + l * NR;

		for (int64_t j = 0; j < b->cols; j += LANES) {
			int64_t cols = least(LANES, b->cols - j);

			v_store(dst + j / NR * NR * b->k + j % NR, v_load(src + j, cols < LANES ? cols : 0), 0);
		}
		if ((b->cols - 1) % NR < LANES) /* the last panel's other half */
			v_store(dst + b->cols / NR * NR * b->k + LANES, v_set(0.0f), 0);
		if (sums)
			tall_sum_row(g, b, l, src, sums);
	}
}

static void tall_pack_turned(const mr_vec_gemm *g, const tall_block *b, float *panels)
{
	for (int64_t j = 0; j < b->cols || j % NR; j += LANES)
		pack_turned(g->b + (b->j + j) * g->k + b->k0, g->k, least(LANES, b->cols - j), b->k,
			    panels + j / NR * NR * b->k + j % NR, NR);
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

/* What one call works on: rows and columns of C. */
typedef struct tall_part {
	int64_t r0, r1, c0, c1, tiles;
	float *panels, *sliver, *grad, *sums;
} tall_part;

/* The block behind @b; false: there is none. */
static bool next_block(const mr_vec_gemm *g, const tall_part *w, const tall_block *b, tall_block *out)
{
	*out = *b;
	out->k0 += b->k;
	if (out->k0 >= g->k) {
		out->k0 = 0;
		out->j += b->cols;
		out->cols = least(tall_cols(g), w->c1 - out->j);
	}
	out->k = least(TALL_K, g->k - out->k0);
	return out->j < w->c1;
}

/* First row of tile @at. */
static int64_t part_row(const tall_part *w, int64_t at)
{
	return w->r0 + tile_row(w->r1 - w->r0, at < w->tiles ? at : w->tiles, w->tiles);
}

/* Rows of A^T, for the block that comes next: those of its k. */
static stream turned_row(const mr_vec_gemm *g, const tall_part *w, const tall_block *b, int64_t row)
{
	int64_t at = b->k0 + row;

	return (stream){(g->as ? g->as[at / g->piece] + at % g->piece * g->m : g->a + at * g->m) + w->r0,
			(w->r1 - w->r0 + LINE - 1) / LINE};
}

/* Panel @q of @n of the tile @at fetches its share of the next block, @soon, and where A is not transposed of the next tile's rows. */
static void plan_fetches(tall *t, const tall_part *w, const tall_block *b, const tall_block *soon, int64_t at, int64_t q, int64_t n)
{
	const mr_vec_gemm *g = t->g;
	int64_t calls = w->tiles * n, call = at * n + q, rows = soon ? block_rows(g, soon) : 0;
	int64_t from = rows * call / calls, to = least(rows * (call + 1) / calls, from + 2);
	int64_t i = part_row(w, at + 1), next = part_row(w, at + 2) - i;
	int s = 0;

	for (int64_t r = from; r < to; r++)
		t->soon[s++] = block_row(g, soon, r);
	for (int64_t r = from; g->ta && r < to; r++)
		t->soon[s++] = turned_row(g, w, soon, r);
	if (!g->ta)
		for (int64_t r = next * q / n; r < next * (q + 1) / n && s < STREAMS; r++)
			t->soon[s++] = (stream){g->a + (i + r) * g->k + b->k0, (b->k + LINE - 1) / LINE};
	while (s < STREAMS)
		t->soon[s++] = (stream){NULL, 0};
}

/* Are the panels of @b packed by the first tile? Its rows must lie at one pitch, in whole panels and lines of k. */
static bool in_passing(const mr_vec_gemm *g, const tall_block *b)
{
	return !g->tb && !g->bs && b->cols % NR == 0 && b->k % LINE == 0;
}

/* The rows of C of tile @at, all columns of block @b. */
static void tall_rows(tall *t, const tall_part *w, const tall_block *b, const tall_block *soon, int64_t at)
{
	const mr_vec_gemm *g = t->g;
	int64_t n = (b->cols + NR - 1) / NR, end = part_row(w, at + 1), rows = end - t->i;
	bool steps = t->last && g->step, finishes = t->last && !g->step && !g->ta;

	for (int64_t q = 0; q < n; q++) {
		float *c;

		t->j = b->j + q * NR;
		t->cols = least(NR, b->j + b->cols - t->j);
		t->panel = w->panels + q * NR * b->k;
		t->b = at == 0 && in_passing(g, b) ? block_row(g, b, 0).p + q * NR : NULL;
		t->sums = w->sums + q * NR;
		c = g->c + t->i * g->n + t->j;
		t->in = b->k0 > 0 || g->add ? c : NULL;
		t->out = finishes ? NULL : steps ? w->grad : c;
		t->out_pitch = steps ? NR : g->n;
		t->next = q + 1 < n ? t->i * g->n + t->j + NR : part_row(w, at + 2) - end >= rows ? end * g->n + b->j : -1;
		plan_fetches(t, w, b, soon, at, q, n);
		tall_any(t, rows);
		if (steps)
			tall_step(t, rows, w->grad);
	}
}

static void tall_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	float grad[GEMM_ROWS * NR] __attribute__((aligned(64))), sums[TALL_TURNED_COLS] __attribute__((aligned(64))) = {0};
	tall_part w = {r0, r1, c0, c1, tiles_of(r1 - r0), scratch, scratch + TALL_K * TALL_TURNED_COLS, grad, sums};
	tall_block b = {.j = c0, .cols = least(tall_cols(g), c1 - c0), .k = least(TALL_K, g->k)}, soon;
	tall t = {.g = g, .sliver = w.sliver};
	bool gives = g->sums && r0 == 0; /* all that have these columns sum them, since they pack them; one gives them */

	for (bool more = c1 > c0; more; b = soon) {
		more = next_block(g, &w, &b, &soon);
		if (g->tb)
			tall_pack_turned(g, &b, w.panels);
		else if (!in_passing(g, &b))
			tall_pack_straight(g, &b, w.panels, gives ? sums : NULL);
		t.k = b.k;
		t.last = b.k0 + b.k == g->k;
		for (int64_t q = 0; q < w.tiles; q++) {
			int64_t rows = part_row(&w, q + 1) - part_row(&w, q);

			t.i = part_row(&w, q);
			if (g->ta)
				pack_sliver(g, t.i, rows, b.k0, b.k, w.sliver);
			else
				copy_rows(g, t.i, rows, b.k0, b.k, w.sliver, TALL_PITCH);
			tall_rows(&t, &w, &b, more ? &soon : NULL, q);
		}
		if (gives && t.last)
			tall_give(g, &b, g->bs ? (g->k - 1) / g->piece : 0, sums);
	}
}

static void gemm_tall(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	gemm_range(args, lo, hi, worker, tall_run, NULL);
}

/* Ranges are fixed: see above. */
static int64_t tall_units(const mr_vec_gemm *g)
{
	(void)g;
	return 0;
}

/* Whoever packs B has seen all of it. */
static bool tall_sums(const mr_vec_gemm *g)
{
	return g->ta;
}

static size_t tall_floats(int64_t k)
{
	(void)k;
	return TALL_K * TALL_TURNED_COLS + GEMM_ROWS * TALL_PITCH + TALL_K * LANES;
}
