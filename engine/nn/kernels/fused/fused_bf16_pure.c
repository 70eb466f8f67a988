/* The backend `fused` in bf16_pure: as in f32, on numbers that are widened and rounded. */
#define BASE mr_kernels_fused_f32
#define BACKEND "fused"
#define PURE_TABLE mr_kernels_fused_bf16_pure
#define GELU_AUX "slope of GELU"
#define SAVES_PROBABILITIES false
#include "nn/kernels/bf16.inc"
