#include "nn/optim/matrix.h"

#include "base/size.h"
#include "nn/element.h"

size_t mr_matrix_bytes(int64_t rows, int64_t cols, mr_dtype t)
{
	return mr_align_up((size_t)(rows * cols) * mr_dtype_bytes(t), MR_CACHE_LINE);
}

#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	static void mix_##id(int64_t n, double a, const stored *x, double b, const stored *y, stored *out) \
	{ \
		for (int64_t i = 0; i < n; i++) \
			out[i] = round(a * (double)widen(x[i]) + (y ? b * (double)widen(y[i]) : 0)); \
	}
#include "base/types.def"

void mr_matrix_mix(mr_dtype t, int64_t n, double a, const void *x, double b, const void *y, void *out)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: mix_##id(n, a, x, b, y, out); break;
#include "base/types.def"
	default: break; /* no weights are of a type of files alone */
	}
}

/* Weights without masters become a times what they were plus b @y. */
static void step_rounding(int64_t n, double a, double b, const uint16_t *y, const mr_optim_call *c)
{
	const uint16_t *src = c->src;
	uint16_t *dst = c->dst;
	uint64_t room[MR_ROUNDING_ROOM(1)];

	for (int64_t i = 0; i < n; i++)
		dst[i] = mr_bf16_round_by((float)(a * (double)mr_bf16_widen(src[i]) + b * (double)mr_bf16_widen(y[i])),
					  (uint16_t)*mr_rounding_words(&c->rounding, (uint64_t)i, 1, room));
}

void mr_matrix_step(const mr_types *t, int64_t n, double a, double b, const void *y, const mr_optim_call *c)
{
	if (mr_types_pure(t)) {
		step_rounding(n, a, b, y, c);
		return;
	}
	if (t->weights == t->state) {
		mr_matrix_mix(t->state, n, a, c->src, b, y, c->dst);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		mr_element_put_master(t->weights, c->dst, c->dst_rest, i,
				      a * mr_element_master(t->weights, c->src, c->src_rest, i) +
					      b * mr_element(t->state, y, i));
}
