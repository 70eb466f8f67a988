/*
 * vec_attn.h - causal attention of one (sample, head) at a time, without ever storing the T x T probabilities.
 *
 * Forward, for a band of BAND query rows: scores S = Q K^T (only the lower triangle, rounded up to the tile), softmax
 * in place, Y = P V. For each row the largest scaled score and 1 / sum are saved; from them backward recomputes the very
 * same P. That is one product in five and an exp more in backward, but the slots of a pipeline keep 8 bytes a row of a
 * head instead of 4 T (at T = 128: 1 KiB instead of 64), and the probabilities never travel to memory and back. Backward,
 * per band: P again, dP = dY V^T, dS = P (dP - rowsum(P dP)) / sqrt(d), dQ = dS K, and over the bands in order
 * dK += dS^T Q, dV += P^T dY.
 *
 * All products have one form: element (i, l) of the left operand broadcast, times row l of a right operand whose rows are
 * contiguous and padded to whole vectors. So one micro-kernel serves: TILE_ROWS x 2 vectors of accumulators, l ascending
 * in one chain per element, which is why the bits depend neither on the tile nor on the number of threads.
 */
#define BAND 48 /* query rows handled together: 4 or 8 tiles; their scores stay in L1 for T = 128 */
#define SMALL_ROWS (TILE_ROWS / 3)

_Static_assert(BAND % TILE_ROWS == 0, "tiles of different bands must lie on one grid");

/* out[rows, cols] = plus + row_scale[i] * sum over l < k of a[i * a_row + l * a_k] * b[l * b_pitch + j] */
typedef struct product {
	int64_t cols, k;
	const float *a;
	int64_t a_row, a_k;
	const float *b;
	int64_t b_pitch;
	float *out;
	int64_t pitch;
	const float *row_scale;     /* or NULL */
	const float *plus;          /* added to the product; or NULL */
	int64_t plus_pitch;
} product;

static inline __attribute__((always_inline)) void product_tile(const product *p, int rows, int vecs, int64_t j,
							       int64_t part)
{
	V acc[TILE_ROWS][2];
	const float *a = p->a, *b = p->b + j;

#pragma GCC unroll 12
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (int v = 0; v < vecs; v++)
			acc[r][v] = v_set(0.0f);
	for (int64_t l = 0; l < p->k; l++, a += p->a_k, b += p->b_pitch) {
		V b0 = v_load(b, 0), b1 = vecs > 1 ? v_load(b + LANES, 0) : b0;

#pragma GCC unroll 12
		for (int r = 0; r < rows; r++) {
			V x = v_set(a[r * p->a_row]);

			acc[r][0] = v_fma(x, b0, acc[r][0]);
			if (vecs > 1)
				acc[r][1] = v_fma(x, b1, acc[r][1]);
		}
	}
#pragma GCC unroll 12
	for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
		for (int v = 0; v < vecs; v++) {
			float *out = p->out + r * p->pitch + j + v * LANES;
			V x = acc[r][v];

			if (p->row_scale)
				x = v_mul(x, v_set(p->row_scale[r]));
			if (p->plus)
				x = v_add(v_load(p->plus + r * p->plus_pitch + j + v * LANES, part), x);
			v_store(out, x, part);
		}
	}
}

/* All columns of @rows rows; @rows is a constant in each caller. The right operand may be read up to whole vectors. */
static inline __attribute__((always_inline)) void product_rows(const product *p, int rows)
{
	int64_t j = 0;

	for (; j + 2 * LANES <= p->cols; j += 2 * LANES)
		product_tile(p, rows, 2, j, 0);
	for (; j + LANES <= p->cols; j += LANES)
		product_tile(p, rows, 1, j, 0);
	if (j < p->cols)
		product_tile(p, rows, 1, j, p->cols - j);
}

static __attribute__((noinline)) void product_large(const product *p)
{
	product_rows(p, TILE_ROWS);
}

static __attribute__((noinline)) void product_small(const product *p)
{
	product_rows(p, SMALL_ROWS);
}

static __attribute__((noinline)) void product_single(const product *p)
{
	product_rows(p, 1);
}

