/*
 * chosen_bf16.h - products of the backend `auto` in bf16: with f32 inside (f32_inside.h) where the table of choices
 * says so and there is a kernel for it, else as in products_bf16.h, which looks for oneDNN's in the same table.
 */
#ifndef MR_KERNELS_CHOSEN_BF16_H
#define MR_KERNELS_CHOSEN_BF16_H

#include "nn/recorder.h"

mr_status mr_chosen_bf16_gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c,
			      void *aux) MR_MUST_USE;
mr_status mr_chosen_bf16_gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c,
				   const mr_step *s) MR_MUST_USE;
mr_status mr_chosen_bf16_gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a,
				  const void *const *b, void *c, const mr_step *s) MR_MUST_USE;
mr_status mr_chosen_bf16_gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c,
					const mr_step *s, const mr_gemm_rows *r) MR_MUST_USE;

/** nn/recorder.h */
mr_kernel_by mr_chosen_bf16_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

#endif
