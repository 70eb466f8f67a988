/*
 * vec_attn.h - causal attention of one (sample, head) at a time, without ever storing the T x T probabilities.
 *
 * Forward, for a band of query rows: scores S^T = K Q^T (only what lies on or above the diagonal, rounded up to the tile), the
 * largest of each query in passing, softmax in place, Y = P V. For each query the largest scaled score and 1 / sum are saved; from
 * them backward recomputes the very same P. That is one product in five and an exp more in backward, but the slots of a pipeline
 * keep 8 bytes a row of a head instead of 4 T (at T = 128: 1 KiB instead of 64), and the probabilities never travel to memory and
 * back. Backward, per band: P^T again, dP^T = V dY^T, dS = P (dP - rowsum(P dP)) / sqrt(d), dQ = dS K, and over the bands in order
 * dK += dS^T Q, dV += P^T dY.
 *
 * Keys are rows and queries are lanes, so nothing is summed across lanes. Queries (and their gradients) are needed both ways, as
 * they are and turned: a group of vectors at a time, of which the turned ones stay in L1 until all keys are through. Of keys and
 * values, what only serves as a left operand is read where it lies, what serves as a right one is packed, since its rows lie a page
 * apart.
 */
#include "nn/kernels/vec_attn_tile.h"

#define BAND_VECS 4 /* vectors of queries handled together, at most: all scratch but k, dk and dv stays small for long T */
#define GROUP (SCORE_VECS * LANES) /* queries turned together, at most */

/* --- the next pair ------------------------------------------------------------------------------------------------ */

#define COMING_LINE 16
#define COMING_PARTS 4

/*
 * Rows of the next pair, to be fetched while this one is computed, so many before each tile: they lie a page or more apart and are a
 * few lines long each, so no hardware has them ahead.
 */
typedef struct coming {
	const float *part[COMING_PARTS];
	int64_t pitch[COMING_PARTS];
	int64_t n, at, end, cols, step; /* at, end, step: rows, counted row 0 of all parts, row 1 of all parts, ... */
} coming;

static inline void coming_add(coming *c, const float *part, int64_t pitch)
{
	c->part[c->n] = part;
	c->pitch[c->n++] = pitch;
}

static void coming_fetch(coming *c)
{
	int64_t end = c->at + c->step < c->end ? c->at + c->step : c->end;

	for (; c->at < end; c->at++) {
		int64_t i = c->at % c->n;
		const float *row = c->part[i] + c->at / c->n * c->pitch[i];

		for (int64_t j = 0; j < c->cols; j += COMING_LINE)
			__builtin_prefetch(row + j, 0, 2);
	}
}

/* Of pair number @pair, if it is one before @end: q, k and v, and @dy, if there is one. */
static coming coming_of(const mr_vec_attn *a, int64_t pair, int64_t end, const float *dy, int64_t step)
{
	int64_t c = a->a.heads * a->a.dim, first = pair / a->a.heads * a->a.t, col = pair % a->a.heads * a->a.dim;
	coming next = {.cols = a->a.dim, .step = step};

	if (pair >= end)
		return next;
	for (int i = 0; i < 3; i++)
		coming_add(&next, a->qkv + first * 3 * c + i * c + col, 3 * c);
	if (dy)
		coming_add(&next, dy + first * c + col, c);
	next.end = a->a.t * next.n;
	return next;
}

/* --- scratch of one worker ---------------------------------------------------------------------------------------- */

static inline int64_t whole(int64_t n)
{
	return (n + LANES - 1) / LANES * LANES;
}

typedef struct attn_space {
	int64_t t, d;
	int64_t dp, bp;                   /* padded row lengths */
	int64_t band;                     /* queries handled together; whole vectors, all bands but the last the same */
	float *k, *v;                     /* [t in whole tiles, dp]; forward: v alone, backward: k alone */
	float *last;                      /* [SCORE_KEYS, dp] the last, incomplete tile of the other one, filled up with 0 */
	float *q, *dy;                    /* [band, dp]; forward: q [LANES, dp] */
	float *qt, *dyt;                  /* [dp, GROUP] */
	float *p, *ds;                    /* [t in whole tiles, bp] scores, probabilities; their gradients */
	float *dk, *dv;                   /* [t, dp] */
	float *top, *inverse, *total;     /* [bp] */
	coming *next;
} attn_space;

