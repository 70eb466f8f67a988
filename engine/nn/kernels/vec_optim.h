/* vec_optim.h - optimizer steps over arrays; their arithmetic is in vec_step.h. */
static inline void sgd_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part)
{
	v_store(a->dst + i, step_sgd_v(c, v_load(a->src + i, part), v_load(a->g + i, part)), part);
}

/* Rules with one buffer beside the weights, and with two. */
#define STEP_AT_M(rule) \
	static inline void rule##_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part) \
	{ \
		V m = v_load(a->m + i, part); \
		V w = step_##rule##_v(c, v_load(a->src + i, part), v_load(a->g + i, part), &m); \
\
		v_store(a->m + i, m, part); \
		v_store(a->dst + i, w, part); \
	}
#define STEP_AT_MV(rule) \
	static inline void rule##_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part) \
	{ \
		V m = v_load(a->m + i, part), v = v_load(a->v + i, part); \
		V w = step_##rule##_v(c, v_load(a->src + i, part), v_load(a->g + i, part), &m, &v); \
\
		v_store(a->m + i, m, part); \
		v_store(a->v + i, v, part); \
		v_store(a->dst + i, w, part); \
	}
/* A thread's range of a tensor; a is a copy, so that stores through dst cannot alias it. */
#define STEP_RANGE(rule) \
	static void step_##rule(const void *args, int64_t lo, int64_t hi, uint32_t worker) \
	{ \
		const mr_vec_step a = *(const mr_vec_step *)args; \
		const step_lanes c = step_lanes_of(&a); \
		int64_t i = lo; \
\
		(void)worker; \
		for (; i + LANES <= hi; i += LANES) \
			rule##_at(&a, &c, i, 0); \
		if (i < hi) \
			rule##_at(&a, &c, i, hi - i); \
	}

STEP_AT_M(momentum)
STEP_AT_M(blend)
STEP_AT_MV(adam)
STEP_AT_MV(nadam)
STEP_RANGE(sgd)
STEP_RANGE(momentum)
STEP_RANGE(blend)
STEP_RANGE(adam)
STEP_RANGE(nadam)
