/* vec_neon.h - the tables of vec.h, vec_block.h and winograd.h for aarch64, whose every CPU has NEON. */
#ifndef MR_NN_KERNELS_FUSED_VEC_NEON_H
#define MR_NN_KERNELS_FUSED_VEC_NEON_H

#include "nn/kernels/fused/vec/vec.h"
#include "nn/kernels/fused/blocks/vec_block.h"
#include "nn/kernels/fused/images/winograd.h"

MR_VEC_ORDERS(neon);
extern const mr_vec mr_vec_neon;
extern const mr_vec_ops mr_vec_ops_bf16_neon;
extern const mr_vec_blocks mr_vec_blocks_neon;
extern const mr_vec_winograds mr_vec_winograds_neon, mr_vec_winograds_bf16_neon;

#endif
