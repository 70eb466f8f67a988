/*
 * columns.h - convolutions of bf16 images as products (block_gemm.h): what a window sees is a row of A, which is read
 * from the images while it is packed.
 *
 *	y  = A W             a row for each output, a column for each position of the window and channel
 *	dw = A^T dy
 *	dx = sum over positions p of A_p W_p^T      a row of A_p is the output that sees the pixel at p
 *
 * With strides the pixels fall into classes, each of which is seen at other positions: a product each.
 *
 * Sums are rounded once. Bits depend on the shape and the engine alone, as those of other products. Zeros stand for the
 * padding, so an infinite weight gives NaN where the window reaches it.
 */
#ifndef MR_KERNELS_COLUMNS_H
#define MR_KERNELS_COLUMNS_H

#include "nn/kernels/fused/fused.h"

/** Is this pass computed here? @engine: as mr_winograd_takes_bf16's; it does so by tiles alone (amx, model). */
bool mr_columns_takes(const mr_conv *g, const char *engine, mr_conv_pass pass);

/** The operations of these names on bf16 images, where mr_columns_takes; sums of gradients of weights, one product, are
 * in f32, and @step may consume them in place of @o->s. Errors: MR_ERESOURCE. */
mr_status mr_columns_conv(mr_kctx *kc, const mr_conv_args *o) MR_MUST_USE;
mr_status mr_columns_backward_input(mr_kctx *kc, const mr_conv_backward_input_args *o) MR_MUST_USE;
mr_status mr_columns_sum(mr_kctx *kc, const mr_conv_sum_args *o, const mr_block_step *step) MR_MUST_USE;

#endif
