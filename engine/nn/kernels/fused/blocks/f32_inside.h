/*
 * f32_inside.h - products of bf16 numbers by the kernels of f32 (gemm.h): strips of the operands are widened, which is
 * exact, a strip of the result is computed while it stays in cache, and then finished as the result of any product in
 * bf16 is (vec_block.h): rounded once, or handed to the optimizer's step.
 *
 * For `auto` where a table of choices says "f32": on CPUs, or for shapes, where instructions on bf16 numbers do not pay
 * for the packing that they need. Bits depend on neither the number of threads nor how the result is cut into strips.
 */
#ifndef MR_KERNELS_F32_INSIDE_H
#define MR_KERNELS_F32_INSIDE_H

#include "nn/recorder.h"

typedef struct mr_f32_inside mr_f32_inside;

/** The scratch of a context with @n_threads. Errors: MR_ERESOURCE. */
mr_status mr_f32_inside_create(uint32_t n_threads, mr_f32_inside **out) MR_MUST_USE;
void mr_f32_inside_destroy(mr_f32_inside *f); /* accepts NULL */
size_t mr_f32_inside_bytes(const mr_f32_inside *f);

/** Is there a kernel for this product? */
bool mr_f32_inside_has(const mr_gemm *g);

/** The operations of mr_kernels, in a context of the backend `auto` in bf16, for which mr_f32_inside_has said yes. */
mr_status mr_f32_inside_gemm(mr_kctx *kc, const mr_gemm_args *o) MR_MUST_USE;
mr_status mr_f32_inside_gemm_sum(mr_kctx *kc, const mr_gemm_sum_args *o) MR_MUST_USE;
mr_status mr_f32_inside_gemm_step_rows(mr_kctx *kc, const mr_gemm_step_rows_args *o) MR_MUST_USE;

#endif
