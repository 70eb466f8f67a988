/*
 * vec_attn_tile.h - the two products of attention, each a tile of accumulators: an element of the left operand broadcast, times
 * vectors of the right one, l ascending in one chain an element. So the bits depend neither on the tile nor on the threads.
 *
 *	scores   keys x queries: rows of keys (or values) times queries (or their gradients) turned, which are the lanes. What is
 *	         asked of a query's scores (the largest, their sum, the sum of P dP) therefore runs down the rows, lane by lane.
 *	sums     of queries (rows see the keys before them: Y, dQ) or of keys (rows see the queries after them: dK, dV), over the
 *	         triangle exactly: of its corner, a tile's height and width, a step l takes only the rows that see it.
 */
#define FORCE_INLINE static inline __attribute__((always_inline))

#define SCORE_KEYS (LANES / 2) /* rows of a tile; two tiles make a square on the diagonal */
#define SCORE_VECS 3           /* 24 of 32, 12 of 16 registers */
#define SUM_ROWS 6             /* x WIDE_VECS vectors: as many */

/* --- scores ------------------------------------------------------------------------------------------------------- */

typedef enum score_kind { SCORE_TOPS, SCORE_PROBABILITIES, SCORE_GRADIENTS } score_kind;

/* out[SCORE_KEYS, lanes] from a[SCORE_KEYS, d] b[d, lanes], and what each kind makes of it in passing. */
typedef struct score_tile {
	int64_t d;
	const float *a;
	int64_t a_pitch;
	const float *b;
	int64_t b_pitch;
	float *out;
	int64_t pitch;              /* of out and p */
	int64_t first;              /* lane of vector 0 that is the first to see key 0; < 0: all lanes see all keys */
	float *top;                 /* tops: raised to the largest that a lane sees; probabilities: read, scaled */
	const float *inverse;       /* probabilities: 2^(scale x - top) inverse, and 0 where a lane does not see the key */
	float scale;
	const float *p;             /* gradients: probabilities, */
	float *total;               /* to which their sum of products with the tile is added */
} score_tile;

FORCE_INLINE void score_product(const score_tile *t, V acc[SCORE_KEYS][SCORE_VECS], int vecs)
{
	const float *a = t->a, *b = t->b;
	int64_t a_pitch = t->a_pitch;

#pragma GCC unroll 8
	for (int r = 0; r < SCORE_KEYS; r++)
#pragma GCC unroll 3
		for (int v = 0; v < vecs; v++)
			acc[r][v] = v_set(0.0f);
	for (int64_t l = 0; l < t->d; l++, a++, b += t->b_pitch) {
		V x[SCORE_VECS];

#pragma GCC unroll 3
		for (int v = 0; v < vecs; v++)
			x[v] = v_load(b + v * LANES, 0);
#pragma GCC unroll 8
		for (int r = 0; r < SCORE_KEYS; r++) {
			V y = v_set(a[r * a_pitch]);

#pragma GCC unroll 3
			for (int v = 0; v < vecs; v++)
				acc[r][v] = v_fma(y, x[v], acc[r][v]);
		}
	}
}

/* Of vector @v, which is on the diagonal if it is @cut. */
FORCE_INLINE void score_finish(const score_tile *t, V acc[SCORE_KEYS][SCORE_VECS], int v, bool cut, score_kind kind)
{
	int64_t at = v * LANES;
	V top = kind == SCORE_GRADIENTS ? v_set(0.0f) : v_load(t->top + at, 0), total = v_set(0.0f);
	V inverse = kind == SCORE_PROBABILITIES ? v_load(t->inverse + at, 0) : top;

#pragma GCC unroll 8
	for (int r = 0; r < SCORE_KEYS; r++) {
		V x = acc[r][v], hidden = v_set(kind == SCORE_TOPS ? -INFINITY : 0.0f);

		if (kind == SCORE_PROBABILITIES)
			x = v_mul(v_exp2(v_fma(x, v_set(t->scale), v_sub(v_set(0.0f), top))), inverse);
		if (kind != SCORE_GRADIENTS && cut)
			x = v_pick(v_first(t->first + r), hidden, x);
		if (kind == SCORE_TOPS)
			top = v_max(x, top);
		if (kind == SCORE_GRADIENTS)
			total = v_fma(v_load(t->p + r * t->pitch + at, 0), x, total);
		v_store(t->out + r * t->pitch + at, x, 0);
	}
	if (kind == SCORE_TOPS)
		v_store(t->top + at, top, 0);
	if (kind == SCORE_GRADIENTS)
		v_store(t->total + at, v_add(v_load(t->total + at, 0), total), 0);
}

FORCE_INLINE void score_vecs(const score_tile *t, int vecs, score_kind kind)
{
	V acc[SCORE_KEYS][SCORE_VECS];

	score_product(t, acc, vecs);
	if (t->first < 0)
#pragma GCC unroll 3
		for (int v = 0; v < vecs; v++)
			score_finish(t, acc, v, false, kind);
	else
#pragma GCC unroll 3
		for (int v = 0; v < vecs; v++)
			score_finish(t, acc, v, v == 0, kind);
}

