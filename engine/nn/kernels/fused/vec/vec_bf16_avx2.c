/* The kernels on activations in bf16 with 8 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake sets the flags for clang */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"
typedef uint16_t act_t;
#define OPS mr_vec_ops_bf16_avx2
#include "nn/kernels/fused/vec/vec_ops.inc"
#endif
