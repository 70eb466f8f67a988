/*
 * vec_act.h - GELU in its tanh form, and the gradients of the activations.
 *
 * (1 + tanh u) / 2 is the logistic function of 2u, so with s = logistic(2u) and 2u = x (a + b x^2):
 * gelu = x s, gelu' = s + x s (1 - s) (a + 3 b x^2). One exp and one division, and no cancellation for negative x.
 */
static inline void gelu_at(const mr_vec_act *a, int64_t i, int64_t part)
{
	V x = v_load(a->zy + i, part);

	v_store(a->out + i, v_mul(x, gelu_s(x, v_mul(x, x))), part);
}

static void gelu(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_act *a = args;
	int64_t i = lo;

	(void)worker;
	for (; i + LANES <= hi; i += LANES)
		gelu_at(a, i, 0);
	if (i < hi)
		gelu_at(a, i, hi - i);
}

static inline void gelu_backward_at(const mr_vec_act *a, int64_t i, int64_t part)
{
	V x = v_load(a->zy + i, part), xx = v_mul(x, x), s = gelu_s(x, xx);
	V inner = v_mul(x, v_fma(v_set(3 * GELU_B), xx, v_set(GELU_A)));
	V slope = v_fma(v_mul(s, v_sub(v_set(1.0f), s)), inner, s);

	v_store(a->out + i, v_mul(v_load(a->dy + i, part), slope), part);
}

static inline void relu_backward_at(const mr_vec_act *a, int64_t i, int64_t part)
{
	V y = v_load(a->zy + i, part);

	v_store(a->out + i, v_keep(v_gt(y, v_set(0.0f)), v_load(a->dy + i, part)), part);
}

static void act_backward(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_act *a = args;
	int64_t i = lo;

	(void)worker;
	if (a->act == MR_ACT_GELU) {
		for (; i + LANES <= hi; i += LANES)
			gelu_backward_at(a, i, 0);
		if (i < hi)
			gelu_backward_at(a, i, hi - i);
	} else if (a->act == MR_ACT_RELU) {
		for (; i + LANES <= hi; i += LANES)
			relu_backward_at(a, i, 0);
		if (i < hi)
			relu_backward_at(a, i, hi - i);
	} else {
		memmove(a->out + lo, a->dy + lo, (size_t)(hi - lo) * sizeof(float));
	}
}
