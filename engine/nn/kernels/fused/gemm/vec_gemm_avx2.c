/* The matrix products with 8 lanes. The other kernels are in vec_avx2.c. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"
#define PANELS mr_vec_panels_avx2
#define GROUPS mr_vec_groups_avx2
#define STRIPS mr_vec_strips_avx2
#define TALL mr_vec_tall_avx2
#include "nn/kernels/fused/gemm/vec_gemm_all.inc"
#endif
