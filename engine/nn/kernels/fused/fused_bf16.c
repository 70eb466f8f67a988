/*
 * fused_bf16.c - the backend `fused` in bf16: as in f32, on numbers that are widened and rounded
 * (nn/kernels/bf16.inc).
 */
#include "nn/kernels/backend.h"

#define BASE mr_kernels_fused_f32
#define BACKEND "fused"
#define TABLE mr_kernels_fused_bf16
#define GELU_AUX "slope of GELU"
#define SAVES_PROBABILITIES false
#include "nn/kernels/bf16.inc"
