/*
 * block.h - one block of a product of bf16 numbers: 32 rows and 32 columns of C, computed from packed operands by the
 * instructions of the CPU at hand.
 *
 *	C[32][32] f32 (+)= A[rows][2 pairs] B[2 pairs][32]
 *
 * A number of 32 bits is a pair: two bf16 numbers that follow each other along k, the first in the lower half.
 *
 *	A	rows of pairs, @a_pitch pairs apart: bf16 numbers in row-major order are that already. @rows of them are
 *		there, 1 to 32; what C gets in its other rows has no meaning
 *	B	a panel [pairs][32]: rows 2p and 2p + 1 of B side by side, column by column; missing columns are 0
 *	pairs	a multiple of what the engine asks for, at most 16; what lies beyond the end of k is 0 in A and in B
 *
 * With @add the sums begin at what is in C, otherwise at 0. Each element of C is one chain in ascending k, in groups of
 * the pairs that the engine asks for; so two calls of which one continues the other give the bits of a single one, and
 * neither the block's place nor its neighbours nor @rows change a bit.
 */
#ifndef MR_KERNELS_BLOCK_H
#define MR_KERNELS_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { MR_BLOCK = 32 }; /* its rows and columns */

/** @a: 4-byte aligned; @b and @c: 64-byte aligned. @c is [32][32]. */
typedef void mr_block_fn(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
			 float *c);

#endif
