/*
 * block_engine.h - selects the instructions that compute blocks of products of bf16 numbers (block.h).
 *
 *	amx           tiles: for each 16 pairs a running sum of the lower and one of the upper numbers, then both
 *	avx512_bf16   vdpbf16ps
 *	f32           multiply-adds of the numbers, widened (vec_block.h)
 *	model         the bits of amx, in C: for tests
 *
 * The first engine is used that the CPU supports, ONEDNN_MAX_CPU_ISA allows and, for amx, the operating system permits.
 * The variable MR_BF16_ENGINE can name another one.
 */
#ifndef MR_KERNELS_BLOCK_ENGINE_H
#define MR_KERNELS_BLOCK_ENGINE_H

#include "nn/kernels/fused/blocks/block.h"

typedef struct mr_block_engine {
	const char *name;
	mr_block_fn *block;
	void (*release)(void); /* each thread calls it after its last block of a product; NULL: nothing to do */
	int64_t pairs;         /* k is padded to a multiple of this number of pairs: a power of two, at most 16 */
	mr_block_stored_fn *stored; /* NULL: B is always packed; else `pairs` is 1 */
	mr_block_fn *turned, *turned_half; /* with A read where it is stored, and with B's first 16 columns only */
	int64_t turned_least, turned_most; /* rows of dz for which dz W^T is computed with W in the place of A */
	int64_t kept_most;     /* rows of A up to which panels of B that are kept from product to product pay */
} mr_block_engine;

mr_block_fn mr_block_amx, mr_block_amx_turned, mr_block_amx_turned_half, mr_block_model;
mr_block_fn mr_block_avx512, mr_block_avx512_turned, mr_block_avx512_turned_half;
mr_block_stored_fn mr_block_avx512_stored;
void mr_block_amx_release(void);

/** Returns the engine for new contexts; f32 is returned without its function, which depends on the CPU's vectors. NULL:
 * the named engine cannot be used, and *@why says why. Otherwise *@why says why it is not amx; NULL: it is amx, or it
 * was selected by name. Static storage. */
const mr_block_engine *mr_block_engine_find(const char **why);

#endif
