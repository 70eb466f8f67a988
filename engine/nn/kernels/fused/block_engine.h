/*
 * block_engine.h - by which instructions the blocks of products of bf16 numbers are computed (block.h).
 *
 *	avx512   vdpbf16ps
 */
#ifndef MR_KERNELS_BLOCK_ENGINE_H
#define MR_KERNELS_BLOCK_ENGINE_H

#include "nn/kernels/fused/block.h"

typedef struct mr_block_engine {
	const char *name;
	mr_block_fn *block;
	void (*release)(void); /* each thread calls it after its last block of a product; NULL: nothing to do */
	int64_t pairs;         /* k is padded to a multiple of so many: a power of two, at most 16 */
} mr_block_engine;

mr_block_fn mr_block_avx512;

/** The engine of contexts that are made now. NULL: none, and *@why says why. Static storage. */
const mr_block_engine *mr_block_engine_find(const char **why);

#endif
