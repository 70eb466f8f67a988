/* The vector kernels with 8 lanes on Arm. */
#if defined(MR_DNNL) && defined(__aarch64__)
#include "nn/kernels/fused/vec/vec_neon.h"
#include "nn/kernels/fused/vec/vec_lanes_neon.inc"
#define TABLE mr_vec_neon
#define ORDERS &mr_vec_panels_neon, &mr_vec_groups_neon, &mr_vec_strips_neon, &mr_vec_tall_neon
#include "nn/kernels/fused/vec/vec_all.inc"
#endif
