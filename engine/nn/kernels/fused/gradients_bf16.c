#include "nn/kernels/fused/gradients_bf16.h"

#include "nn/bf16.h"
#include "nn/kernels/backend.h"
#include "nn/kernels/embed_rounded.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/blocks/products_bf16.h"
#include "nn/kernels/wide.h"

/* Numbers whose squares are added at a time. */
enum { PIECE = 4096 };

#define BASE (&mr_kernels_fused_bf16)
#define GRADIENTS (1u << MR_GRADIENTS)

/* An operation of bf16, whose gradients are in f32, on widened gradients. */
#define WIDE(id, prefix) \
	mr_status mr_pure_##id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		mr_##id##_args wide = *o; \
		mr_operand operand[MR_OPERANDS]; \
		uint32_t n = mr_operands_of_##id(BASE, &wide, operand); \
\
		MR_TRY(mr_wide_begin(BASE, kc, &kc->gradients, GRADIENTS, operand, n)); \
		MR_TRY(prefix##id(kc, &wide)); \
		return mr_wide_end(BASE, kc, GRADIENTS, operand, n); \
	}

WIDE(colsum, mr_fused_)
WIDE(norm_backward_weight, mr_fused_)
WIDE(norm_backward, mr_fused_)
WIDE(batch_norm_backward, mr_fused_)
WIDE(conv_backward_weight, mr_bf16_)

mr_status mr_pure_embed_backward(mr_kctx *kc, const mr_embed_backward_args *o)
{
	int64_t n = o->rows * o->cols, positions = o->dwpe ? o->t * o->cols : 0;
	float *wide;

	MR_TRY(mr_scratch_grow(&kc->gradients, (size_t)(n + positions + o->vocab + 2 * o->rows) * sizeof(*wide)));
	wide = kc->gradients.at;
	return mr_embed_backward_rounded(&(mr_embed_rounded){.base = BASE, .kc = kc, .o = o, .wide = wide,
							     .wide_wpe = o->dwpe ? wide + n : NULL,
							     .numbers = wide + n + positions});
}

mr_status mr_pure_conv_step(mr_kctx *kc, const mr_conv_step_args *o)
{
	MR_TRY(mr_pure_conv_backward_weight(kc, &(mr_conv_backward_weight_args){.g = o->g, .x = o->x, .dy = o->dy,
										.dw = o->dw, .add = o->add}));
	return mr_bf16_step(kc, &(mr_step_args){.n = mr_conv_weights(o->g), .s = o->s, .g = o->dw});
}

mr_status mr_pure_conv_sum(mr_kctx *kc, const mr_conv_sum_args *o)
{
	return mr_conv_sum_apart(kc, o, mr_pure_conv_backward_weight, mr_pure_conv_step);
}

mr_status mr_pure_sum_gradients(mr_kctx *kc, const mr_sum_gradients_args *o)
{
	return mr_fused_sum(kc, &(mr_sum_args){.n = o->n, .a = o->a, .b = o->b, .y = o->y});
}

mr_status mr_pure_sumsq(mr_kctx *kc, const mr_sumsq_args *o)
{
	const uint16_t *low = o->x;
	double squares = 0, some;

	for (int64_t i = 0; i < o->n; i += PIECE) {
		float wide[PIECE];
		int64_t len = o->n - i < PIECE ? o->n - i : PIECE;

		for (int64_t j = 0; j < len; j++)
			wide[j] = mr_bf16_widen(low[i + j]);
		MR_TRY(mr_fused_sumsq(kc, &(mr_sumsq_args){.n = len, .x = wide, .sum = &some}));
		squares += some;
	}
	*o->sum = squares;
	return MR_OK;
}
