/*
 * block_engine.h - by which instructions the blocks of products of bf16 numbers are computed (block.h).
 *
 *	amx           tiles: for each 16 pairs a running sum of the lower and one of the upper numbers, then both
 *	avx512_bf16   vdpbf16ps
 *	f32           multiply-adds of the numbers, widened (vec_block.h)
 *	model         the bits of amx, in C: for tests
 *
 * The first that the CPU has, that ONEDNN_MAX_CPU_ISA allows and, of amx, that the operating system permits; or the one
 * that the variable MR_BF16_ENGINE names.
 */
#ifndef MR_KERNELS_BLOCK_ENGINE_H
#define MR_KERNELS_BLOCK_ENGINE_H

#include "nn/kernels/fused/block.h"

typedef struct mr_block_engine {
	const char *name;
	mr_block_fn *block;
	void (*release)(void); /* each thread calls it after its last block of a product; NULL: nothing to do */
	int64_t pairs;         /* k is padded to a multiple of this number of pairs: a power of two, at most 16 */
} mr_block_engine;

mr_block_fn mr_block_amx, mr_block_avx512, mr_block_model;
void mr_block_amx_release(void);

/** The engine of contexts that are made now; of f32 without its function, which depends on the CPU's vectors. NULL:
 * there is none of the name that was asked for, and *@why says why. Else *@why says why it is not amx; NULL: it is, or
 * was asked for by name. Static storage. */
const mr_block_engine *mr_block_engine_find(const char **why);

#endif
