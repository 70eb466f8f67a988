/*
 * fused_bf16.c - the backends `fused` and `auto` in bf16 and bf16_pure: products_bf16.h computes products, steps and
 * averages, in `auto` chosen_bf16.h the products, gradients_bf16.h the other gradients of bf16_pure, and fused.c
 * everything else with the kernels that read and write bf16 (vec.h). The context is the one of f32.
 */
#include "nn/choices.h"
#include "nn/kernels/backend.h"
#include "nn/kernels/fused/chosen_bf16.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/gradients_bf16.h"
#include "nn/kernels/fused/products_bf16.h"

#define OF_ctx_create mr_fused_ctx_create
#define OF_ctx_destroy mr_fused_ctx_destroy
#define OF_ctx_bytes mr_fused_ctx_bytes
#define OF_ctx_status mr_fused_ctx_status
#define OF_gemm mr_bf16_gemm
#define OF_colsum mr_fused_colsum
#define OF_act mr_fused_act
#define OF_act_backward mr_fused_act_backward
#define OF_norm mr_fused_norm
#define OF_norm_backward_input mr_fused_norm_backward_input
#define OF_norm_backward_weight mr_fused_norm_backward_weight
#define OF_norm_backward mr_fused_norm_backward
#define OF_attn_saved mr_fused_attn_saved
#define OF_attn_scratch_bytes mr_fused_attn_scratch_bytes
#define OF_attn mr_fused_attn
#define OF_attn_backward mr_fused_attn_backward
#define OF_rope mr_fused_rope
#define OF_rope_backward mr_fused_rope_backward
#define OF_swiglu mr_fused_swiglu
#define OF_swiglu_backward mr_fused_swiglu_backward
#define OF_gelu_erf mr_fused_gelu_erf
#define OF_gelu_erf_backward mr_fused_gelu_erf_backward
#define OF_cell mr_fused_cell
#define OF_cell_backward mr_fused_cell_backward
#define OF_embed mr_fused_embed
#define OF_embed_backward mr_fused_embed_backward
#define OF_conv mr_bf16_conv
#define OF_conv_backward_input mr_bf16_conv_backward_input
#define OF_conv_backward_weight mr_bf16_conv_backward_weight
#define OF_conv_step mr_bf16_conv_step
#define OF_lrn mr_fused_lrn
#define OF_lrn_backward mr_fused_lrn_backward
#define OF_pool mr_fused_pool
#define OF_pool_backward mr_fused_pool_backward
#define OF_batch_norm mr_fused_batch_norm
#define OF_batch_norm_backward mr_fused_batch_norm_backward
#define OF_sum mr_fused_sum
#define OF_sum_relu mr_fused_sum_relu
#define OF_sum_gradients mr_fused_sum_gradients
#define OF_dropout mr_fused_dropout
#define OF_xent mr_fused_xent
#define OF_mse mr_fused_mse
#define OF_sumsq mr_fused_sumsq
#define OF_ranges mr_fused_ranges
#define OF_mix mr_bf16_mix
#define OF_step mr_bf16_step
#define OF_gemm_step mr_bf16_gemm_step
#define OF_gemm_sum mr_bf16_gemm_sum
#define OF_gemm_step_rows mr_bf16_gemm_step_rows

const mr_kernels mr_kernels_fused_bf16 = {
	.name = "fused",
	.dtype = MR_BF16,
	.types = MR_TYPES_BF16,
	.gelu_aux = "slope of GELU",
	.executor = mr_bf16_executor,
#define MR_KERNEL_PART(type, id, args) .id = OF_##id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = OF_##id,
#include "nn/kernels.def"
};

#undef OF_gemm
#undef OF_gemm_step
#undef OF_gemm_sum
#undef OF_gemm_step_rows
#define OF_gemm mr_chosen_bf16_gemm
#define OF_gemm_step mr_chosen_bf16_gemm_step
#define OF_gemm_sum mr_chosen_bf16_gemm_sum
#define OF_gemm_step_rows mr_chosen_bf16_gemm_step_rows

const mr_kernels mr_kernels_auto_bf16 = {
	.name = "auto",
	.dtype = MR_BF16,
	.types = MR_TYPES_BF16,
	.gelu_aux = "slope of GELU",
	.choices = &mr_choices_built_in,
	.executor = mr_chosen_bf16_executor,
#define MR_KERNEL_PART(type, id, args) .id = OF_##id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = OF_##id,
#include "nn/kernels.def"
};

#undef OF_gemm
#undef OF_gemm_step
#undef OF_gemm_sum
#undef OF_gemm_step_rows
#define OF_gemm mr_bf16_gemm
#define OF_gemm_step mr_bf16_gemm_step
#define OF_gemm_sum mr_bf16_gemm_sum
#define OF_gemm_step_rows mr_bf16_gemm_step_rows

#undef OF_colsum
#undef OF_norm_backward_weight
#undef OF_norm_backward
#undef OF_batch_norm_backward
#undef OF_embed_backward
#undef OF_conv_backward_weight
#undef OF_conv_step
#undef OF_sum_gradients
#undef OF_sumsq
#define OF_colsum mr_pure_colsum
#define OF_norm_backward_weight mr_pure_norm_backward_weight
#define OF_norm_backward mr_pure_norm_backward
#define OF_batch_norm_backward mr_pure_batch_norm_backward
#define OF_embed_backward mr_pure_embed_backward
#define OF_conv_backward_weight mr_pure_conv_backward_weight
#define OF_conv_step mr_pure_conv_step
#define OF_sum_gradients mr_fused_sum
#define OF_sumsq mr_pure_sumsq

const mr_kernels mr_kernels_fused_bf16_pure = {
	.name = "fused",
	.dtype = MR_BF16,
	.types = MR_TYPES_BF16_PURE,
	.gelu_aux = "slope of GELU",
	.executor = mr_bf16_executor,
#define MR_KERNEL_PART(type, id, args) .id = OF_##id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = OF_##id,
#include "nn/kernels.def"
};

const mr_kernels mr_kernels_auto_bf16_pure = {
	.name = "auto",
	.dtype = MR_BF16,
	.types = MR_TYPES_BF16_PURE,
	.gelu_aux = "slope of GELU",
	.choices = &mr_choices_built_in,
	.executor = mr_bf16_executor,
#define MR_KERNEL_PART(type, id, args) .id = OF_##id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = OF_##id,
#include "nn/kernels.def"
};
