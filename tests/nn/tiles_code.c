/* tiles_code.c - block_amx.c for the instructions of tiles.h: the loads, strides, rows and order that tests see here
 * are those that a CPU with AMX carries out. */
#if defined(MR_DNNL) && defined(__x86_64__)
#include <immintrin.h>

#include "tiles.h"

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadd tiles_loadd
#define _tile_stored tiles_stored
#define _tile_zero tiles_zero
#define _tile_dpbf16ps tiles_dpbf16ps
#define _tile_loadconfig tiles_loadconfig
#define _tile_release tiles_release
#define mr_block_amx tiles_run
#define mr_block_amx_turned tiles_turned
#define mr_block_amx_turned_half tiles_turned_half
#define mr_block_amx_release tiles_leave
mr_block_fn tiles_run, tiles_turned, tiles_turned_half;
void tiles_leave(void);
#include "../../engine/nn/kernels/fused/blocks/block_amx.c"

const mr_block_engine tiles_block = {.name = "tiles", .block = tiles_run, .release = tiles_leave, .pairs = 16,
				     .turned = tiles_turned, .turned_half = tiles_turned_half, .turned_least = 1,
				     .turned_most = 96};
#endif
