#include "nn/kernels/fused/blocks/chosen_bf16.h"

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/blocks/f32_inside.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/blocks/products_bf16.h"

static bool in_f32(const mr_chosen *c, const mr_gemm *g)
{
	return mr_chosen_gemm_by(c, g) == MR_CHOICE_F32 && mr_f32_inside_has(g);
}

mr_status mr_chosen_bf16_gemm(mr_kctx *kc, const mr_gemm_args *o)
{
	return (in_f32(&kc->chosen, o->g) ? mr_f32_inside_gemm : mr_bf16_gemm)(kc, o);
}

mr_status mr_chosen_bf16_gemm_sum(mr_kctx *kc, const mr_gemm_sum_args *o)
{
	return (in_f32(&kc->chosen, o->g) ? mr_f32_inside_gemm_sum : mr_bf16_gemm_sum)(kc, o);
}

mr_status mr_chosen_bf16_gemm_step(mr_kctx *kc, const mr_gemm_step_args *o)
{
	return mr_chosen_bf16_gemm_sum(
		kc, &(mr_gemm_sum_args){.g = o->g, .n = 1, .a = &o->a, .b = &o->b, .c = o->c, .s = o->s});
}

mr_status mr_chosen_bf16_gemm_step_rows(mr_kctx *kc, const mr_gemm_step_rows_args *o)
{
	return (in_f32(&kc->chosen, o->g) ? mr_f32_inside_gemm_step_rows : mr_bf16_gemm_step_rows)(kc, o);
}

mr_kernel_by mr_chosen_bf16_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	mr_chosen chosen;

	mr_choices_select(k->choices, mr_kernels_fused_isa(MR_BF16), MR_BF16, n_threads, &chosen);
	return c->is_gemm && in_f32(&chosen, &c->gemm) ? MR_BY_F32 : mr_bf16_executor(k, n_threads, c);
}
