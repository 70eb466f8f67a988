/*
 * vec_gemm_strips.h - C = A B^T for few rows of A: rows of B (weights) are read where they lie, front to back, and nothing of
 * them is packed or turned.
 *
 * The lanes hold rows of A, turned into panels [k][up to STRIP_VECS vectors]; a strip of some rows of B is broadcast element by
 * element. The strips of LANES rows of B make a unit, LANES columns of C, turned back on its way out. Long sums go block by
 * block: mr_gemm_sum_block() of k is one chain, as in vec_gemm.h, and the blocks' sums are added in order.
 *
 * With more than a panel's rows for each thread, threads have rows of their own, so that each turns no more of A than it needs, most
 * of which it wrote itself (128 x 1024 times 1024 x 1024, two threads: turning all of A took 28 us of 670, half of it 9), and both
 * stream through all of B. A thread that is through takes units of another one's rows, whose panels it reads where they are.
 * Fewer rows are multiplied by all threads, by columns.
 */
#if LANES == 16
#define STRIP_VECS 4  /* of a panel: 6 x 4 accumulators and as many loads as 10 for 24 multiply-adds */
#else
#define STRIP_VECS 3
#endif
#define STRIP_ROWS 128   /* rows of A at a time */
#define STRIP_SHARED_K 4096 /* more k is not shared out by columns: that turns all k at once, */
#define STRIP_BLOCKS 3      /* which are so many blocks; */
#define STRIP_TWICE_K 1024  /* nor are twice the rows: their panels would leave L2 (256 rows, 768 x 1536, by columns 370 GFLOP/s, by rows 423) */
#define STRIP_KEPT 1024     /* columns whose sums wait between blocks in L2, as they are made; others in C, turned and turned back */
#define STRIP_LEAVE 2    /* units that a thread leaves to the one whose panels it would have to bring over */

typedef struct strip {
	const float *w;        /* rows of B, at @pitch */
	int64_t pitch, k;
	const float *x;        /* panel */
	float *out;            /* [rows of B][STRIP_ROWS] */
	bool begun, add;       /* the chain begins at what is in @out; its result is added to that */
	const float *next;     /* rows of B that will be read next from far away; NULL: none */
	const float *soon_w, *soon_x; /* rows and panel of the next strip */
	float *own;            /* lines of C that will be written, to be had before: */
	int64_t own_pitch, n_own; /* a store that has to wait for its line holds up those behind it */
} strip;

FORCE_INLINE void strip_fma(V *acc, const float *w, int64_t pitch, const float *x, int rows, int vecs)
{
	V xs[STRIP_VECS];

#pragma GCC unroll 4
	for (int v = 0; v < vecs; v++)
		xs[v] = v_load(x + v * LANES, 0);
#pragma GCC unroll 4
	for (int v = 0; v < vecs; v += LINE / LANES)
		fetch_line(x + (AHEAD * vecs + v) * LANES);
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++) {
		V y = v_set(w[r * pitch]);

#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r * vecs + v] = v_fma(y, xs[v], acc[r * vecs + v]);
	}
}

/* What the next strip begins with. */
FORCE_INLINE void strip_soon(const strip *s, int rows, int vecs)
{
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
		fetch_line(s->soon_w + r * s->pitch);
	for (int v = 0; v < AHEAD * vecs; v += LINE / LANES)
		fetch_line(s->soon_x + v * LANES);
}

