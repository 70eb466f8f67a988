/* The kernels on activations in bf16 with 16 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake sets the flags for clang */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx512.inc"
typedef uint16_t act_t;
#define OPS mr_vec_ops_bf16_avx512
#include "nn/kernels/fused/vec/vec_ops.inc"
#endif