/* Lays the buffers out from @base (NULL: only counts); returns their floats, a multiple of LANES. */
static size_t attn_lay_out(const mr_attn *a, bool backward, float *base, attn_space *w)
{
	int64_t t = a->t, d = a->dim, tk = (t + SCORE_KEYS - 1) / SCORE_KEYS * SCORE_KEYS, dp = whole(d);
	int64_t vecs = whole(t) / LANES, bands = (vecs + BAND_VECS - 1) / BAND_VECS, band = (vecs + bands - 1) / bands * LANES;
	int64_t bp = band % (4 * LANES) ? band : band + LANES; /* or a column would lie in a few sets of the cache */
	size_t at = 0;

	*w = (attn_space){.t = t, .d = d, .dp = dp, .bp = bp, .band = band};
#define PLACE(name, rows, pitch) (w->name = base ? base + at : NULL, at += (size_t)((rows) * (pitch)))
	PLACE(q, backward ? band : LANES, dp);
	PLACE(qt, dp, GROUP);
	PLACE(p, tk, bp);
	PLACE(last, SCORE_KEYS, dp);
	PLACE(top, 1, bp);
	PLACE(inverse, 1, bp);
	if (!backward) {
		PLACE(v, tk, dp);
		return at;
	}
	PLACE(total, 1, bp);
	PLACE(k, tk, dp);
	PLACE(dy, band, dp);
	PLACE(dyt, dp, GROUP);
	PLACE(ds, tk, bp);
	PLACE(dk, t, dp);
	PLACE(dv, t, dp);
#undef PLACE
	return at;
}

static size_t attn_scratch_floats(const mr_attn *a, bool backward)
{
	attn_space w;

	return attn_lay_out(a, backward, NULL, &w);
}

/* dst[to, dp] = src[rows, d], the padding 0, and so are the rows from @rows on. */
static void pack_rows(const attn_space *w, int64_t rows, int64_t to, const float *src, int64_t pitch, float *dst)
{
	for (int64_t r = 0; r < rows; r++, src += pitch, dst += w->dp) {
		int64_t j = 0;

		for (; j + LANES <= w->d; j += LANES)
			v_store(dst + j, v_load(src + j, 0), 0);
		if (j < w->d)
			v_store(dst + j, v_load(src + j, w->d - j), 0);
	}
	memset(dst, 0, (size_t)((to - rows) * w->dp) * sizeof(float));
}

/*
 * @rows queries turned to @turned, columns from there to the next whole vector 0; with @keep they stay in @packed as well, which
 * otherwise has room for LANES rows.
 */
static void pack_group(const attn_space *w, int64_t rows, const float *src, int64_t pitch, bool keep, float *packed, float *turned)
{
	for (int64_t r = 0; r < rows; r += LANES) {
		const float *from = src + r * pitch;
		int64_t n = rows - r < LANES ? rows - r : LANES, from_pitch = pitch;

		if (keep || n < LANES || w->d % 4) {
			float *to = packed + (keep ? r * w->dp : 0);

			pack_rows(w, n, LANES, from, pitch, to);
			from = to;
			from_pitch = w->dp;
		}
		for (int64_t l = 0; l < w->d; l += 4) {
			V x[4];

			v_columns(from + l, from_pitch, x);
			for (int i = 0; i < 4; i++)
				v_store(turned + (l + i) * GROUP + r, x[i], 0);
		}
	}
}

/* Keys or values as they lie: left operands of scores, of which the last tile is @w->last where it is incomplete. */
typedef struct key_rows {
	const float *rows;
	int64_t pitch;
} key_rows;

static void key_rows_pack_last(const attn_space *w, const key_rows *k)
{
	int64_t n = w->t % SCORE_KEYS;

	pack_rows(w, n, SCORE_KEYS, k->rows + (w->t - n) * k->pitch, k->pitch, w->last);
}

static inline key_rows key_rows_at(const attn_space *w, const key_rows *k, int64_t j)
{
	return j + SCORE_KEYS <= w->t ? (key_rows){k->rows + j * k->pitch, k->pitch} : (key_rows){w->last, w->dp};
}