/* out[rows][vecs] = (add, begun: out +) the sum over k of w[r][l] x[l][.]. @rows and @vecs are constants in each caller. */
FORCE_INLINE void strip_run(const strip *s, int rows, int vecs)
{
	const float *w = s->w, *x = s->x, *next = s->next;
	int64_t pitch = s->pitch, l = 0, n_own = s->n_own;
	float *own = s->own;
	V acc[8 * STRIP_VECS];

#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r * vecs + v] = s->begun ? v_load(s->out + r * STRIP_ROWS + v * LANES, 0) : v_set(0.0f);
	for (; l + LINE <= s->k; l += LINE) {
#pragma GCC unroll 8
		for (int r = 0; r < rows; r++)
			fetch_line(w + r * pitch + l + LINE);
		if (next)
#pragma GCC unroll 8
			for (int r = 0; r < rows; r++)
				fetch_l2(next + r * pitch + l);
		if (n_own-- > 0) {
			fetch_own(own);
			own += s->own_pitch;
		}
#pragma GCC unroll 4
		for (int u = 0; u < LINE; u++)
			strip_fma(acc, w + l + u, pitch, x + (l + u) * vecs * LANES, rows, vecs);
	}
	for (; l < s->k; l++)
		strip_fma(acc, w + l, pitch, x + l * vecs * LANES, rows, vecs);
	strip_soon(s, rows, vecs);
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++) {
			float *out = s->out + r * STRIP_ROWS + v * LANES;

			v_store(out, s->add ? v_add(v_load(out, 0), acc[r * vecs + v]) : acc[r * vecs + v], 0);
		}
}

typedef void strip_fn(const strip *s);

#define STRIP_BODY(rows, vecs) \
	static __attribute__((noinline)) void strip_##rows##_##vecs(const strip *s) { strip_run(s, rows, vecs); }

/* The strips of LANES rows, for panels of 1 to STRIP_VECS vectors. */
typedef struct strip_plan {
	int n, rows[3];
	strip_fn *run[3];
} strip_plan;

#if LANES == 16
STRIP_BODY(8, 1)
STRIP_BODY(8, 2)
STRIP_BODY(8, 3)
STRIP_BODY(6, 4)
STRIP_BODY(5, 4)

static const strip_plan strip_plans[STRIP_VECS] = {
	{2, {8, 8}, {strip_8_1, strip_8_1}},
	{2, {8, 8}, {strip_8_2, strip_8_2}},
	{2, {8, 8}, {strip_8_3, strip_8_3}},
	{3, {6, 5, 5}, {strip_6_4, strip_5_4, strip_5_4}},
};
#else
STRIP_BODY(4, 1)
STRIP_BODY(4, 2)
STRIP_BODY(4, 3)

static const strip_plan strip_plans[STRIP_VECS] = {
	{2, {4, 4}, {strip_4_1, strip_4_1}},
	{2, {4, 4}, {strip_4_2, strip_4_2}},
	{2, {4, 4}, {strip_4_3, strip_4_3}},
};
#endif

/* block[LANES][STRIP_ROWS] = C turned, or C = block turned: @rows rows from @c and @cols columns. */
static void block_load(const float *c, int64_t pitch, int64_t rows, int64_t cols, float *block)
{
	for (int64_t i = 0; i < rows; i += LANES)
		pack_turned(c + i * pitch, pitch, least(LANES, rows - i), cols, block + i, STRIP_ROWS);
}

static void block_store(float *c, int64_t pitch, int64_t rows, int64_t cols, const float *block)
{
	for (int64_t i = 0; i < rows; i += LANES, c += LANES * pitch) {
		float part[LANES * LANES] __attribute__((aligned(64)));

		if (cols == LANES && rows - i >= LANES) {
			turn_square(block + i, STRIP_ROWS, c, pitch);
			continue;
		}
		turn_square(block + i, STRIP_ROWS, part, LANES);
		for (int64_t r = 0; r < LANES && i + r < rows; r++)
			v_store(c + r * pitch, v_load(part + r * LANES, 0), cols < LANES ? cols : 0);
	}
}

/* Rows of A, at most STRIP_ROWS, whose panels are at @x, one behind the other; a block of k. */
typedef struct strip_block {
	const mr_vec_gemm *g;
	int64_t row, rows, k0, k;
	int64_t c1;            /* rows of B are fetched ahead up to this one */
	float *x, *spare;      /* [k][rows], [LANES][k] */
	float *kept;           /* [STRIP_KEPT][STRIP_ROWS] */
} strip_block;

/* Panels share the vectors evenly: where panel @q begins. */
static int64_t strip_vec(int64_t rows, int64_t q)
{
	int64_t vecs = (rows + LANES - 1) / LANES;

	return tile_row(vecs, q, (vecs + STRIP_VECS - 1) / STRIP_VECS);
}

