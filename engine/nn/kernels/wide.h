/*
 * wide.h - the operands of a call in bf16, for kernels of f32: those of some classes are widened into one buffer, which
 * is exact, the call is made on the buffer, and what it wrote is rounded to the nearest.
 */
#ifndef MR_KERNELS_WIDE_H
#define MR_KERNELS_WIDE_H

#include "nn/kernels/scratch.h"
#include "nn/operation.h"

/** Let the arguments from which the @n operands at @x were taken name buffers of f32 where the bits 1 << class of
 * @classes say so, and widen what the call reads. @base and @kc: a table and its context, whose threads share the
 * work. Errors: MR_ERESOURCE. */
mr_status mr_wide_begin(const mr_kernels *base, mr_kctx *kc, mr_scratch *room, uint32_t classes, const mr_operand *x,
			uint32_t n) MR_MUST_USE;

/** After the call: round what it wrote to the tensors that @x names. */
mr_status mr_wide_end(const mr_kernels *base, mr_kctx *kc, uint32_t classes, const mr_operand *x,
		      uint32_t n) MR_MUST_USE;

/** Widen or round @n numbers; nothing when @from or @to is NULL. */
mr_status mr_widen(const mr_kernels *base, mr_kctx *kc, const void *from, float *to, int64_t n) MR_MUST_USE;
mr_status mr_narrow(const mr_kernels *base, mr_kctx *kc, const float *from, void *to, int64_t n) MR_MUST_USE;

#endif
