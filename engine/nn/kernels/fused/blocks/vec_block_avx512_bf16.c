/* The kernels of vec_block_all.inc for CPUs with an instruction that rounds to bf16. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake sets the flags for clang */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/blocks/vec_block_lanes_avx512.inc"
#define BLOCKS mr_vec_blocks_avx512_bf16
#include "nn/kernels/fused/blocks/vec_block_all.inc"
#endif
