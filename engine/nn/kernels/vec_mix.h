/*
 * vec_mix.h - several copies of the weights brought together (mr_mix). The arithmetic is in f64, nothing is fused, and a quotient is a
 * product only where that is the same number: the bits are those of reference_mix.h.
 */

/* What is the same for all elements, in every lane. */
typedef struct mix_lanes {
	D n, inverse, alpha, lr, mu;
	bool exact; /* 1 / n is */
} mix_lanes;

static inline mix_lanes mix_lanes_of(const mr_vec_mix *a)
{
	return (mix_lanes){
		.n = d_set(a->n),
		.inverse = d_set(1.0 / a->n),
		.alpha = d_set(a->alpha),
		.lr = d_set(a->lr),
		.mu = d_set(a->mu),
		.exact = (a->n & (a->n - 1)) == 0,
	};
}

static inline D mix_over_n(const mix_lanes *c, D sum)
{
	return c->exact ? d_mul(sum, c->inverse) : d_div(sum, c->n);
}

static inline D mix_mean(const mr_vec_mix *a, const mix_lanes *c, int64_t i, int64_t part)
{
	D sum = d_wide(v_load(a->src[0] + i, part));

	for (uint32_t r = 1; r < a->n; r++)
		sum = d_add(sum, d_wide(v_load(a->src[r] + i, part)));
	return mix_over_n(c, sum);
}

static inline void mix_all(const mr_vec_mix *a, D x, int64_t i, int64_t part)
{
	V y = d_narrow(x);

	for (uint32_t r = 0; r < a->n; r++)
		v_store(a->dst[r] + i, y, part);
}

static inline void mean_at(const mr_vec_mix *a, const mix_lanes *c, int64_t i, int64_t part)
{
	mix_all(a, mix_mean(a, c, i, part), i, part);
}

static inline void outer_at(const mr_vec_mix *a, const mix_lanes *c, int64_t i, int64_t part)
{
	D at = d_wide(v_load(a->reference + i, part)), delta = d_sub(at, mix_mean(a, c, i, part));
	D moved = d_add(d_mul(c->mu, a->velocity ? d_wide(v_load(a->velocity + i, part)) : d_set(0)), delta);

	at = d_sub(at, d_mul(c->lr, d_add(delta, d_mul(c->mu, moved))));
	v_store(a->reference + i, d_narrow(at), part);
	if (a->velocity)
		v_store(a->velocity + i, d_narrow(moved), part);
	mix_all(a, at, i, part);
}

/* The mean of the new copies is of what was stored, rounded. */
static inline void pull_at(const mr_vec_mix *a, const mix_lanes *c, int64_t i, int64_t part)
{
	D at = d_wide(v_load(a->reference + i, part)), mean = mix_mean(a, c, i, part), sum = at;

	for (uint32_t r = 0; r < a->n; r++) {
		D x = d_wide(v_load(a->src[r] + i, part));
		V y = d_narrow(d_sub(x, d_mul(c->alpha, d_sub(x, at))));

		v_store(a->dst[r] + i, y, part);
		sum = r ? d_add(sum, d_wide(y)) : d_wide(y);
	}
	v_store(a->reference + i, d_narrow(d_add(at, d_sub(mean, d_wide(v_load(a->mean + i, part))))), part);
	v_store(a->mean + i, d_narrow(mix_over_n(c, sum)), part);
}

/* A thread's range; a is a copy, so that stores cannot alias it. */
#define MIX_RANGE(kind) \
	static void mix_##kind##_range(const void *args, int64_t lo, int64_t hi, uint32_t worker) \
	{ \
		const mr_vec_mix a = *(const mr_vec_mix *)args; \
		const mix_lanes c = mix_lanes_of(&a); \
		int64_t i = lo; \
\
		(void)worker; \
		for (; i + LANES <= hi; i += LANES) \
			kind##_at(&a, &c, i, 0); \
		if (i < hi) \
			kind##_at(&a, &c, i, hi - i); \
	}

MIX_RANGE(mean)
MIX_RANGE(outer)
MIX_RANGE(pull)