/* name(t, vecs): a tile of so many vectors, 1 to SCORE_VECS. */
#define SCORE_TILE(name, kind) \
	static __attribute__((noinline)) void name##_3(const score_tile *t) \
	{ \
		score_vecs(t, 3, kind); \
	} \
	static __attribute__((noinline)) void name##_2(const score_tile *t) \
	{ \
		score_vecs(t, 2, kind); \
	} \
	static __attribute__((noinline)) void name##_1(const score_tile *t) \
	{ \
		score_vecs(t, 1, kind); \
	} \
	static inline void name(const score_tile *t, int64_t vecs) \
	{ \
		(vecs == 3 ? name##_3 : vecs == 2 ? name##_2 : name##_1)(t); \
	}

SCORE_TILE(score_tops, SCORE_TOPS)
SCORE_TILE(score_probabilities, SCORE_PROBABILITIES)
SCORE_TILE(score_gradients, SCORE_GRADIENTS)

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* out[r, cols] = from[r, cols] + scale[r] * (sum over l of a[r * a_row + l * a_k] b[l, cols]), over those l that row r sees. */
typedef struct sum_tile {
	int64_t cols, k;            /* k: steps that all rows see; a corner has as many more as there are rows, but one */
	bool corner;                /* sums of keys: before those, row 0 sees all of it; sums of queries always have one, after them */
	const float *a;
	int64_t a_row, a_k;
	const float *b;             /* may be read up to whole vectors */
	int64_t b_pitch;
	const float *from;          /* sums of keys; or NULL: 0. May be read up to whole vectors */
	int64_t from_pitch;
	float *out;
	int64_t pitch;
	const float *scale;         /* sums of queries; or NULL: 1 */
} sum_tile;

FORCE_INLINE void sum_step(V acc[SUM_ROWS][WIDE_VECS], const sum_tile *t, const float *a, const float *b, int vecs, int lo, int hi)
{
	V x[WIDE_VECS];

#pragma GCC unroll 4
	for (int v = 0; v < vecs; v++)
		x[v] = v_load(b + v * LANES, 0);
#pragma GCC unroll 6
	for (int r = lo; r < hi; r++) {
		V y = v_set(a[r * t->a_row]);

#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r][v] = v_fma(y, x[v], acc[r][v]);
	}
}

/* Columns from @j on, the last vector of them @part wide. */
FORCE_INLINE void sum_vecs(const sum_tile *t, int rows, int vecs, int64_t j, int64_t part, bool keys)
{
	V acc[SUM_ROWS][WIDE_VECS];
	const float *a = t->a, *b = t->b + j, *from = keys ? t->from : NULL;
	int64_t a_k = t->a_k, b_pitch = t->b_pitch;

#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			acc[r][v] = v_set(0.0f);
	if (keys && t->corner)
#pragma GCC unroll 6
		for (int s = 1; s < rows; s++, a += a_k, b += b_pitch)
			sum_step(acc, t, a, b, vecs, 0, s);
	for (int64_t l = 0; l < t->k; l++, a += a_k, b += b_pitch)
		sum_step(acc, t, a, b, vecs, 0, rows);
	if (!keys)
#pragma GCC unroll 6
		for (int s = 1; s < rows; s++, a += a_k, b += b_pitch)
			sum_step(acc, t, a, b, vecs, s, rows);
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++) {
			V x = acc[r][v];

			if (!keys && t->scale)
				x = v_mul(x, v_set(t->scale[r]));
			if (from)
				x = v_add(v_load(from + r * t->from_pitch + j + v * LANES, 0), x);
			v_store(t->out + r * t->pitch + j + v * LANES, x, part);
		}
}

FORCE_INLINE void sum_rows(const sum_tile *t, int rows, bool keys)
{
	int64_t j = 0;

	for (; j + WIDE_VECS * LANES <= t->cols; j += WIDE_VECS * LANES)
		sum_vecs(t, rows, WIDE_VECS, j, 0, keys);
	if (WIDE_VECS > 2 && j + 2 * LANES <= t->cols) {
		sum_vecs(t, rows, 2, j, 0, keys);
		j += 2 * LANES;
	}
	if (j + LANES <= t->cols) {
		sum_vecs(t, rows, 1, j, 0, keys);
		j += LANES;
	}
	if (j < t->cols)
		sum_vecs(t, rows, 1, j, t->cols - j, keys);
}

/* How many rows the next tile takes when @left are left. */
static inline int64_t sum_tile_rows(int64_t left)
{
	return left >= SUM_ROWS ? SUM_ROWS : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* name(t, rows): all columns of so many rows, one of the numbers that sum_tile_rows() gives. */
#define SUM_TILE(name, keys) \
	static __attribute__((noinline)) void name##_all(const sum_tile *t) \
	{ \
		sum_rows(t, SUM_ROWS, keys); \
	} \
	static __attribute__((noinline)) void name##_4(const sum_tile *t) \
	{ \
		sum_rows(t, 4, keys); \
	} \
	static __attribute__((noinline)) void name##_2(const sum_tile *t) \
	{ \
		sum_rows(t, 2, keys); \
	} \
	static __attribute__((noinline)) void name##_1(const sum_tile *t) \
	{ \
		sum_rows(t, 1, keys); \
	} \
	static inline void name(const sum_tile *t, int64_t rows) \
	{ \
		(rows == SUM_ROWS ? name##_all : rows == 4 ? name##_4 : rows == 2 ? name##_2 : name##_1)(t); \
	}

SUM_TILE(sum_of_queries, false)
SUM_TILE(sum_of_keys, true)
