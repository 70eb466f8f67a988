/* Convolutions by Winograd's algorithm of images in bf16 with 8 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"
typedef uint16_t act_t;
#define WINOGRADS mr_vec_winograds_bf16_avx2
#include "nn/kernels/fused/images/vec_winograd.inc"
#endif
