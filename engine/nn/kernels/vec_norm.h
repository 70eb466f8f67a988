/*
 * vec_norm.h - layer norm, and without mean and shift (both NULL) root-mean-square norm. A row's sums: lane l adds elements l,
 * l + LANES, ... in order, then the lanes are added.
 */

/* The mean that is saved for row @r; 0 where rows are not shifted. */
static inline V norm_mean(const mr_vec_norm *a, int64_t r)
{
	return v_set(a->saved_mean ? a->saved_mean[r] : 0.0f);
}

static inline V norm_out(const mr_vec_norm *a, V h, int64_t j, int64_t part)
{
	V gain = v_load(a->gain + j, part);

	return a->shift ? v_fma(h, gain, v_load(a->shift + j, part)) : v_mul(h, gain);
}

static void norm_row(const mr_vec_norm *a, int64_t r)
{
	const float *x = a->x + r * a->cols;
	float *y = a->y + r * a->cols;
	int64_t n = a->cols, tail = n % LANES, full = n - tail;
	V s = v_set(0.0f), q = v_set(0.0f), mean = s, rstd;

	if (a->mean) {
		for (int64_t j = 0; j < full; j += LANES)
			s = v_add(s, v_load(x + j, 0));
		if (tail)
			s = v_add(s, v_load(x + full, tail));
		a->mean[r] = v_sum(s) / (float)n;
		mean = v_set(a->mean[r]);
	}
	for (int64_t j = 0; j < full; j += LANES) {
		V d = v_sub(v_load(x + j, 0), mean);

		q = v_fma(d, d, q);
	}
	if (tail) {
		V d = v_keep(v_first(tail), v_sub(v_load(x + full, tail), mean));

		q = v_fma(d, d, q);
	}
	a->rstd[r] = 1.0f / sqrtf(v_sum(q) / (float)n + a->eps);
	rstd = v_set(a->rstd[r]);
	for (int64_t j = 0; j < full; j += LANES) {
		V h = v_mul(v_sub(v_load(x + j, 0), mean), rstd);

		v_store(y + j, norm_out(a, h, j, 0), 0);
	}
	if (tail) {
		V h = v_mul(v_sub(v_load(x + full, tail), mean), rstd);

		v_store(y + full, norm_out(a, h, full, tail), tail);
	}
}

static void norm(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	(void)worker;
	for (int64_t r = lo; r < hi; r++)
		norm_row(args, r);
}

/* Vectors of columns that are summed over rows together. */
#if LANES == 16
#define NORM_VECS 8
#else
#define NORM_VECS 4
#endif
#define NORM_AHEAD 4   /* rows that are fetched ahead: a row, or a few, is a page, and what the hardware fetches ends there */
#define NORM_BLOCK 16  /* rows whose x and dy are summed while they are in L1 */

/* With h = (x - mean) rstd and u = gain dy: dx = rstd (u - mean(u) - h mean(u h)), where rows are not shifted without mean(u). */
typedef struct norm_sums {
	V u, uh;
} norm_sums;

static inline void norm_sums_at(const mr_vec_norm *a, int64_t at, int64_t j, V mean, V rstd, norm_sums *s, int64_t part)
{
	V u = v_mul(v_load(a->gain + j, part), v_load(a->dy + at + j, part));
	V h = v_mul(v_sub(v_load(a->x + at + j, part), mean), rstd);
	int64_t soon = at + j + NORM_AHEAD * a->cols;

	__builtin_prefetch(a->x + soon, 0, 3);
	__builtin_prefetch(a->dy + soon, 0, 3);
	__builtin_prefetch(a->dx + soon, 1, 3);
	s->u = v_add(s->u, u);
	s->uh = v_fma(u, h, s->uh);
}

static inline void norm_dx_at(const mr_vec_norm *a, int64_t at, int64_t j, V mean, V rstd, const norm_sums *s,
			      int64_t part)
{
	V u = v_mul(v_load(a->gain + j, part), v_load(a->dy + at + j, part));
	V h = v_mul(v_sub(v_load(a->x + at + j, part), mean), rstd);
	V d = v_mul(rstd, v_fnma(h, s->uh, v_sub(u, s->u)));

	if (a->add)
		d = v_add(v_load(a->dx + at + j, part), d);
	v_store(a->dx + at + j, d, part);
}

