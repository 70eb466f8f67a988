/* What products of bf16 numbers need besides their blocks, with 16 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/blocks/vec_block_lanes_avx512.inc"
#define BLOCKS mr_vec_blocks_avx512
#include "nn/kernels/fused/blocks/vec_block_all.inc"
#endif