/* --- groups of a band ---------------------------------------------------------------------------------------------- */

/* Of scores before the softmax, which is computed in powers of 2. */
static inline float score_scale(int64_t d)
{
	return 1.4426950408889634f / sqrtf((float)d);
}

/* Vectors that are done together when @left are left. */
static inline int64_t group_vecs(int64_t left)
{
	return left == 4 ? 2 : left < SCORE_VECS ? left : SCORE_VECS;
}

static inline int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

/* Of vectors from query @first on: how many begin before key @j and end there. */
static inline int64_t vecs_before(int64_t first, int64_t j)
{
	return j > first ? (j - first) / LANES : 0;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* Scores of a band, @q its queries, and their largest: group by group, key by key. */
static void band_scores(const attn_space *w, int64_t first, int64_t rows, const float *q, const key_rows *k)
{
	int64_t vecs = whole(rows) / LANES, end = first + rows;
	score_tile t = {.d = w->d, .b_pitch = GROUP, .pitch = w->bp};

	for (int64_t v = 0; v < vecs; v++)
		v_store(w->top + v * LANES, v_set(-INFINITY), 0);
	for (int64_t v = 0, n; v < vecs; v += n) {
		int64_t at = v * LANES;

		n = group_vecs(vecs - v);
		pack_group(w, at_most(rows - at, n * LANES), q + at * k->pitch, k->pitch, false, w->q, w->qt);
		for (int64_t j = 0; j < end && j < first + at + n * LANES; j += SCORE_KEYS) {
			int64_t skip = vecs_before(first + at, j), lane = at + skip * LANES;
			key_rows a = key_rows_at(w, k, j);

			coming_fetch(w->next);
			t.a = a.rows;
			t.a_pitch = a.pitch;
			t.b = w->qt + skip * LANES;
			t.out = w->p + j * w->bp + lane;
			t.first = j - first - lane;
			t.top = w->top + lane;
			score_tops(&t, n - skip);
		}
	}
}

/* Four keys' scores become 2^(scale score - top), added to a sum each. @less: -top; @visible: the first lane to see the first key. */
FORCE_INLINE void softmax_keys(float *p, int64_t pitch, V scale, V less, bool cut, int64_t visible, V total[4])
{
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++, p += pitch) {
		V e = v_exp2(v_fma(v_load(p, 0), scale, less));

		if (cut)
			e = v_pick(v_first(visible + i), v_set(0.0f), e);
		v_store(p, e, 0);
		total[i] = v_add(total[i], e);
	}
}

/* Softmax of the vector of queries at @lane but for the factor 1 / sum, which goes to @inverse; @top is scaled. */
static void softmax(const attn_space *w, int64_t first, int64_t lane)
{
	V scale = v_set(score_scale(w->d)), top = v_mul(v_load(w->top + lane, 0), scale);
	V less = v_sub(v_set(0.0f), top), total[4];
	int64_t q = first + lane, j = 0;

	for (int i = 0; i < 4; i++)
		total[i] = v_set(0.0f);
	for (; j < q; j += 4)
		softmax_keys(w->p + j * w->bp + lane, w->bp, scale, less, false, 0, total);
	for (; j < q + LANES && j < w->t; j += 4)
		softmax_keys(w->p + j * w->bp + lane, w->bp, scale, less, true, j - q, total);
	v_store(w->top + lane, top, 0);
	v_store(w->inverse + lane, v_inverse(v_add(v_add(total[0], total[1]), v_add(total[2], total[3]))), 0);
}

/* @q: the band's queries; @y: its rows of the result, @pitch floats apart; @saved: [2, t]. */
static void attn_band(const attn_space *w, int64_t first, int64_t rows, const float *q, const key_rows *k, float *y, int64_t pitch,
		      float *saved)
{
	band_scores(w, first, rows, q, k);
	for (int64_t lane = 0; lane < rows; lane += LANES)
		softmax(w, first, lane);
	memcpy(saved + first, w->top, (size_t)rows * sizeof(float));
	memcpy(saved + w->t + first, w->inverse, (size_t)rows * sizeof(float));
	for (int64_t i = 0, n; i < rows; i += n) {
		sum_tile t = {.cols = w->d, .k = first + i + 1, .a = w->p + i, .a_row = 1, .a_k = w->bp, .b = w->v,
			      .b_pitch = w->dp, .out = y + i * pitch, .pitch = pitch, .scale = w->inverse + i};

		n = sum_tile_rows(rows - i);
		coming_fetch(w->next);
		sum_of_queries(&t, n);
	}
}

