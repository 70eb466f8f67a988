/* vec_optim.h - optimizer steps over arrays; their arithmetic is in the optimizers' files (vec_step.h). */

/* A thread's range of a tensor; a is a copy, so that stores through dst cannot alias it. */
#define STEP_AT(id, states) \
	static inline void id##_at(const mr_vec_step *a, const step_lanes *c, int64_t i, int64_t part) \
	{ \
		V w = v_load(a->src + i, part), g = v_load(a->g + i, part), m = w, v = w; \
\
		if (states > 0) \
			m = v_load(a->m + i, part); \
		if (states > 1) \
			v = v_load(a->v + i, part); \
		w = step_##id##_v(c, w, g, &m, &v); \
		if (states > 0) \
			v_store(a->m + i, m, part); \
		if (states > 1) \
			v_store(a->v + i, v, part); \
		v_store(a->dst + i, w, part); \
	}
#define STEP_RANGE(id) \
	static void step_##id(const void *args, int64_t lo, int64_t hi, uint32_t worker) \
	{ \
		const mr_vec_step a = *(const mr_vec_step *)args; \
		const step_lanes c = step_lanes_of(&a); \
		int64_t i = lo; \
\
		(void)worker; \
		for (; i + LANES <= hi; i += LANES) \
			id##_at(&a, &c, i, 0); \
		if (i < hi) \
			id##_at(&a, &c, i, hi - i); \
	}

#define MR_OPTIM_LIST
#define MR_OPTIM(id)
#define MR_STEP(kind, id, states, passes, rate, rate_g) STEP_AT(id, states) STEP_RANGE(id)
#include "nn/optim/optim.def"
#undef MR_STEP
#undef MR_OPTIM
#undef MR_OPTIM_LIST
