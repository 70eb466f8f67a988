/*
 * vec_loss.h - softmax cross-entropy, mean squared error, and the sum of squares.
 */

/* Largest of n >= 1 numbers. */
static inline float row_top(int64_t n, const float *x)
{
	V m = v_set(-INFINITY);
	int64_t j = 0;

	for (; j + LANES <= n; j += LANES)
		m = v_max(m, v_load(x + j, 0));
	if (j < n)
		m = v_max(m, v_pick(v_first(n - j), v_load(x + j, n - j), v_set(-INFINITY)));
	return v_top(m);
}

/* x[n] becomes exp(x - top); returns the sum. */
static inline float row_exp(int64_t n, float *x, float top)
{
	V s = v_set(0.0f), t = v_set(top);
	int64_t j = 0;

	for (; j + LANES <= n; j += LANES) {
		V e = v_exp(v_sub(v_load(x + j, 0), t));

		s = v_add(s, e);
		v_store(x + j, e, 0);
	}
	if (j < n) {
		V e = v_keep(v_first(n - j), v_exp(v_sub(v_load(x + j, n - j), t)));

		s = v_add(s, e);
		v_store(x + j, e, n - j);
	}
	return v_sum(s);
}

/* Subtracting the largest logit first keeps every exponential in [0, 1] and the sum at 1 or more. */
static void xent(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_loss *a = args;
	int64_t n = a->cols;

	(void)worker;
	for (int64_t r = lo; r < hi; r++) {
		float *x = a->x + r * n, at = x[a->targets[r]], top = row_top(n, x), total = row_exp(n, x, top);
		V f = v_set(1.0f / (total * (float)a->rows));
		int64_t j = 0;

		a->row_loss[r] = log((double)total) + ((double)top - (double)at);
		for (; j + LANES <= n; j += LANES)
			v_store(x + j, v_mul(v_load(x + j, 0), f), 0);
		if (j < n)
			v_store(x + j, v_mul(v_load(x + j, n - j), f), n - j);
		x[a->targets[r]] -= 1.0f / (float)a->rows;
	}
}

static void mse(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_loss *a = args;
	int64_t n = a->cols;
	float f = 1.0f / (float)a->rows;

	(void)worker;
	for (int64_t r = lo; r < hi; r++) {
		double s = 0;

		for (int64_t i = r * n; i < (r + 1) * n; i++) {
			float d = a->x[i] - a->y[i];

			s += (double)d * (double)d;
			a->x[i] = d * f;
		}
		a->row_loss[r] = s;
	}
}

/* Lane l of f64 adds elements l, l + LANES, ... in order; then the lanes in order. */
static double sumsq(int64_t n, const float *x)
{
	double acc[LANES] = {0}, s = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		v_add_squares(v_load(x + i, 0), acc);
	if (i < n)
		v_add_squares(v_load(x + i, n - i), acc);
	for (int l = 0; l < LANES; l++)
		s += acc[l];
	return s;
}
