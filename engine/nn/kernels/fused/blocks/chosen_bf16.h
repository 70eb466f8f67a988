/*
 * chosen_bf16.h - products of the backend `auto` in bf16: with f32 inside (f32_inside.h) where the table of choices
 * says so and there is a kernel for it, else as in products_bf16.h, which looks for oneDNN's in the same table.
 */
#ifndef MR_KERNELS_CHOSEN_BF16_H
#define MR_KERNELS_CHOSEN_BF16_H

#include "nn/recorder.h"

/* mr_chosen_bf16_gemm and so on: those whose column `bf16` in nn/kernels.def says PRODUCT. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	mr_status mr_chosen_bf16_##id(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#include "nn/kernels.def"

/** nn/recorder.h */
mr_kernel_by mr_chosen_bf16_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

#endif
