/*
 * onednn_bf16.c - the backend `onednn` in bf16: oneDNN's matmul computes products of bf16 numbers, accumulating in f32,
 * and its convolution computes convolutions. Everything else runs in f32 on widened numbers, and the results are
 * rounded (nn/kernels/bf16.inc).
 */
#include "nn/kernels/backend.h"
#include "nn/kernels/fused/blocks/products_bf16.h"
#include "nn/kernels/onednn/onednn_primitives.h"

static const char *refusal(void)
{
	const char *why = mr_kernels_fused_refusal();

	return why || mr_onednn_bf16() ? why : "it needs a CPU with avx512_bf16 or AMX; use backend reference";
}

#define BASE mr_kernels_onednn_f32
#define BACKEND "onednn"
#define REFUSAL refusal
#define TABLE mr_kernels_onednn_bf16
#define PURE_TABLE mr_kernels_onednn_bf16_pure
#define GELU_AUX "argument of GELU"
#define SAVES_PROBABILITIES false
#define PRODUCT mr_onednn_product_bf16
#define PRODUCT_ROUNDED mr_onednn_product_rounded
#define CONV mr_bf16_conv
#define CONV_BACKWARD_INPUT mr_bf16_conv_backward_input
#define CONV_BACKWARD_WEIGHT mr_bf16_conv_backward_weight
#include "nn/kernels/bf16.inc"
