#include "nn/kernels/fused/chosen_bf16.h"

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/f32_inside.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/products_bf16.h"

static bool in_f32(const mr_chosen *c, const mr_gemm *g)
{
	return mr_chosen_gemm_by(c, g) == MR_CHOICE_F32 && mr_f32_inside_has(g);
}

mr_status mr_chosen_bf16_gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c,
			      void *aux)
{
	return (in_f32(&kc->chosen, g) ? mr_f32_inside_gemm : mr_bf16_gemm)(kc, g, a, b, bias, c, aux);
}

mr_status mr_chosen_bf16_gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a,
				  const void *const *b, void *c, const mr_step *s)
{
	return (in_f32(&kc->chosen, g) ? mr_f32_inside_gemm_sum : mr_bf16_gemm_sum)(kc, g, n, a, b, c, s);
}

mr_status mr_chosen_bf16_gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c,
				   const mr_step *s)
{
	return mr_chosen_bf16_gemm_sum(kc, g, 1, &a, &b, c, s);
}

mr_status mr_chosen_bf16_gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c,
					const mr_step *s, const mr_gemm_rows *r)
{
	return (in_f32(&kc->chosen, g) ? mr_f32_inside_gemm_step_rows : mr_bf16_gemm_step_rows)(kc, g, a, b, c, s, r);
}

mr_kernel_by mr_chosen_bf16_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	mr_chosen chosen;

	mr_choices_select(k->choices, mr_kernels_fused_isa(MR_BF16), MR_BF16, n_threads, &chosen);
	return c->is_gemm && in_f32(&chosen, &c->gemm) ? MR_BY_F32 : mr_bf16_executor(k, n_threads, c);
}
