/*
 * vec_optim.h - optimizer steps. Coefficients were rounded to f32 once; per element, in this order:
 *
 *	g' = g gscale
 *	sgd       w = w keep - rate g'
 *	momentum  buf = mu buf + g';  w = w keep - rate buf   (Nesterov: rate (mu buf + g'))
 *	adam      m = b1 m + a1 g';  v = b2 v + (a2 g') g';  w = w keep - rate m / (sqrt(v) root + eps)
 *
 * with keep = 1 - decay, a1 = 1 - b1, a2 = 1 - b2, root = 1 / sqrt(c2), and for adam rate = lr / c1. A product followed
 * by a sum is fused.
 */

static inline void sgd_at(const mr_vec_step *a, int64_t i, int64_t part)
{
	V g = v_mul(v_load(a->g + i, part), v_set(a->gscale));
	V w = v_mul(v_load(a->src + i, part), v_set(a->keep));

	v_store(a->dst + i, v_fnma(v_set(a->rate), g, w), part);
}

static void step_sgd(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_step a = *(const mr_vec_step *)args; /* a copy: stores through dst cannot alias it */
	int64_t i = lo;

	(void)worker;
	for (; i + LANES <= hi; i += LANES)
		sgd_at(&a, i, 0);
	if (i < hi)
		sgd_at(&a, i, hi - i);
}

static inline void momentum_at(const mr_vec_step *a, int64_t i, int64_t part)
{
	V mu = v_set(a->mu), g = v_mul(v_load(a->g + i, part), v_set(a->gscale));
	V w = v_mul(v_load(a->src + i, part), v_set(a->keep));
	V buf = v_fma(mu, v_load(a->m + i, part), g);

	v_store(a->m + i, buf, part);
	v_store(a->dst + i, v_fnma(v_set(a->rate), a->nesterov ? v_fma(mu, buf, g) : buf, w), part);
}

static void step_momentum(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_step a = *(const mr_vec_step *)args;
	int64_t i = lo;

	(void)worker;
	for (; i + LANES <= hi; i += LANES)
		momentum_at(&a, i, 0);
	if (i < hi)
		momentum_at(&a, i, hi - i);
}

static inline void adam_at(const mr_vec_step *a, int64_t i, int64_t part)
{
	V g = v_mul(v_load(a->g + i, part), v_set(a->gscale));
	V w = v_mul(v_load(a->src + i, part), v_set(a->keep));
	V m = v_fma(v_set(a->b1), v_load(a->m + i, part), v_mul(v_set(a->a1), g));
	V v = v_fma(v_set(a->b2), v_load(a->v + i, part), v_mul(v_mul(v_set(a->a2), g), g));
	V down = v_fma(v_sqrt(v), v_set(a->root), v_set(a->eps));

	v_store(a->m + i, m, part);
	v_store(a->v + i, v, part);
	v_store(a->dst + i, v_sub(w, v_div(v_mul(v_set(a->rate), m), down)), part);
}

static void step_adam(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_step a = *(const mr_vec_step *)args;
	int64_t i = lo;

	(void)worker;
	for (; i + LANES <= hi; i += LANES)
		adam_at(&a, i, 0);
	if (i < hi)
		adam_at(&a, i, hi - i);
}
