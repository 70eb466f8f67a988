/*
 * onednn_rows.c - sums, GELU, layer norm and softmax by oneDNN's binary, eltwise, layer_normalization and softmax
 * primitives.
 */
#include "nn/kernels/onednn/onednn_context.h"

#include <string.h>

enum { BACKWARD = 1 }; /* of a key's flags */

/* --- descriptions, in both interfaces ----------------------------------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t sum_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg row, dnnl_primitive_attr_t attr)
{
	return dnnl_binary_primitive_desc_create(pd, engine, dnnl_binary_add, row, row, row, attr);
}

static dnnl_status_t gelu_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg row, dnnl_primitive_desc_t hint,
			     dnnl_primitive_attr_t attr)
{
	return hint ? dnnl_eltwise_backward_primitive_desc_create(pd, engine, dnnl_eltwise_gelu_tanh, row, row, row, 0,
								  0, hint, attr)
		    : dnnl_eltwise_forward_primitive_desc_create(pd, engine, dnnl_forward_training,
								 dnnl_eltwise_gelu_tanh, row, row, 0, 0, attr);
}

static dnnl_status_t norm_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, md_arg stat, float eps,
			     dnnl_primitive_attr_t attr)
{
	return dnnl_layer_normalization_forward_primitive_desc_create(pd, engine, dnnl_forward_training, x, x, stat,
								      eps, dnnl_use_scale | dnnl_use_shift, attr);
}

static dnnl_status_t norm_backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, md_arg stat,
				      dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	return dnnl_layer_normalization_backward_primitive_desc_create(pd, engine, dnnl_backward, x, x, x, stat, 0,
								       dnnl_use_scale | dnnl_use_shift, hint, attr);
}

static dnnl_status_t softmax_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, dnnl_primitive_attr_t attr)
{
	return dnnl_softmax_forward_primitive_desc_create(pd, engine, dnnl_forward_inference, dnnl_softmax_accurate, x,
							  x, 1, attr);
}

#else

static dnnl_status_t sum_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg row, dnnl_primitive_attr_t attr)
{
	dnnl_binary_desc_t desc;
	dnnl_status_t st = dnnl_binary_desc_init(&desc, dnnl_binary_add, row, row, row);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
}

static dnnl_status_t gelu_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg row, dnnl_primitive_desc_t hint,
			     dnnl_primitive_attr_t attr)
{
	dnnl_eltwise_desc_t desc;
	dnnl_status_t st =
		hint ? dnnl_eltwise_backward_desc_init(&desc, dnnl_eltwise_gelu_tanh, row, row, 0, 0)
		     : dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_training, dnnl_eltwise_gelu_tanh, row, 0, 0);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, hint) : st;
}

static dnnl_status_t norm_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, md_arg stat, float eps,
			     dnnl_primitive_attr_t attr)
{
	dnnl_layer_normalization_desc_t desc;
	dnnl_status_t st = dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_training, x, stat, eps,
								      dnnl_use_scale | dnnl_use_shift);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
}

static dnnl_status_t norm_backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, md_arg stat,
				      dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_layer_normalization_desc_t desc;
	dnnl_status_t st = dnnl_layer_normalization_backward_desc_init(&desc, dnnl_backward, x, x, stat,
								       0, dnnl_use_scale | dnnl_use_shift);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, hint) : st;
}

static dnnl_status_t softmax_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, dnnl_primitive_attr_t attr)
{
	dnnl_softmax_v2_desc_t desc;
	dnnl_status_t st =
		dnnl_softmax_v2_forward_desc_init(&desc, dnnl_forward_inference, dnnl_softmax_accurate, x, x, 1);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
}

#endif

/* --- sum and GELU ------------------------------------------------------------------------------------------------- */

static mr_status sum_of(mr_onednn *d, onednn_primitive *p, md_arg row, dnnl_primitive_attr_t attr,
			dnnl_primitive_desc_t *pd)
{
	const onednn_arg arg[] = {{DNNL_ARG_SRC_0, row}, {DNNL_ARG_SRC_1, row}, {DNNL_ARG_DST, row}};

	MR_TRY(mr_onednn_check(sum_pd(pd, d->engine, row, attr), "binary description"));
	return mr_onednn_finish(d, p, *pd, arg, 3);
}

