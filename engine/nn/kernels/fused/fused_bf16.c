/*
 * fused_bf16.c - the backends `fused` and `auto` in bf16 and bf16_pure: products_bf16.h computes products, steps and
 * averages, in `auto` chosen_bf16.h the products, gradients_bf16.h the other gradients of bf16_pure, and fused.c
 * everything else with the kernels that read and write bf16 (vec.h). The context is the one of f32.
 */
#include "nn/choices.h"
#include "nn/kernels/backend.h"
#include "nn/kernels/fused/blocks/chosen_bf16.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/gradients_bf16.h"
#include "nn/kernels/fused/blocks/products_bf16.h"

/* By the column `bf16`. */
#define BF16_SAME(id) mr_fused_##id
#define BF16_PURE(id) mr_fused_##id
#define BF16_OTHER(id) mr_bf16_##id
#define BF16_EACH(id) mr_bf16_##id
#define BF16_PRODUCT(id) mr_bf16_##id

#define AUTO_SAME(id) mr_fused_##id
#define AUTO_PURE(id) mr_fused_##id
#define AUTO_OTHER(id) mr_bf16_##id
#define AUTO_EACH(id) mr_bf16_##id
#define AUTO_PRODUCT(id) mr_chosen_bf16_##id

#define PURE_SAME(id) mr_fused_##id
#define PURE_PURE(id) mr_pure_##id
#define PURE_OTHER(id) mr_bf16_##id
#define PURE_EACH(id) mr_pure_##id
#define PURE_PRODUCT(id) mr_bf16_##id

const mr_kernels mr_kernels_fused_bf16 = {
	.name = "fused",
	.types = MR_TYPES_BF16,
	.refusal = mr_kernels_fused_bf16_refusal,
	.gelu_aux = "slope of GELU",
	.executor = mr_bf16_executor,
	.packed_bytes = mr_bf16_packed_bytes,
	.panel_bytes = mr_bf16_panel_bytes,
	.joins_conv = mr_bf16_joins_conv,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = BF16_##bf16(id),
#include "nn/kernels.def"
};

const mr_kernels mr_kernels_auto_bf16 = {
	.name = "auto",
	.types = MR_TYPES_BF16,
	.refusal = mr_kernels_fused_bf16_refusal,
	.gelu_aux = "slope of GELU",
	.choices = &mr_choices_built_in,
	.executor = mr_chosen_bf16_executor,
	.packed_bytes = mr_bf16_packed_bytes,
	.panel_bytes = mr_bf16_panel_bytes,
	.joins_conv = mr_bf16_joins_conv,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = AUTO_##bf16(id),
#include "nn/kernels.def"
};

const mr_kernels mr_kernels_fused_bf16_pure = {
	.name = "fused",
	.types = MR_TYPES_BF16_PURE,
	.refusal = mr_kernels_fused_bf16_refusal,
	.gelu_aux = "slope of GELU",
	.executor = mr_bf16_executor,
	.packed_bytes = mr_bf16_packed_bytes,
	.panel_bytes = mr_bf16_panel_bytes,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = PURE_##bf16(id),
#include "nn/kernels.def"
};

const mr_kernels mr_kernels_auto_bf16_pure = {
	.name = "auto",
	.types = MR_TYPES_BF16_PURE,
	.refusal = mr_kernels_fused_bf16_refusal,
	.gelu_aux = "slope of GELU",
	.choices = &mr_choices_built_in,
	.executor = mr_bf16_executor,
	.packed_bytes = mr_bf16_packed_bytes,
	.panel_bytes = mr_bf16_panel_bytes,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = PURE_##bf16(id),
#include "nn/kernels.def"
};