/* How many rows the next tile takes when @left are left. */
static inline int64_t tile_rows(int64_t left)
{
	return left >= TILE_ROWS ? TILE_ROWS : left >= SMALL_ROWS ? SMALL_ROWS : 1;
}

static inline void product_run(const product *p, int64_t rows)
{
	if (rows == TILE_ROWS)
		product_large(p);
	else if (rows == SMALL_ROWS)
		product_small(p);
	else
		product_single(p);
}

/* --- the next pair ------------------------------------------------------------------------------------------------ */

#define COMING_LINE 16

/*
 * Rows of the next pair, to be fetched while this one is computed, some before each tile of rows (of which a pair has t / 6 or more
 * forward, t / 2 backward): they lie a page or more apart and are a few lines long each, so no hardware has them ahead, and where
 * they come from memory a pair waits for them as long as it computes (T = 64, dim = 64, of GPT-2: backward 27 us, 14 in cache).
 */
typedef struct coming {
	const float *part[4];
	int64_t pitch[4];
	int n;
	int64_t row, rows, cols, step;
} coming;

static inline void coming_add(coming *c, const float *part, int64_t pitch)
{
	c->part[c->n] = part;
	c->pitch[c->n++] = pitch;
}

static void coming_fetch(coming *c)
{
	int64_t end = c->row + c->step < c->rows ? c->row + c->step : c->rows;

	for (; c->row < end; c->row++)
		for (int i = 0; i < c->n; i++)
			for (int64_t j = 0; j < c->cols; j += COMING_LINE)
				__builtin_prefetch(c->part[i] + c->row * c->pitch[i] + j, 0, 2);
}

/* Of pair number @pair, if it is one before @end: q, k and v, and @dy, if there is one. */
static coming coming_of(const mr_vec_attn *a, int64_t pair, int64_t end, const float *dy, int64_t step)
{
	int64_t c = a->a.heads * a->a.dim, first = pair / a->a.heads * a->a.t, col = pair % a->a.heads * a->a.dim;
	coming next = {.cols = a->a.dim, .step = step};

	if (pair >= end)
		return next;
	next.rows = a->a.t;
	for (int i = 0; i < 3; i++)
		coming_add(&next, a->qkv + first * 3 * c + i * c + col, 3 * c);
	if (dy)
		coming_add(&next, dy + first * c + col, c);
	return next;
}

/* --- scratch of one worker ---------------------------------------------------------------------------------------- */

static inline int64_t whole(int64_t n)
{
	return (n + LANES - 1) / LANES * LANES;
}

typedef struct attn_space {
	int64_t t, d, tp, dp;             /* tp, dp: padded row lengths */
	float *kt, *vt;                   /* [d, tp] transposed keys, values */
	float *k, *v;                     /* [t, dp] */
	float *q, *dy;                    /* [BAND, dp] */
	float *dk, *dv;                   /* [t, dp] */
	float *s, *ds;                    /* [BAND, tp] */
	coming *next;
} attn_space;

/* Lays the buffers out from @base (NULL: only counts); returns their floats, a multiple of LANES. */
static size_t attn_lay_out(const mr_attn *a, bool backward, float *base, attn_space *w)
{
	/* One more vector a row, or 4 KiB strides at T = 1024 would put a column into one set of the cache. */
	int64_t t = a->t, d = a->dim, tp = whole(t) + LANES, dp = whole(d);
	size_t at = 0;

	*w = (attn_space){.t = t, .d = d, .tp = tp, .dp = dp};
#define PLACE(name, rows, pitch) (w->name = base ? base + at : NULL, at += (size_t)((rows) * (pitch)))
	PLACE(kt, d, tp);
	PLACE(s, BAND, tp);
	if (!backward) {
		PLACE(v, t, dp);
		return at;
	}
	PLACE(vt, d, tp);
	PLACE(ds, BAND, tp);
	PLACE(k, t, dp);
	PLACE(dk, t, dp);
	PLACE(dv, t, dp);
	PLACE(q, BAND, dp);
	PLACE(dy, BAND, dp);
#undef PLACE
	return at;
}

