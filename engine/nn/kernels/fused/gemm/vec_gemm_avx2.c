/* The matrix products with 8 lanes. They take most of the compiler's time; the other kernels are in vec_avx2.c. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"
#define PRODUCTS mr_vec_products_avx2
#include "nn/kernels/fused/gemm/vec_gemm_all.inc"
#endif
