/*
 * gradients_bf16.h - the operations of `fused` and `auto` in bf16_pure whose results are gradients, except products
 * (products_bf16.h): they compute as in bf16, where gradients are in f32, on widened operands, and round the results to
 * the nearest.
 */
#ifndef MR_KERNELS_GRADIENTS_BF16_H
#define MR_KERNELS_GRADIENTS_BF16_H

#include "nn/kernels.h"

void mr_pure_colsum(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, void *y, bool add);
void mr_pure_norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				  const void *rstd, const void *dy, void *dgain, void *dshift, bool add);
void mr_pure_norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean,
			   const void *rstd, const void *dy, void *dx, bool add, void *dgain, void *dshift,
			   bool add_weight);
void mr_pure_batch_norm_backward(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *y, const void *gain,
				 const void *mean, const void *variance, const void *dy, void *dx, bool add,
				 void *dgain, void *dshift);
void mr_pure_embed_backward(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, int64_t vocab, const int32_t *tokens,
			    const void *dy, void *dwte, void *dwpe, bool add);
mr_status mr_pure_conv_backward_weight(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw,
				       bool add) MR_MUST_USE;
mr_status mr_pure_conv_step(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add,
			    const mr_step *s) MR_MUST_USE;
double mr_pure_sumsq(mr_kctx *kc, int64_t n, const void *x);

#endif