static size_t attn_scratch_floats(const mr_attn *a, bool backward)
{
	attn_space w;

	return attn_lay_out(a, backward, NULL, &w);
}

/* dst[rows, dp] = src[rows, d], the padding 0. */
static void pack_rows(const attn_space *w, int64_t rows, const float *src, int64_t pitch, float *dst)
{
	for (int64_t r = 0; r < rows; r++, src += pitch, dst += w->dp) {
		int64_t j = 0;

		for (; j + LANES <= w->d; j += LANES)
			v_store(dst + j, v_load(src + j, 0), 0);
		if (j < w->d)
			v_store(dst + j, v_load(src + j, w->d - j), 0);
	}
}

/* 8 rows of 4 numbers each become 4 rows of 8. */
static inline void transpose_8x4(const float *src, int64_t pitch, float *dst, int64_t tp)
{
	__m256 a = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src)), _mm_loadu_ps(src + 4 * pitch), 1);
	__m256 b = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src + pitch)),
					_mm_loadu_ps(src + 5 * pitch), 1);
	__m256 c = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src + 2 * pitch)),
					_mm_loadu_ps(src + 6 * pitch), 1);
	__m256 d = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src + 3 * pitch)),
					_mm_loadu_ps(src + 7 * pitch), 1);
	__m256 ab0 = _mm256_unpacklo_ps(a, b), ab1 = _mm256_unpackhi_ps(a, b); /* a0 b0 a1 b1, a2 b2 a3 b3 */
	__m256 cd0 = _mm256_unpacklo_ps(c, d), cd1 = _mm256_unpackhi_ps(c, d);

	_mm256_storeu_ps(dst, _mm256_shuffle_ps(ab0, cd0, 0x44));
	_mm256_storeu_ps(dst + tp, _mm256_shuffle_ps(ab0, cd0, 0xEE));
	_mm256_storeu_ps(dst + 2 * tp, _mm256_shuffle_ps(ab1, cd1, 0x44));
	_mm256_storeu_ps(dst + 3 * tp, _mm256_shuffle_ps(ab1, cd1, 0xEE));
}

/* dst[d, tp] = src[t, d] transposed, columns from t to the next whole vector 0. */
static void pack_transposed(const attn_space *w, const float *src, int64_t pitch, float *dst)
{
	int64_t t8 = w->t & ~(int64_t)7, d4 = w->d & ~(int64_t)3;

	for (int64_t r = 0; r < t8; r += 8) {
		for (int64_t l = 0; l < d4; l += 4)
			transpose_8x4(src + r * pitch + l, pitch, dst + l * w->tp + r, w->tp);
		for (int64_t l = d4; l < w->d; l++)
			for (int64_t i = r; i < r + 8; i++)
				dst[l * w->tp + i] = src[i * pitch + l];
	}
	for (int64_t l = 0; l < w->d; l++) {
		for (int64_t r = t8; r < w->t; r++)
			dst[l * w->tp + r] = src[r * pitch + l];
		for (int64_t r = w->t; r < whole(w->t); r++)
			dst[l * w->tp + r] = 0;
	}
}

/* out[i, 0..) = A[i] BT for the rows of a band, columns up to the diagonal (rounded up): A [rows, d] at @pitch. */
static void band_scores(const attn_space *w, int64_t first, int64_t rows, const float *a, int64_t pitch,
			const float *bt, float *out)
{
	for (int64_t i = 0, n; i < rows; i += n) {
		n = tile_rows(rows - i);
		product p = {.cols = whole(first + i + n), .k = w->d, .a = a + i * pitch, .a_row = pitch, .a_k = 1,
			     .b = bt, .b_pitch = w->tp, .out = out + i * w->tp, .pitch = w->tp};

		coming_fetch(w->next);
		product_run(&p, n);
	}
}

