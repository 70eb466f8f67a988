/* The vector kernels with 16 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx512.inc"
#define TABLE mr_vec_avx512
#define ORDERS \
	&mr_vec_panels_avx512, &mr_vec_groups_avx512, &mr_vec_strips_avx512, &mr_vec_tall_avx512, &mr_vec_packed_avx512
#include "nn/kernels/fused/vec/vec_all.inc"
#endif
