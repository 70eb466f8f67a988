/*
 * backend.h - what the backends share: their tables, and the definition of the dropout mask.
 */
#ifndef MR_KERNELS_BACKEND_H
#define MR_KERNELS_BACKEND_H

#include "nn/kernels.h"

#define MR_PRECISION(id, types, backends) extern const mr_kernels mr_kernels_reference_##id;
#include "nn/precisions.def"

#ifdef MR_DNNL
#define MR_PRECISION(id, types, backends) \
	extern const mr_kernels mr_kernels_fused_##id, mr_kernels_onednn_##id, mr_kernels_auto_##id;
#include "nn/precisions.def"

/** mr_kernels.refusal of `fused`, `onednn` and `auto` in f32, and of `fused` and `auto` in bf16. */
const char *mr_kernels_fused_refusal(void);
const char *mr_kernels_fused_bf16_refusal(void);
/** As mr_kernels.gemm of the backend `onednn`, but A and B are bf16, and there is neither an addend nor
 * fuse_act_backward. @kc: of mr_kernels_onednn_f32. */
mr_status mr_onednn_product_bf16(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b, const float *bias,
				 float *c, float *aux) MR_MUST_USE;
/** The same without bias and activation, and with C in bf16: rounded once, also with `add`. */
mr_status mr_onednn_product_rounded(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b,
				    uint16_t *c) MR_MUST_USE;
/** mr_kernels_isa. */
const char *mr_kernels_fused_isa(mr_dtype dtype);
/** "oneDNN 2.6.3 (AVX-512)". Static storage. */
const char *mr_kernels_onednn_library(void);
#endif

/** conv_sum by one gradient after the other. */
static inline mr_status mr_conv_sum_apart(mr_kctx *kc, const mr_conv_sum_args *o,
					  mr_status (*gradient)(mr_kctx *, const mr_conv_backward_weight_args *),
					  mr_status (*step)(mr_kctx *, const mr_conv_step_args *))
{
	uint32_t last = o->s ? o->n - 1 : o->n;

	for (uint32_t j = 0; j < last; j++)
		MR_TRY(gradient(kc, &(mr_conv_backward_weight_args){.g = o->g, .x = o->x[j], .dy = o->dy[j],
								    .dw = o->dw, .add = o->add || j}));
	return o->s ? step(kc, &(mr_conv_step_args){.g = o->g, .x = o->x[last], .dy = o->dy[last], .dw = o->dw,
						    .add = o->add || last, .s = o->s})
		    : MR_OK;
}

/**
 * An element is dropped when its random word (mr_rng_u32 at MR_RNG_DROPOUT, sample, layer, element of the sample) is
 * below this threshold: probability @rate, exact to 2^-32. @rate in [0, 1).
 */
static inline uint32_t mr_dropout_threshold(double rate)
{
	return (uint32_t)(rate * 4294967296.0);
}

#endif
