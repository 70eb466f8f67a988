/* The backend `fused` in bf16_pure: as in f32, on numbers that are widened and rounded; but for
 * convolutions. */
#define BASE mr_kernels_fused_f32
#define BACKEND "fused"
#define PURE_TABLE mr_kernels_fused_bf16_pure
#define GELU_AUX "slope of GELU"
#define SAVES_PROBABILITIES false
#define CONV mr_bf16_conv
#define CONV_BACKWARD_INPUT mr_bf16_conv_backward_input
#define CONV_BACKWARD_WEIGHT mr_bf16_conv_backward_weight
#include "nn/kernels/bf16.inc"
