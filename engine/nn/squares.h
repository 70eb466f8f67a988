/*
 * squares.h - the sum of squares of a long tensor by all threads of a context, in f64: the norm of a gradient.
 *
 * A tensor is cut into blocks of MR_SQUARES_BLOCK numbers. One thread adds up a block in the order of mr_kernels.sumsq,
 * and blocks are added in ascending order; so the bits depend on the tensor alone, not on threads, nor on which worker
 * adds up which blocks. A tensor of one block has the bits of mr_kernels.sumsq.
 */
#ifndef MR_NN_SQUARES_H
#define MR_NN_SQUARES_H

#include "nn/kernels.h"

#define MR_SQUARES_BLOCK 32768

/** Blocks of a tensor of @n numbers; the last may be shorter. */
static inline int64_t mr_squares_n_blocks(int64_t n)
{
	return (n + MR_SQUARES_BLOCK - 1) / MR_SQUARES_BLOCK;
}

/** The sums of the blocks of @x, a tensor of @n gradients, into @out [mr_squares_n_blocks(@n)]. */
mr_status mr_squares_blocks(const mr_kernels *k, mr_kctx *kc, int64_t n, const void *x, double *out) MR_MUST_USE;

/** The sum of them all. */
mr_status mr_squares(const mr_kernels *k, mr_kctx *kc, int64_t n, const void *x, double *sum) MR_MUST_USE;

#endif