static void norm_dx_rows(const mr_vec_norm *a, int64_t lo, int64_t hi)
{
	int64_t n = a->cols, tail = n % LANES, full = n - tail;

	for (int64_t r = lo; r < hi; r++) {
		V mean = norm_mean(a, r), rstd = v_set(a->saved_rstd[r]);
		norm_sums s = {v_set(0.0f), v_set(0.0f)};

		for (int64_t j = 0; j < full; j += LANES)
			norm_sums_at(a, r * n, j, mean, rstd, &s, 0);
		if (tail)
			norm_sums_at(a, r * n, full, mean, rstd, &s, tail); /* u is 0 in the lanes past the row */
		s.u = v_set(a->saved_mean ? v_sum(s.u) / (float)n : 0.0f);
		s.uh = v_set(v_sum(s.uh) / (float)n);
		for (int64_t j = 0; j < full; j += LANES)
			norm_dx_at(a, r * n, j, mean, rstd, &s, 0);
		if (tail)
			norm_dx_at(a, r * n, full, mean, rstd, &s, tail);
	}
}

/* Sums over rows @lo to @hi, in order, of @vecs vectors of columns from @j on, begun at a->sums or at 0; only the last vector may be
 * partial. @last: they go to dgain and dshift, otherwise to a->sums. */
static inline __attribute__((always_inline)) void norm_weight_strip(const mr_vec_norm *a, int64_t lo, int64_t hi, bool last, int64_t j,
								    int vecs, int64_t part)
{
	V sg[NORM_VECS], ss[NORM_VECS];

#pragma GCC unroll 8
	for (int i = 0; i < vecs; i++) {
		sg[i] = a->first ? v_load(a->sums + j + i * LANES, part) : v_set(0.0f);
		ss[i] = a->first ? v_load(a->sums + a->cols + j + i * LANES, part) : v_set(0.0f);
	}
	for (int64_t r = lo; r < hi; r++) {
		V mean = norm_mean(a, r), rstd = v_set(a->saved_rstd[r]);

#pragma GCC unroll 8
		for (int i = 0; i < vecs; i++) {
			int64_t at = r * a->cols + j + i * LANES;
			V dy = v_load(a->dy + at, part);

			if (last) {
				__builtin_prefetch(a->x + at + NORM_AHEAD * a->cols, 0, 3);
				__builtin_prefetch(a->dy + at + NORM_AHEAD * a->cols, 0, 3);
			}
			sg[i] = v_fma(dy, v_mul(v_sub(v_load(a->x + at, part), mean), rstd), sg[i]);
			ss[i] = v_add(ss[i], dy);
		}
	}
#pragma GCC unroll 8
	for (int i = 0; i < vecs; i++) {
		float *dg = last ? a->dgain + j + i * LANES : a->sums + j + i * LANES;
		float *ds = last ? a->dshift : a->sums + a->cols;
		bool add = last && a->add_weight;

		v_store(dg, add ? v_add(v_load(dg, part), sg[i]) : sg[i], part);
		if (ds) {
			ds += j + i * LANES;
			v_store(ds, add ? v_add(v_load(ds, part), ss[i]) : ss[i], part);
		}
	}
}

/* The same for columns @j to @end. @last is constant in each caller. */
static inline __attribute__((always_inline)) void norm_weight_rows(const mr_vec_norm *a, int64_t lo, int64_t hi, bool last, int64_t j,
								   int64_t end)
{
	for (; j + NORM_VECS * LANES <= end; j += NORM_VECS * LANES)
		norm_weight_strip(a, lo, hi, last, j, NORM_VECS, 0);
	for (; j + LANES <= end; j += LANES)
		norm_weight_strip(a, lo, hi, last, j, 1, 0);
	if (j < end)
		norm_weight_strip(a, lo, hi, last, j, 1, end - j);
}

static void norm_backward_input(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_norm *a = args;

	(void)worker;
	if (lo >= a->first) {
		norm_dx_rows(a, lo, hi);
		return;
	}
	for (int64_t r = lo, end; r < hi; r = end) {
		end = r + NORM_BLOCK < hi ? r + NORM_BLOCK : hi;
		norm_dx_rows(a, r, end);
		norm_weight_rows(a, r, end, false, 0, a->cols);
	}
}

static void norm_backward_weight(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_norm *a = args;

	(void)worker;
	norm_weight_rows(a, a->first, a->rows, true, lo, hi);
}
