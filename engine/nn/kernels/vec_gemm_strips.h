/*
 * vec_gemm_strips.h - C = A B^T for few rows of A: rows of B (weights) are read where they lie, front to back, and nothing of
 * them is packed or turned.
 *
 * The lanes hold rows of A, turned once into panels [k][NR]; a strip of LANES / 2 rows of B is broadcast element by element. Two
 * strips make a block of LANES columns of C, turned back on its way out. Sums as in vec_gemm.h: one chain over ascending k.
 */
#define STRIP (LANES / 2)
#define STRIP_ROWS 128 /* rows of A at a time: their panels stay in L2 for k up to 4096 */

FORCE_INLINE void strip_fma(V acc[STRIP][2], const float *w, int64_t pitch, const float *x, int vecs)
{
	V x0 = v_load(x, 0), x1 = vecs > 1 ? v_load(x + LANES, 0) : x0;

	fetch_l1(x + AHEAD * NR);

#pragma GCC unroll 8
	for (int r = 0; r < STRIP; r++) {
		V y = v_set(w[r * pitch]);

		acc[r][0] = v_fma(y, x0, acc[r][0]);
		if (vecs > 1)
			acc[r][1] = v_fma(y, x1, acc[r][1]);
	}
}

/* Lines of C that will be written: @rows of them, @pitch floats apart. A store that has to wait for its line holds up those behind it. */
typedef struct strip_own {
	float *c;
	int64_t pitch, rows;
} strip_own;

/* out[STRIP][NR] = (add: out +) sum over k of w[r][l] x[l][.]; fetches the rows @next, which have the same pitch, and @own. @vecs is a
 * constant in each caller: 1 when there are only LANES rows of A. */
FORCE_INLINE void strip_run(const float *w, int64_t pitch, const float *x, int64_t k, float *out, bool add,
			    const float *next, strip_own own, int vecs)
{
	V acc[STRIP][2];
	int64_t l = 0;

#pragma GCC unroll 8
	for (int r = 0; r < STRIP; r++)
#pragma GCC unroll 2
		for (int v = 0; v < 2; v++)
			acc[r][v] = add && v < vecs ? v_load(out + r * NR + v * LANES, 0) : v_set(0.0f);
	for (; l + LINE <= k; l += LINE) {
#pragma GCC unroll 8
		for (int r = 0; r < STRIP; r++)
			fetch_l2(next + r * pitch + l);
		if (own.rows-- > 0) {
			fetch_own(own.c);
			own.c += own.pitch;
		}
#pragma GCC unroll 4
		for (int u = 0; u < LINE; u++)
			strip_fma(acc, w + l + u, pitch, x + (l + u) * NR, vecs);
	}
	for (; l < k; l++)
		strip_fma(acc, w + l, pitch, x + l * NR, vecs);
#pragma GCC unroll 8
	for (int r = 0; r < STRIP; r++)
#pragma GCC unroll 2
		for (int v = 0; v < vecs; v++)
			v_store(out + r * NR + v * LANES, acc[r][v], 0);
}

static __attribute__((noinline)) void strip(const float *w, int64_t pitch, const float *x, int64_t k, float *out, bool add,
					    const float *next, strip_own own)
{
	strip_run(w, pitch, x, k, out, add, next, own, 2);
}

static __attribute__((noinline)) void strip_narrow(const float *w, int64_t pitch, const float *x, int64_t k, float *out,
						   bool add, const float *next, strip_own own)
{
	strip_run(w, pitch, x, k, out, add, next, own, 1);
}

/* block[LANES][NR] = C turned, or C = block turned: rows i .. end (at most NR) and @cols columns from j. */
static void block_load(const mr_vec_gemm *g, int64_t i, int64_t end, int64_t j, int64_t cols, float *block)
{
	for (int64_t v = 0; v < 2 && i + v * LANES < end; v++) {
		int64_t rows = least(LANES, end - i - v * LANES);
		V x[LANES];

		for (int r = 0; r < LANES; r++)
			x[r] = r < rows ? v_load(g->c + (i + v * LANES + r) * g->n + j, cols < LANES ? cols : 0)
					: v_set(0.0f);
		v_turn(x);
		for (int r = 0; r < LANES; r++)
			v_store(block + r * NR + v * LANES, x[r], 0);
	}
}

