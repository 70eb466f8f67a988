/*
 * fused_bf16.c - the backends `fused` and `auto` in bf16: products, steps and averages of their own (products_bf16.h),
 * the rest as in f32, on numbers that are widened and rounded (nn/kernels/bf16.inc).
 */
#include "nn/choices.h"
#include "nn/kernels/fused/products_bf16.h"

#define BASE mr_kernels_fused_f32
#define SAVES_PROBABILITIES false
#define OWN_PRODUCTS
#include "nn/kernels/bf16.inc"

static mr_status gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c, void *aux)
{
	MR_TRY(check(kc));
	return mr_bf16_gemm(kc->base, g, a, b, bias, c, aux);
}

static mr_status gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s)
{
	return mr_bf16_gemm_step(kc->base, g, a, b, c, s);
}

static mr_status gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
			  void *c, const mr_step *s)
{
	return mr_bf16_gemm_sum(kc->base, g, n, a, b, c, s);
}

static mr_status gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s,
				const mr_gemm_rows *r)
{
	return mr_bf16_gemm_step_rows(kc->base, g, a, b, c, s, r);
}

static void step(mr_kctx *kc, int64_t n, const mr_step *s, const void *g)
{
	mr_bf16_step(kc->base, n, s, g);
}

static void mix(mr_kctx *kc, int64_t n, const mr_averaging *m)
{
	mr_bf16_mix(kc->base, n, m);
}

const mr_kernels mr_kernels_fused_bf16 = {
	.name = "fused",
	.dtype = MR_BF16,
	.types = MR_TYPES_BF16,
	.gelu_aux = "slope of GELU",
	.executor = mr_bf16_executor,
#define MR_KERNEL_PART(type, id, args) .id = id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = id,
#include "nn/kernels.def"
};

const mr_kernels mr_kernels_auto_bf16 = {
	.name = "auto",
	.dtype = MR_BF16,
	.types = MR_TYPES_BF16,
	.gelu_aux = "slope of GELU",
	.choices = &mr_choices_built_in,
	.executor = mr_bf16_executor,
#define MR_KERNEL_PART(type, id, args) .id = id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = id,
#include "nn/kernels.def"
};
