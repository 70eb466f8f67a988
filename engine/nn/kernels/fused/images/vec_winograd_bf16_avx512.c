/* Convolutions by Winograd's algorithm of images in bf16 with 16 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx512.inc"
typedef uint16_t act_t;
#define WINOGRADS mr_vec_winograds_bf16_avx512
#include "nn/kernels/fused/images/vec_winograd.inc"
#endif