static mr_status gelu_of(mr_onednn *d, onednn_primitive *p, md_arg row, dnnl_primitive_attr_t attr,
			 dnnl_primitive_desc_t *pd)
{
	const onednn_arg forward[] = {{DNNL_ARG_SRC, row}, {DNNL_ARG_DST, row}};
	const onednn_arg backward[] = {{DNNL_ARG_SRC, row}, {DNNL_ARG_DIFF_DST, row}, {DNNL_ARG_DIFF_SRC, row}};
	dnnl_primitive_desc_t hint;
	dnnl_status_t s;

	MR_TRY(mr_onednn_check(gelu_pd(pd, d->engine, row, NULL, attr), "eltwise description"));
	if (!(p->flags & BACKWARD))
		return mr_onednn_finish(d, p, *pd, forward, 2);
	hint = *pd;
	*pd = NULL;
	s = gelu_pd(pd, d->engine, row, hint, attr);
	(void)dnnl_primitive_desc_destroy(hint);
	MR_TRY(mr_onednn_check(s, "eltwise description"));
	return mr_onednn_finish(d, p, *pd, backward, 3);
}

static mr_status elements_build(mr_onednn *d, onednn_primitive *p)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	mr_status st;
	md_t row;

	memset(&row, 0, sizeof(row));
	st = mr_onednn_md_row(&row, p->n);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = (p->flags & ~(uint32_t)BACKWARD) == ONEDNN_SUM ? sum_of(d, p, mr_onednn_md(&row), attr, &pd)
								     : gelu_of(d, p, mr_onednn_md(&row), attr, &pd);
	mr_onednn_md_free(&row);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	return st == MR_OK ? st : mr_fail_in(st, "%lld numbers", (long long)p->n);
}

mr_status mr_onednn_sum(mr_onednn *d, int64_t n, const float *a, const float *b, float *y)
{
	onednn_primitive key = {.n = n, .flags = ONEDNN_SUM};
	/* the library can work in place only on its first source */
	const void *data[] = {y == b ? b : a, y == b ? a : b, y};

	return mr_onednn_run(d, &key, elements_build, data);
}

mr_status mr_onednn_gelu(mr_onednn *d, int64_t n, const float *z, float *y)
{
	onednn_primitive key = {.n = n, .flags = ONEDNN_GELU};
	const void *data[] = {z, y};

	return mr_onednn_run(d, &key, elements_build, data);
}

mr_status mr_onednn_gelu_backward(mr_onednn *d, int64_t n, const float *z, const float *dy, float *dz)
{
	onednn_primitive key = {.n = n, .flags = ONEDNN_GELU | BACKWARD};
	const void *data[] = {z, dy, dz};

	return mr_onednn_run(d, &key, elements_build, data);
}

/* --- layer norm --------------------------------------------------------------------------------------------------- */

static float eps_of(const onednn_primitive *p)
{
	uint32_t bits = (uint32_t)p->k;
	float eps;

	memcpy(&eps, &bits, sizeof(eps));
	return eps;
}

static mr_status norm_of(mr_onednn *d, onednn_primitive *p, md_arg x, md_arg stat, md_arg row,
			 dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd)
{
	const onednn_arg forward[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, row}, {DNNL_ARG_SHIFT, row},
				      {DNNL_ARG_DST, x}, {DNNL_ARG_MEAN, stat}, {DNNL_ARG_VARIANCE, stat}};
	const onednn_arg backward[] = {
		{DNNL_ARG_SRC, x},	     {DNNL_ARG_SCALE, row}, {DNNL_ARG_MEAN, stat},    {DNNL_ARG_VARIANCE, stat},
		{DNNL_ARG_DIFF_DST, x},	     {DNNL_ARG_DIFF_SRC, x},
		{DNNL_ARG_SHIFT, row}, /* required by the library, but not read */
		{DNNL_ARG_DIFF_SCALE, row}, {DNNL_ARG_DIFF_SHIFT, row},
	};
	const uint32_t n_backward = sizeof(backward) / sizeof(backward[0]);
	dnnl_primitive_desc_t hint;
	dnnl_status_t s;

	MR_TRY(mr_onednn_check(norm_pd(pd, d->engine, x, stat, eps_of(p), attr), "layer_normalization description"));
	if (!(p->flags & BACKWARD))
		return mr_onednn_finish(d, p, *pd, forward, 6);
	hint = *pd;
	*pd = NULL;
	s = norm_backward_pd(pd, d->engine, x, stat, hint, attr);
	(void)dnnl_primitive_desc_destroy(hint);
	MR_TRY(mr_onednn_check(s, "layer_normalization description"));
	return mr_onednn_finish(d, p, *pd, backward, n_backward);
}

