/* The kernels on activations in bf16 with 8 lanes on Arm. */
#if defined(MR_DNNL) && defined(__aarch64__)
#include "nn/kernels/fused/vec/vec_neon.h"
#include "nn/kernels/fused/vec/vec_lanes_neon.inc"
typedef uint16_t act_t;
#define OPS mr_vec_ops_bf16_neon
#include "nn/kernels/fused/vec/vec_ops.inc"
#endif
