/*
 * gradients_bf16.h - the operations of `fused` and `auto` in bf16_pure whose results are gradients, except products
 * (products_bf16.h): they compute as in bf16, where gradients are in f32, on widened operands, and round the results to
 * the nearest.
 */
#ifndef MR_KERNELS_GRADIENTS_BF16_H
#define MR_KERNELS_GRADIENTS_BF16_H

#include "nn/kernels.h"

/* mr_pure_colsum and so on: those whose column `bf16` in nn/kernels.def says PURE or EACH. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	mr_status mr_pure_##id(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#include "nn/kernels.def"

#endif
