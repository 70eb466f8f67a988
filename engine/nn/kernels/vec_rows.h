/*
 * vec_rows.h - plain passes over rows: column sums, sums of two arrays, embedding and its gradient.
 */

static inline __attribute__((always_inline)) void colsum_strip(const mr_vec_colsum *a, int64_t j, int vecs,
							       int64_t part)
{
	V s[8];

	for (int i = 0; i < vecs; i++)
		s[i] = v_set(0.0f);
	for (int64_t r = 0; r < a->rows; r++) {
#pragma GCC unroll 8
		for (int i = 0; i < vecs; i++)
			s[i] = v_add(s[i], v_load(a->x + r * a->cols + j + i * LANES, part));
	}
	for (int i = 0; i < vecs; i++) {
		float *y = a->y + j + i * LANES;

		v_store(y, a->add ? v_add(v_load(y, part), s[i]) : s[i], part);
	}
}

static void colsum(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	int64_t j = lo;

	(void)worker;
	for (; j + 8 * LANES <= hi; j += 8 * LANES)
		colsum_strip(args, j, 8, 0);
	for (; j + LANES <= hi; j += LANES)
		colsum_strip(args, j, 1, 0);
	if (j < hi)
		colsum_strip(args, j, 1, hi - j);
}

/* y[n] = a[n] + b[n]; y may be a or b */
static inline void add_arrays(int64_t n, const float *a, const float *b, float *y)
{
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		v_store(y + i, v_add(v_load(a + i, 0), v_load(b + i, 0)), 0);
	if (i < n)
		v_store(y + i, v_add(v_load(a + i, n - i), v_load(b + i, n - i)), n - i);
}

static void sum(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_sum *a = args;

	(void)worker;
	add_arrays(hi - lo, a->a + lo, a->b + lo, a->y + lo);
}

static void embed(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_embed *a = args;

	(void)worker;
	for (int64_t r = lo; r < hi; r++) {
		const float *e = a->wte + a->tokens[r] * a->cols;
		float *y = a->y + r * a->cols;

		if (a->wpe)
			add_arrays(a->cols, e, a->wpe + r % a->t * a->cols, y);
		else
			memcpy(y, e, (size_t)a->cols * sizeof(float));
	}
}

static void embed_backward(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_embed *a = args;
	size_t bytes = (size_t)(hi - lo) * sizeof(float);

	(void)worker;
	if (!a->add) {
		for (int64_t i = 0; i < a->vocab; i++)
			memset(a->dwte + i * a->cols + lo, 0, bytes);
		for (int64_t i = 0; a->dwpe && i < a->t; i++)
			memset(a->dwpe + i * a->cols + lo, 0, bytes);
	}
	for (int64_t r = 0; r < a->rows; r++) {
		const float *dy = a->dy + r * a->cols + lo;
		float *e = a->dwte + a->tokens[r] * a->cols + lo;

		add_arrays(hi - lo, e, dy, e);
		if (a->dwpe) {
			float *p = a->dwpe + r % a->t * a->cols + lo;

			add_arrays(hi - lo, p, dy, p);
		}
	}
}
