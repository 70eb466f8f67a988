/* Convolutions by Winograd's algorithm with 8 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"
typedef float act_t;
#define WINOGRADS mr_vec_winograds_avx2
#include "nn/kernels/fused/images/vec_winograd.inc"
#endif
