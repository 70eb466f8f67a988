/*
 * products_bf16.h - products and steps of the backends `fused` and `auto` in bf16 and bf16_pure: block_gemm.h computes
 * the products, or oneDNN's matmul where the table of choices says so; the operations fused to a product give the same
 * bits with both. @kc: of these backends.
 */
#ifndef MR_KERNELS_PRODUCTS_BF16_H
#define MR_KERNELS_PRODUCTS_BF16_H

#include "nn/kernels/fused/blocks/vec_block.h"
#include "nn/recorder.h"

/* mr_bf16_gemm and so on: those whose column `bf16` in nn/kernels.def says PRODUCT, OTHER or EACH. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	mr_status mr_bf16_##id(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#include "nn/kernels.def"

/** @s with the gradient @g. */
mr_block_step mr_bf16_step_of(const mr_kctx *kc, const mr_step *s, const void *g);

/** mr_kernels.packed_bytes. */
size_t mr_bf16_packed_bytes(const mr_kernels *k, const mr_gemm *g);

/** mr_kernels.panel_bytes. */
size_t mr_bf16_panel_bytes(const mr_kernels *k, const mr_gemm *g);

/** mr_kernels.joins_conv. */
bool mr_bf16_joins_conv(const mr_kernels *k, const mr_conv *g);

/** nn/recorder.h */
mr_kernel_by mr_bf16_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

/** Initialises the part of a context that all of these need. Errors: MR_ERESOURCE. */
mr_status mr_bf16_products_init(mr_kctx *kc, const mr_kernels *k) MR_MUST_USE;
void mr_bf16_products_fini(mr_kctx *kc);
size_t mr_bf16_products_bytes(const mr_kctx *kc);

#endif