/* Of scores before the softmax, which is computed in powers of 2. */
static inline float score_scale(int64_t d)
{
	return 1.4426950408889634f / sqrtf((float)d);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* Of n >= 1 scores: where the last vector starts, whose other lanes lie past the diagonal. */
static inline int64_t last_vector(int64_t n)
{
	return (n - 1) / LANES * LANES;
}

static inline float score_top(const float *s, int64_t n)
{
	int64_t last = last_vector(n);
	V m = v_pick(v_first(n - last), v_load(s + last, 0), v_set(-INFINITY));

	for (int64_t j = 0; j < last; j += LANES)
		m = v_max(m, v_load(s + j, 0));
	return v_top(m);
}

/* s[0..n) becomes 2^(scale s - top), zeros up to @end; returns the sum. */
static inline float score_exp(float *s, int64_t n, int64_t end, float scale, float top_)
{
	V c = v_set(scale), top = v_set(-top_), total = v_set(0.0f), e;
	int64_t last = last_vector(n);

	for (int64_t j = 0; j < last; j += LANES) {
		e = v_exp2(v_fma(v_load(s + j, 0), c, top));
		total = v_add(total, e);
		v_store(s + j, e, 0);
	}
	e = v_keep(v_first(n - last), v_exp2(v_fma(v_load(s + last, 0), c, top)));
	v_store(s + last, e, 0);
	for (int64_t j = last + LANES; j < end; j += LANES)
		v_store(s + j, v_set(0.0f), 0);
	return v_sum(v_add(total, e));
}

/* Softmax of a tile of @n rows whose first sees @visible keys, but for the factor 1 / sum, which goes to @inverse. */
static void score_tile(float *s, int64_t pitch, int64_t n, int64_t visible, float scale, float *saved, float *inverse)
{
	int64_t end = whole(visible + n - 1);

	/* Two passes, so that the horizontal maxima of several rows overlap. */
	for (int64_t r = 0; r < n; r++)
		saved[2 * r] = score_top(s + r * pitch, visible + r) * scale;
	for (int64_t r = 0; r < n; r++) {
		inverse[r] = 1.0f / score_exp(s + r * pitch, visible + r, end, scale, saved[2 * r]);
		saved[2 * r + 1] = inverse[r];
	}
}

static void attn_band(const mr_vec_attn *a, const attn_space *w, int64_t first, int64_t rows, const float *q,
		      int64_t pitch, float *y, float *saved)
{
	float scale = score_scale(w->d), inverse[TILE_ROWS];
	int64_t c = a->a.heads * a->a.dim;

	band_scores(w, first, rows, q, pitch, w->kt, w->s);
	for (int64_t i = 0, n; i < rows; i += n) {
		n = tile_rows(rows - i);
		score_tile(w->s + i * w->tp, w->tp, n, first + i + 1, scale, saved + 2 * i, inverse);
		product p = {.cols = w->d, .k = first + i + n, .a = w->s + i * w->tp, .a_row = w->tp, .a_k = 1,
			     .b = w->v, .b_pitch = w->dp, .out = y + i * c, .pitch = c, .row_scale = inverse};

		coming_fetch(w->next);
		product_run(&p, n);
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
		coming next = coming_of(a, pair + 1, hi, NULL, 6);

		w.next = &next;
		pack_transposed(&w, q + c, pitch, w.kt);
		pack_rows(&w, t, q + 2 * c, pitch, w.v);
		for (int64_t i = 0; i < t; i += BAND)
			attn_band(a, &w, i, t - i < BAND ? t - i : BAND, q + i * pitch, pitch,
				  a->y + (s * t + i) * c + h * w.d, a->saved + 2 * (pair * t + i));
	}
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* s: scores become probabilities; ds: dP becomes dS; zeros from n to @end in both. */
static void gradient_row(float *s, float *ds, int64_t n, int64_t end, float scale, float scale2, const float saved[2])
{
	V c = v_set(scale), c2 = v_set(scale2), top = v_set(-saved[0]), inverse = v_set(saved[1]), total = v_set(0.0f);

	int64_t last = last_vector(n);

	for (int64_t j = 0; j < n; j += LANES) {
		V p = v_mul(v_exp2(v_fma(v_load(s + j, 0), c2, top)), inverse);

		if (j == last)
			p = v_keep(v_first(n - last), p);
		v_store(s + j, p, 0);
		total = v_fma(p, v_load(ds + j, 0), total);
	}
	total = v_set(v_sum(total));
	for (int64_t j = 0; j < n; j += LANES)
		v_store(ds + j, v_mul(v_mul(v_load(s + j, 0), v_sub(v_load(ds + j, 0), total)), c), 0);
	for (int64_t j = last + LANES; j < end; j += LANES) {
		v_store(s + j, v_set(0.0f), 0);
		v_store(ds + j, v_set(0.0f), 0);
	}
}

/* Gradients of keys or values: sums over the bands so far in @sum, and where the last band writes the finished rows. */
typedef struct column_sums {
	float *sum;                 /* [t, dp] */
	float *out;                 /* [t, d] at @pitch */
	int64_t pitch;
} column_sums;

/* For keys j up to the band's end: sum over the band's rows i >= j of s[i, j] b[i], plus the sums of earlier bands. */
static void band_columns(const attn_space *w, int64_t first, int64_t rows, const float *s, const float *b,
			 int64_t b_pitch, const column_sums *c)
{
	bool last = first + rows == w->t;

	for (int64_t j = 0, n; j < first + rows; j += n) {
		int64_t from = j > first ? j - first : 0;
		product p = {.cols = last ? w->d : w->dp, .k = rows - from, .a = s + from * w->tp + j, .a_row = 1,
			     .a_k = w->tp, .b = b + from * b_pitch, .b_pitch = b_pitch,
			     .out = last ? c->out + j * c->pitch : c->sum + j * w->dp, .pitch = last ? c->pitch : w->dp,
			     .plus = j < first ? c->sum + j * w->dp : NULL, .plus_pitch = w->dp};

		n = tile_rows(first + rows - j);
		coming_fetch(w->next);
		product_run(&p, n);
	}
}

/* Where one head's operands of the backward pass lie: rows of q and dq at @pitch, of dy at @c. */
typedef struct backward_head {
	const float *q, *dy, *saved;
	float *dq;
	int64_t pitch, c;
	column_sums dk, dv;
} backward_head;

static void attn_backward_band(const attn_space *w, const backward_head *h, int64_t first, int64_t rows)
{
	const float *q = h->q + first * h->pitch, *dy = h->dy + first * h->c, *saved = h->saved + 2 * first;
	float scale = 1.0f / sqrtf((float)w->d), *dq = h->dq + first * h->pitch;
	bool padded = w->d == w->dp; /* then the rows serve as right operands where they are */

	if (!padded) {
		pack_rows(w, rows, q, h->pitch, w->q);
		pack_rows(w, rows, dy, h->c, w->dy);
	}
	band_scores(w, first, rows, q, h->pitch, w->kt, w->s);
	band_scores(w, first, rows, dy, h->c, w->vt, w->ds);
	for (int64_t i = 0, n; i < rows; i += n) {
		n = tile_rows(rows - i);
		for (int64_t r = i; r < i + n; r++)
			gradient_row(w->s + r * w->tp, w->ds + r * w->tp, first + r + 1, whole(first + i + n), scale,
				     score_scale(w->d), saved + 2 * r);
		product p = {.cols = w->d, .k = first + i + n, .a = w->ds + i * w->tp, .a_row = w->tp, .a_k = 1,
			     .b = w->k, .b_pitch = w->dp, .out = dq + i * h->pitch, .pitch = h->pitch};

		coming_fetch(w->next);
		product_run(&p, n);
	}
	band_columns(w, first, rows, w->s, padded ? dy : w->dy, padded ? h->c : w->dp, &h->dv);
	band_columns(w, first, rows, w->ds, padded ? q : w->q, padded ? h->pitch : w->dp, &h->dk);
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
				   .dq = dq, .pitch = pitch, .c = c, .dk = {w.dk, dq + c, pitch},
				   .dv = {w.dv, dq + 2 * c, pitch}};
		coming next = coming_of(a, pair + 1, hi, a->dy, 2);

		w.next = &next;
		pack_transposed(&w, q + c, pitch, w.kt);
		pack_transposed(&w, q + 2 * c, pitch, w.vt);
		pack_rows(&w, t, q + c, pitch, w.k);
		for (int64_t i = 0; i < t; i += BAND)
			attn_backward_band(&w, &h, i, t - i < BAND ? t - i : BAND);
	}
}