static void block_store(const mr_vec_gemm *g, int64_t i, int64_t end, int64_t j, int64_t cols, const float *block)
{
	for (int64_t v = 0; v < 2 && i + v * LANES < end; v++) {
		int64_t rows = least(LANES, end - i - v * LANES);
		V x[LANES];

		for (int r = 0; r < LANES; r++)
			x[r] = v_load(block + r * NR + v * LANES, 0);
		v_turn(x);
		for (int r = 0; r < rows; r++)
			v_store(g->c + (i + v * LANES + r) * g->n + j, x[r], cols < LANES ? cols : 0);
	}
}

/* Columns c0 .. c1 of rows i0 .. i1 of C; the rows' panels are at @x. Rows of B are fetched ahead up to @last. */
static void strip_columns(const mr_vec_gemm *g, int64_t i0, int64_t i1, int64_t c0, int64_t c1, int64_t last, const float *x,
			  float *spare)
{
	float block[LANES * NR] __attribute__((aligned(64)));

	for (int64_t j = c0; j < c1; j += LANES) {
		int64_t cols = least(LANES, c1 - j);
		const float *w = g->b + j * g->k;
		const float *next = j + 2 * LANES <= last ? w + LANES * g->k : w;

		if (cols < LANES) { /* the strips read LANES rows */
			memset(spare, 0, (size_t)(LANES * g->k) * sizeof(float));
			memcpy(spare, w, (size_t)(cols * g->k) * sizeof(float));
			w = next = spare;
		}
		for (int64_t i = i0; i < i1; i += NR) {
			const float *panel = x + (i - i0) * g->k;
			const float *fetch = i == i0 ? next : w;
			strip_own own = {.c = g->c + i * g->n + j, .pitch = g->n, .rows = least(NR, i1 - i)};

			if (g->add)
				block_load(g, i, i1, j, cols, block);
			for (int64_t r = 0; r < LANES; r += STRIP, own.rows = 0)
				(i1 - i > LANES ? strip : strip_narrow)(w + r * g->k, g->k, panel, g->k, block + r * NR,
									g->add, fetch + r * g->k, own);
			block_store(g, i, i1, j, cols, block);
		}
	}
}

/* Rows i0 .. i1 of A (at most STRIP_ROWS, from a multiple of NR) as panels. */
static void strip_panels(const mr_vec_gemm *g, int64_t i0, int64_t i1, float *x)
{
	for (int64_t i = i0; i < i1; i += LANES)
		pack_turned(g->a + i * g->k, g->k, least(LANES, i1 - i), g->k, x + (i - i0) / NR * NR * g->k + (i - i0) % NR, NR);
}

static void strips_run(const mr_vec_gemm *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, float *scratch)
{
	float *spare = scratch, *x = scratch + LANES * g->k;

	for (int64_t i0 = r0; i0 < r1; i0 += STRIP_ROWS) {
		int64_t i1 = least(r1, i0 + STRIP_ROWS);

		strip_panels(g, i0, i1, x);
		strip_columns(g, i0, i1, c0, c1, c1, x, spare);
	}
}

/* A unit is LANES columns of C. */
static void strips_shared(const mr_vec_gemm *g, uint32_t worker, float *scratch)
{
	float *spare = scratch, *x = scratch + LANES * g->k;
	int64_t at, end;

	strip_panels(g, 0, g->m, x);
	while ((at = mr_share_take(g->share, g->n_share, worker, 1, &end)) >= 0)
		strip_columns(g, 0, g->m, at * LANES, least(g->n, (at + 1) * LANES), g->n, x, spare);
}

static void gemm_strips(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	gemm_range(args, lo, hi, worker, strips_run, strips_shared);
}

static int64_t strip_units(const mr_vec_gemm *g)
{
	return !g->by_rows && g->m <= STRIP_ROWS ? (g->n + LANES - 1) / LANES : 0;
}

static size_t strip_floats(int64_t k)
{
	return (size_t)(k * (LANES + STRIP_ROWS));
}