static void strip_panels(const strip_block *b)
{
	const mr_vec_gemm *g = b->g;

	for (int64_t q = 0, v0 = 0, v1; v0 * LANES < b->rows; v0 = v1, q++) {
		v1 = strip_vec(b->rows, q + 1);
		for (int64_t v = v0; v < v1; v++)
			pack_turned(g->a + (b->row + v * LANES) * g->k + b->k0, g->k, least(LANES, b->rows - v * LANES), b->k,
				    b->x + v0 * LANES * b->k + (v - v0) * LANES, (v1 - v0) * LANES);
	}
}

/* The columns from @j, at most LANES. */
static void strip_unit(const strip_block *b, int64_t j)
{
	const mr_vec_gemm *g = b->g;
	float here[LANES * STRIP_ROWS] __attribute__((aligned(64)));
	bool last = b->k0 + b->k == g->k, keeps = b->k < g->k && j < STRIP_KEPT;
	float *block = keeps ? b->kept + j * STRIP_ROWS : here;
	int64_t cols = least(LANES, g->n - j);
	float *c = g->c + b->row * g->n + j;
	const float *w = g->b + j * g->k + b->k0, *next = j + 2 * LANES <= b->c1 ? w + LANES * g->k : NULL;
	strip s = {.pitch = g->k, .k = b->k, .begun = g->add && b->k0 == 0, .add = b->k0 > 0, .own_pitch = g->n};

	if (cols < LANES) { /* the strips read LANES rows */
		memset(b->spare, 0, (size_t)(LANES * b->k) * sizeof(float));
		for (int64_t r = 0; r < cols; r++)
			memcpy(b->spare + r * b->k, w + r * g->k, (size_t)b->k * sizeof(float));
		w = b->spare;
		s.pitch = b->k;
	}
	if (s.begun || (s.add && !keeps))
		block_load(c, g->n, b->rows, cols, block);
	for (int64_t q = 0, v0 = 0, v1; v0 * LANES < b->rows; v0 = v1, q++) {
		const strip_plan *plan;
		int64_t rows;
		bool more;

		v1 = strip_vec(b->rows, q + 1);
		more = v1 * LANES < b->rows;
		plan = &strip_plans[v1 - v0 - 1];
		s.x = b->x + v0 * LANES * b->k;
		rows = least(v1 * LANES, b->rows) - v0 * LANES;
		s.own = c + v0 * LANES * g->n + cols - 1; /* where rows begin within a line, their first is there from the unit before */
		for (int64_t r = 0, p = 0; p < plan->n; r += plan->rows[p], p++, s.own += s.n_own * g->n) {
			bool over = p + 1 == plan->n;

			s.n_own = last ? tile_row(rows, p + 1, plan->n) - tile_row(rows, p, plan->n) : 0;
			s.w = w + r * s.pitch;
			s.out = block + r * STRIP_ROWS + v0 * LANES;
			s.next = q == 0 && next ? next + r * s.pitch : NULL;
			s.soon_w = !over ? s.w + plan->rows[p] * s.pitch : more ? w : next ? next : w;
			s.soon_x = !over ? s.x : more ? b->x + v1 * LANES * b->k : b->x;
			plan->run[p](&s);
		}
	}
	if (last || !keeps)
		block_store(c, g->n, b->rows, cols, block);
}

/* The block of k from @k0. */
static void strip_block_at(strip_block *b, int64_t k0)
{
	b->k0 = k0;
	b->k = least(mr_gemm_sum_block(b->g->k), b->g->k - k0);
	strip_panels(b);
}

/* Rows of A whose panels of all k there is room for. */
static int64_t strip_shared_rows(int64_t k)
{
	return k <= STRIP_TWICE_K ? 2 * STRIP_ROWS : k <= STRIP_SHARED_K ? STRIP_ROWS : 0;
}

static int64_t strip_panel_floats(int64_t k)
{
	return largest(strip_shared_rows(k) * k, STRIP_ROWS * mr_gemm_sum_block(k));
}

static strip_block strip_rows(const mr_vec_gemm *g, int64_t row, int64_t rows, int64_t c1, float *scratch)
{
	float *x = scratch + LANES * mr_gemm_sum_block(g->k);

	return (strip_block){.g = g, .row = row, .rows = rows, .c1 = c1, .spare = scratch, .x = x, .kept = x + strip_panel_floats(g->k)};
}

