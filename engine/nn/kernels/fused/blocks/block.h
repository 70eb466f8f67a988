/*
 * block.h - one block of a product of bf16 numbers: 32 rows and 32 columns of C, computed from packed operands by the
 * instructions of the CPU at hand.
 *
 *	C[32][32] f32 (+)= A[rows][2 pairs] B[2 pairs][32]
 *
 * A 32-bit word is a pair: two bf16 numbers that are adjacent along k, the first in the lower half.
 *
 *	A	rows of pairs, @a_pitch pairs apart: bf16 numbers in row-major order have this format. There are @rows
 *		of them, 1 to 32; the other rows of C are undefined
 *	B	a panel [pairs][32]: rows 2p and 2p + 1 of B side by side, column by column; missing columns are 0
 *	pairs	a multiple of the engine's `pairs`, at most 16; elements beyond the end of k are 0 in A and in B
 *
 * With @add the sums begin at the previous C, otherwise at 0. Each element of C is one chain in ascending k, in groups
 * of the engine's `pairs`. So two calls of which one continues the other give the same bits as a single call, and the
 * bits depend neither on the block's place nor on its neighbours nor on @rows.
 */
#ifndef MR_KERNELS_BLOCK_H
#define MR_KERNELS_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { MR_BLOCK = 32 }; /* its rows and columns */

/** @a: 4-byte aligned; @b and @c: 64-byte aligned. @c is [32][32]. */
typedef void mr_block_fn(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint32_t *b, int64_t pairs, bool add,
			 float *c);

/** The same with B as it is stored, [2 pairs][32], whose rows are @b_pitch numbers apart. */
typedef void mr_block_stored_fn(const uint32_t *a, int64_t a_pitch, int64_t rows, const uint16_t *b, int64_t b_pitch,
				int64_t pairs, bool add, float *c);

#endif
