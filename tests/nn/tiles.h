/*
 * tiles.h - the tile instructions that engine/nn/kernels/fused/blocks/block_amx.c uses, carried out in C as the
 * manual's pseudo-code has them, with the CPU's own scalar instructions under DAZ and FTZ. What the CPU would refuse
 * fails the test. The state is one a thread, as the CPU's is.
 */
#ifndef MR_TESTS_NN_TILES_H
#define MR_TESTS_NN_TILES_H

#if defined(MR_DNNL) && defined(__x86_64__)
#include <stddef.h>
#include <stdint.h>

#include "nn/kernels/fused/blocks/block_engine.h"

/* block_amx.c, compiled for these. */
extern const mr_block_engine tiles_block;

typedef struct tiles_counts {
	unsigned configs, releases, products;
} tiles_counts;

extern _Thread_local tiles_counts tiles_counted;

void tiles_loadconfig(const void *config);
void tiles_release(void);
void tiles_loadd(int tile, const void *base, int64_t stride);
void tiles_stored(int tile, void *base, int64_t stride);
void tiles_zero(int tile);
void tiles_dpbf16ps(int dst, int src1, int src2);
#endif

#endif