static void attn(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_attn *a = args;
	int64_t c = a->a.heads * a->a.dim, pitch = 3 * c, t = a->a.t;
	attn_space w;

	(void)attn_lay_out(&a->a, false, a->scratch + worker * a->scratch_floats, &w);
	for (int64_t pair = lo; pair < hi; pair++) {
		int64_t s = pair / a->a.heads, h = pair % a->a.heads;
		const float *q = a->qkv + s * t * pitch + h * w.d;
		float *y = a->y + s * t * c + h * w.d;
		key_rows k = {q + c, pitch};
		coming next = coming_of(a, pair + 1, hi, NULL, 8);

		w.next = &next;
		key_rows_pack_last(&w, &k);
		pack_rows(&w, t, t, q + 2 * c, pitch, w.v);
		for (int64_t i = 0; i < t; i += w.band)
			attn_band(&w, i, at_most(t - i, w.band), q + i * pitch, &k, y + i * c, c, a->saved + 2 * pair * t);
	}
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Gradients of keys or values: sums over the bands so far in @sum, and where the last band writes the finished rows. */
typedef struct column_sums {
	float *sum;                 /* [t, dp] */
	float *out;                 /* [t, d] at @pitch */
	int64_t pitch;
} column_sums;

/* Where one head's operands of the backward pass lie: rows of q and dq at @pitch, of dy at @c. */
typedef struct backward_head {
	const float *q, *dy, *saved;
	key_rows v;
	float *dq;
	int64_t pitch, c;
	column_sums dk, dv;
} backward_head;

/* Keys from @j on, group of vectors from lane @at of the band on, @n vectors: P, dP and what they add to @total. */
static inline void group_keys(const attn_space *w, const backward_head *h, int64_t first, int64_t at, int64_t n, int64_t j)
{
	int64_t skip = vecs_before(first + at, j), lane = at + skip * LANES;
	key_rows v = key_rows_at(w, &h->v, j);
	score_tile t = {.d = w->d, .a = w->k + j * w->dp, .a_pitch = w->dp, .b = w->qt + skip * LANES, .b_pitch = GROUP,
			.out = w->p + j * w->bp + lane, .pitch = w->bp, .first = j - first - lane, .top = w->top + lane,
			.inverse = w->inverse + lane, .scale = score_scale(w->d), .total = w->total + lane};

	score_probabilities(&t, n - skip);
	t.a = v.rows;
	t.a_pitch = v.pitch;
	t.b = w->dyt + skip * LANES;
	t.p = t.out;
	t.out = w->ds + j * w->bp + lane;
	score_gradients(&t, n - skip);
}

/* Probabilities P of a band and their gradients dP; @total becomes the sum of P dP of each query. */
static void band_probabilities(const attn_space *w, const backward_head *h, int64_t first, int64_t rows)
{
	int64_t vecs = whole(rows) / LANES, end = first + rows;

	for (int64_t v = 0, n; v < vecs; v += n) {
		int64_t at = v * LANES, in;

		n = group_vecs(vecs - v);
		in = at_most(rows - at, n * LANES);
		pack_group(w, in, h->q + (first + at) * h->pitch, h->pitch, true, w->q + at * w->dp, w->qt);
		pack_group(w, in, h->dy + (first + at) * h->c, h->c, true, w->dy + at * w->dp, w->dyt);
		for (int64_t j = 0; j < end && j < first + at + n * LANES; j += SCORE_KEYS) {
			coming_fetch(w->next);
			group_keys(w, h, first, at, n, j);
		}
	}
}

/* dS = P (dP - total) / sqrt(d). */
static void band_gradients(const attn_space *w, int64_t first, int64_t rows)
{
	int64_t lanes = whole(rows), end = first + rows;
	V scale = v_set(1.0f / sqrtf((float)w->d));

	for (int64_t at = 0; at < lanes; at += LANES)
		v_store(w->total + at, v_mul(v_load(w->total + at, 0), scale), 0);
	for (int64_t j = 0; j < end; j++) {
		const float *p = w->p + j * w->bp;
		float *ds = w->ds + j * w->bp;

		for (int64_t at = vecs_before(first, j) * LANES; at < lanes; at += LANES) {
			V x = v_sub(v_mul(v_load(ds + at, 0), scale), v_load(w->total + at, 0));

			v_store(ds + at, v_mul(v_load(p + at, 0), x), 0);
		}
	}
}

/* For keys j up to the band's end: the sums of earlier bands plus the sum over the band's queries i >= j of s[j, i] b[i]. */
static void band_columns(const attn_space *w, int64_t first, int64_t rows, const float *s, const float *b, const column_sums *c)
{
	int64_t end = first + rows;
	bool last = end == w->t;

	for (int64_t j = 0, n; j < end; j += n) {
		bool corner = j >= first;
		int64_t from = corner ? j - first : 0;
		sum_tile t = {.cols = last ? w->d : w->dp, .corner = corner, .a = s + j * w->bp + from, .a_row = w->bp, .a_k = 1,
			      .b = b + from * w->dp, .b_pitch = w->dp,
			      .from = corner ? NULL : c->sum + j * w->dp, .from_pitch = w->dp,
			      .out = last ? c->out + j * c->pitch : c->sum + j * w->dp, .pitch = last ? c->pitch : w->dp};

		n = sum_tile_rows((corner ? end : first) - j);
		t.k = corner ? end - j - n + 1 : rows;
		coming_fetch(w->next);
		sum_of_keys(&t, n);
	}
}

static void attn_backward_band(const attn_space *w, const backward_head *h, int64_t first, int64_t rows)
{
	float *dq = h->dq + first * h->pitch;

	for (int64_t at = 0; at < whole(rows); at += LANES) {
		int64_t part = rows - at < LANES ? rows - at : 0;

		v_store(w->top + at, v_load(h->saved + first + at, part), 0);
		v_store(w->inverse + at, v_load(h->saved + w->t + first + at, part), 0);
		v_store(w->total + at, v_set(0.0f), 0);
	}
	band_probabilities(w, h, first, rows);
	band_columns(w, first, rows, w->p, w->dy, &h->dv);
	band_gradients(w, first, rows);
	for (int64_t i = 0, n; i < rows; i += n) {
		sum_tile t = {.cols = w->d, .k = first + i + 1, .a = w->ds + i, .a_row = 1, .a_k = w->bp, .b = w->k,
			      .b_pitch = w->dp, .out = dq + i * h->pitch, .pitch = h->pitch};

		n = sum_tile_rows(rows - i);
		coming_fetch(w->next);
		sum_of_queries(&t, n);
	}
	band_columns(w, first, rows, w->ds, w->q, &h->dk);
}

static void attn_backward(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_attn *a = args;
	int64_t c = a->a.heads * a->a.dim, pitch = 3 * c, t = a->a.t;
	attn_space w;

	(void)attn_lay_out(&a->a, true, a->scratch + worker * a->scratch_floats, &w);
	for (int64_t pair = lo; pair < hi; pair++) {
		int64_t s = pair / a->a.heads, head = pair % a->a.heads, at = s * t * pitch + head * w.d;
		const float *q = a->qkv + at;
		float *dq = a->dqkv + at;
		backward_head h = {.q = q, .dy = a->dy + s * t * c + head * w.d, .saved = a->saved_in + 2 * pair * t,
				   .v = {q + 2 * c, pitch}, .dq = dq, .pitch = pitch, .c = c,
				   .dk = {w.dk, dq + c, pitch}, .dv = {w.dv, dq + 2 * c, pitch}};
		coming next = coming_of(a, pair + 1, hi, a->dy, 6);

		w.next = &next;
		key_rows_pack_last(&w, &h.v);
		pack_rows(&w, t, (t + SCORE_KEYS - 1) / SCORE_KEYS * SCORE_KEYS, q + c, pitch, w.k);
		for (int64_t i = 0; i < t; i += w.band)
			attn_backward_band(&w, &h, i, at_most(t - i, w.band));
	}
}
