/* The matrix products with 8 lanes on Arm. The other kernels are in vec_neon.c. */
#if defined(MR_DNNL) && defined(__aarch64__)
#include "nn/kernels/fused/vec/vec_neon.h"
#include "nn/kernels/fused/vec/vec_lanes_neon.inc"
#define PANELS mr_vec_panels_neon
#define GROUPS mr_vec_groups_neon
#define STRIPS mr_vec_strips_neon
#define TALL mr_vec_tall_neon
#include "nn/kernels/fused/gemm/vec_gemm_all.inc"
#endif