static mr_status norm_build(mr_onednn *d, onednn_primitive *p)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	md_t x, stat, row;
	mr_status st;

	memset(&x, 0, sizeof(x)), memset(&stat, 0, sizeof(stat)), memset(&row, 0, sizeof(row));
	st = mr_onednn_md_matrix(&x, p->m, p->n, p->n, 1);
	if (st == MR_OK)
		st = mr_onednn_md_row(&stat, p->m);
	if (st == MR_OK)
		st = mr_onednn_md_row(&row, p->n);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = norm_of(d, p, mr_onednn_md(&x), mr_onednn_md(&stat), mr_onednn_md(&row), attr, &pd);
	mr_onednn_md_free(&x), mr_onednn_md_free(&stat), mr_onednn_md_free(&row);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	return st == MR_OK ? st : mr_fail_in(st, "norm of %lld rows of %lld", (long long)p->m, (long long)p->n);
}

mr_status mr_onednn_norm(mr_onednn *d, int64_t rows, int64_t cols, float eps, const float *x, const float *gain,
			 const float *shift, float *y, float *mean, float *variance)
{
	onednn_primitive key = {.m = rows, .n = cols, .flags = ONEDNN_NORM};
	const void *data[] = {x, gain, shift, y, mean, variance};
	uint32_t bits;

	memcpy(&bits, &eps, sizeof(bits));
	key.k = bits;
	return mr_onednn_run(d, &key, norm_build, data);
}

mr_status mr_onednn_norm_backward(mr_onednn *d, int64_t rows, int64_t cols, const float *x, const float *gain,
				  const float *mean, const float *variance, const float *dy, float *dx, float *dgain,
				  float *dshift)
{
	onednn_primitive key = {.m = rows, .n = cols, .flags = ONEDNN_NORM | BACKWARD};
	const void *data[] = {x, gain, mean, variance, dy, dx,
			      gain,
			      dgain, dshift};

	return mr_onednn_run(d, &key, norm_build, data);
}

/* --- softmax ------------------------------------------------------------------------------------------------------ */

static mr_status softmax_build(mr_onednn *d, onednn_primitive *p)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	mr_status st;
	md_t x;

	memset(&x, 0, sizeof(x));
	st = mr_onednn_md_matrix(&x, p->m, p->n, p->n, 1);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = mr_onednn_check(softmax_pd(&pd, d->engine, mr_onednn_md(&x), attr), "softmax description");
	if (st == MR_OK) {
		const onednn_arg arg[] = {{DNNL_ARG_SRC, mr_onednn_md(&x)}, {DNNL_ARG_DST, mr_onednn_md(&x)}};

		st = mr_onednn_finish(d, p, pd, arg, 2);
	}
	mr_onednn_md_free(&x);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	return st == MR_OK ? st : mr_fail_in(st, "softmax of %lld rows of %lld", (long long)p->m, (long long)p->n);
}

mr_status mr_onednn_softmax(mr_onednn *d, int64_t rows, int64_t cols, const float *x, float *y)
{
	onednn_primitive key = {.m = rows, .n = cols, .flags = ONEDNN_SOFTMAX};
	const void *data[] = {x, y};

	return mr_onednn_run(d, &key, softmax_build, data);
}
