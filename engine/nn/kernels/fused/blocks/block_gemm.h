/*
 * block_gemm.h - products of bf16 numbers in blocks of 32 rows and columns. Several adjacent blocks are finished while
 * they are in L2: stored as activations with their epilogue, stored as a gradient, or consumed by an optimizer's step.
 *
 * Both operands are packed once a call (block.h). Rows or columns of C are cut into units, which threads take
 * dynamically; a thread packs its unit's part of one operand, while all threads pack the other operand beforehand and
 * share it. A long k is processed in rounds, so that a unit's part stays in L2. A gradient is one chain over all
 * rounds, begun at 0 or at the previous gradient; activations are the sum of one chain per round, since a single chain
 * over the 50257 columns of a head would lose digits, and so are gradients in bf16, which are rounded once. Bits depend
 * only on the shape and on the engine.
 *
 * Weights are read where they are stored if there are few rows of activations, by engines that can: x W interleaves
 * two rows of W in registers, and dz W^T is computed as its transpose, with rows of W, which are rows of pairs
 * already, in the place of A. Otherwise they are packed anew for each micro-batch that reads a version, but for all
 * steps of a recurrent layer at once (mr_gemm.packed), and by amx for all micro-batches of few rows that read a version
 * (block_engine.c). To keep the panels of avx512_bf16 made F and I of 32 rows 20 % faster when nothing else ran between
 * them, but whole steps of 6 layers of 1024 with 8 to 64 rows a micro-batch and 2 to 8 of them a step 0 to 5 % slower:
 * there is more to write and to read.
 */
#ifndef MR_KERNELS_BLOCK_GEMM_H
#define MR_KERNELS_BLOCK_GEMM_H

#include "base/status.h"
#include "nn/kernels/fused/blocks/block_engine.h"
#include "nn/kernels/fused/blocks/gather.h"
#include "nn/kernels/fused/blocks/vec_block.h"
#include "nn/kernels/scratch.h"

typedef struct mr_block_gemm {
	const mr_vec_blocks *vec;
	const mr_block_engine *engine;
	int64_t m, n, k;
	bool ta, tb;
	uint32_t pieces;                  /* of A and B, @k each, one after the other */
	const uint16_t *const *as, *const *bs;
	const mr_gather *gather;          /* A is read from images, of @k channels or, with @ta, of m / pieces of A;
					     @as is not read; or NULL */
	uint32_t *packed;                 /* as mr_gemm.packed, in all rounds; NULL: none */
	bool packs, backward;
	mr_block_out out;
} mr_block_gemm;

enum { MR_BLOCK_L2 = 1024 * 1024 }; /* assumed where the size is unknown */

/* The buffers of one context. All members except l2_bytes are initially 0. */
typedef struct mr_block_scratch {
	int64_t l2_bytes;                 /* size of a core's L2 cache */
	mr_scratch shared, own;           /* shared: one operand; own: a unit's part of the other operand and its sums,
					     [n_threads, own_words] */
	mr_scratch carry;                 /* C between rounds, block by block, in floats */
	mr_scratch share;                 /* mr_share [n_threads] */
	size_t own_words;                 /* of this call */
} mr_block_scratch;

/** Bytes of @g->packed; 0: B is read where it is stored, or all threads share it. */
size_t mr_block_packed_bytes(const mr_block_gemm *g);

/** Errors: MR_ERESOURCE, and then nothing was computed. */
mr_status mr_block_gemm_run(const mr_block_gemm *g, uint32_t n_threads, mr_block_scratch *s) MR_MUST_USE;

void mr_block_scratch_fini(mr_block_scratch *s);
size_t mr_block_scratch_bytes(const mr_block_scratch *s);

#endif
