/*
 * onednn_matmul.c - matrix products by the matmul primitive.
 *
 * All matrices are plain row-major; a transpose is a pair of strides. Bias is fused, `add` is a sum post-op. A and B
 * may be in bf16: sums and bias are still f32, and so is C unless it is to be rounded. The caller applies activations:
 * the library's ReLU turns NaN into 0.
 */
#include "nn/kernels/onednn/onednn_context.h"

#include <string.h>

enum { TA = 1, TB = 2, ADD = 4, BIAS = 8, BF16 = 16, ADDEND = 32, GELU = 64, ROUNDED = 128 };

static dnnl_status_t matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg a, md_arg b, md_arg bias,
			       md_arg c, dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_matmul_primitive_desc_create(pd, engine, a, b, bias, c, attr);
#else
	dnnl_matmul_desc_t desc;
	dnnl_status_t st = dnnl_matmul_desc_init(&desc, a, b, bias, c);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
#endif
}

static mr_status matmul_build(mr_onednn *d, onednn_primitive *p)
{
	bool ta = p->flags & TA, tb = p->flags & TB, bias = p->flags & BIAS;
	dnnl_data_type_t type = p->flags & BF16 ? dnnl_bf16 : dnnl_f32;
	md_t a, b, c, row;
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	mr_status st;

	memset(&a, 0, sizeof(a)), memset(&b, 0, sizeof(b)), memset(&c, 0, sizeof(c)), memset(&row, 0, sizeof(row));
	st = mr_onednn_md_matrix_of(&a, type, p->m, p->k, ta ? 1 : p->k, ta ? p->m : 1);
	if (st == MR_OK)
		st = mr_onednn_md_matrix_of(&b, type, p->k, p->n, tb ? 1 : p->n, tb ? p->k : 1);
	if (st == MR_OK)
		st = mr_onednn_md_matrix_of(&c, p->flags & ROUNDED ? dnnl_bf16 : dnnl_f32, p->m, p->n, p->n, 1);
	if (st == MR_OK && bias)
		st = mr_onednn_md_matrix(&row, 1, p->n, p->n, 1);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){.add = p->flags & ADD,
						       .addend = p->flags & ADDEND ? mr_onednn_md(&c) : NULL,
						       .gelu = p->flags & GELU},
				    &attr);
	if (st == MR_OK)
		st = mr_onednn_check(matmul_pd(&pd, d->engine, mr_onednn_md(&a), mr_onednn_md(&b),
					       bias ? mr_onednn_md(&row) : NULL, mr_onednn_md(&c), attr),
				     "matmul description");
	if (st == MR_OK) {
		onednn_arg arg[5] = {{DNNL_ARG_SRC, mr_onednn_md(&a)}, {DNNL_ARG_WEIGHTS, mr_onednn_md(&b)},
				     {DNNL_ARG_DST, mr_onednn_md(&c)}};
		uint32_t n = 3;

		if (bias)
			arg[n++] = (onednn_arg){DNNL_ARG_BIAS, mr_onednn_md(&row)};
		if (p->flags & ADDEND)
			arg[n++] = (onednn_arg){ONEDNN_ADDEND, mr_onednn_md(&c)};
		st = mr_onednn_finish(d, p, pd, arg, n);
	}
	mr_onednn_md_free(&a), mr_onednn_md_free(&b), mr_onednn_md_free(&c), mr_onednn_md_free(&row);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	return st == MR_OK
		       ? st
		       : mr_fail_in(st, "gemm m=%lld n=%lld k=%lld", (long long)p->m, (long long)p->n, (long long)p->k);
}

static mr_status run(mr_onednn *d, const mr_gemm *g, uint32_t type, const void *const *data)
{
	onednn_primitive key = {.m = g->m, .n = g->n, .k = g->k,
				.flags = ONEDNN_MATMUL | type | (g->ta ? TA : 0u) | (g->tb ? TB : 0u) |
					 (g->add ? ADD : 0u) | (g->bias ? BIAS : 0u) | (g->addend ? ADDEND : 0u) |
					 (g->act == MR_ACT_GELU ? GELU : 0u)};

	return mr_onednn_run(d, &key, matmul_build, data);
}

mr_status mr_onednn_gemm(mr_onednn *d, const mr_gemm *g, const float *a, const float *b, const float *bias, float *c)
{
	return run(d, g, 0, (const void *[]){a, b, c, g->bias ? bias : g->addend, g->addend});
}

/* @g without the operations that the caller executes. */
static mr_gemm product_of(const mr_gemm *g)
{
	mr_gemm product = *g;

	product.act = MR_ACT_NONE;
	product.addend = NULL;
	return product;
}

mr_status mr_onednn_gemm_bf16(mr_onednn *d, const mr_gemm *g, const uint16_t *a, const uint16_t *b, const float *bias,
			      float *c)
{
	mr_gemm product = product_of(g);

	return run(d, &product, BF16, (const void *[]){a, b, c, bias});
}

mr_status mr_onednn_gemm_rounded(mr_onednn *d, const mr_gemm *g, const uint16_t *a, const uint16_t *b, uint16_t *c)
{
	mr_gemm product = product_of(g);

	return run(d, &product, BF16 | ROUNDED, (const void *[]){a, b, c, NULL});
}