static void strips_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	for (int64_t i = r0; i < r1; i += STRIP_ROWS) {
		strip_block b = strip_rows(g, i, least(STRIP_ROWS, r1 - i), c1, scratch);

		for (int64_t k0 = 0; k0 < g->k; k0 += b.k) {
			strip_block_at(&b, k0);
			for (int64_t j = c0; j < c1; j += LANES)
				strip_unit(&b, j);
		}
	}
}

static int64_t strip_columns(const mr_vec_gemm *g)
{
	return (g->n + LANES - 1) / LANES;
}

/* A unit is LANES columns of C. */
static void strips_by_columns(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	strip_block blocks[STRIP_BLOCKS], b = strip_rows(g, 0, 0, 0, scratch);
	int64_t at, end;
	int n = 0;

	for (b.row = 0; b.row < g->m; b.row += STRIP_ROWS) {
		b.rows = least(STRIP_ROWS, g->m - b.row);
		b.c1 = b.row + b.rows < g->m ? 0 : g->n; /* the next unit is fetched once */
		for (int64_t k0 = 0; k0 < g->k; k0 += b.k) {
			strip_block_at(&b, k0);
			blocks[n++] = b;
			b.x += (b.rows + LANES - 1) / LANES * LANES * b.k;
		}
	}
	while ((at = mr_share_take(g->share, g->n_share, worker, 1, &end)) >= 0)
		for (int i = 0; i < n; i++)
			strip_unit(&blocks[i], at * LANES);
}

/* First row of a thread's. */
static int64_t strip_part(const mr_vec_gemm *g, uint32_t worker)
{
	return least(g->m, tile_row((g->m + LANES - 1) / LANES, worker, g->n_share) * LANES);
}

static strip_block strip_worker(const mr_vec_gemm *g, uint32_t worker)
{
	int64_t row = strip_part(g, worker);

	return strip_rows(g, row, strip_part(g, worker + 1) - row, g->n, g->scratch + worker * g->scratch_floats);
}

/*
 * A unit is LANES columns of one thread's rows, in the last block of k: when a thread opens its part its panels of that block are
 * there, and the sums over the others.
 */
static void strips_by_rows(const mr_vec_gemm *g, uint32_t worker)
{
	strip_block b = strip_worker(g, worker);
	int64_t columns = strip_columns(g), at;

	for (int64_t k0 = 0; k0 < g->k; k0 += b.k) {
		strip_block_at(&b, k0);
		for (int64_t j = 0; k0 + b.k < g->k && j < g->n; j += LANES)
			strip_unit(&b, j);
	}
	mr_share_open(&g->share[worker]);
	while ((at = mr_share_take_part(&g->share[worker], 0)) >= 0)
		strip_unit(&b, at % columns * LANES);
	for (uint32_t i = 1; i < g->n_share; i++) {
		uint32_t other = (worker + i) % g->n_share;
		strip_block o = strip_worker(g, other);

		o.k0 = b.k0, o.k = b.k, o.spare = b.spare;
		while (mr_share_is_open(&g->share[other]) && (at = mr_share_take_part(&g->share[other], STRIP_LEAVE)) >= 0)
			strip_unit(&o, at % columns * LANES);
	}
}

static void strips_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	if (g->by_rows)
		strips_by_rows(g, worker);
	else
		strips_by_columns(g, worker, scratch);
}

static void gemm_strips(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	gemm_range(args, lo, hi, worker, strips_run, strips_shared);
}

static int64_t strip_units(const mr_vec_gemm *g)
{
	if (g->by_rows)
		return g->m <= STRIP_ROWS * g->n_share ? strip_columns(g) * g->n_share : 0;
	return g->m <= strip_shared_rows(g->k) ? strip_columns(g) : 0;
}

static size_t strip_floats(int64_t k)
{
	int64_t kept = mr_gemm_sum_block(k) < k ? STRIP_KEPT * STRIP_ROWS : 0;

	return (size_t)(LANES * mr_gemm_sum_block(k) + strip_panel_floats(k) + kept);
}
