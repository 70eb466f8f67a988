/* The vector kernels with 8 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"
#define TABLE mr_vec_avx2
#define ORDERS &mr_vec_panels_avx2, &mr_vec_groups_avx2, &mr_vec_strips_avx2, &mr_vec_tall_avx2
#include "nn/kernels/fused/vec/vec_all.inc"
#endif
