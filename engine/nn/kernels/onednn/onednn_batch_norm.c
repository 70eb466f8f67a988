/*
 * onednn_batch_norm.c - batch normalisation by oneDNN's batch_normalization primitive, for one image of rows x 1 pixels
 * with cols channels, channels last. ReLU is not fused: the library's turns NaN into 0.
 */
#include "nn/kernels/onednn/onednn_context.h"

#include <string.h>

enum { BACKWARD = 1, GIVEN = 2 }; /* of a key's flags */

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t forward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, float eps, bool given,
				dnnl_primitive_attr_t attr)
{
	return dnnl_batch_normalization_forward_primitive_desc_create(
		pd, engine, given ? dnnl_forward_inference : dnnl_forward_training, x, x, eps,
		dnnl_use_scale | dnnl_use_shift | (given ? dnnl_use_global_stats : 0u), attr);
}

static dnnl_status_t backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, float eps,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	return dnnl_batch_normalization_backward_primitive_desc_create(pd, engine, dnnl_backward, x, x, x, eps,
								       dnnl_use_scale | dnnl_use_shift, hint, attr);
}

static dnnl_status_t points_md(md_t *md, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_create_with_strides(md, 4, dims, dnnl_f32, strides);
}

#else

static dnnl_status_t forward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, float eps, bool given,
				dnnl_primitive_attr_t attr)
{
	dnnl_batch_normalization_desc_t desc;
	dnnl_status_t st = dnnl_batch_normalization_forward_desc_init(
		&desc, given ? dnnl_forward_inference : dnnl_forward_training, x, eps,
		dnnl_use_scale | dnnl_use_shift | (given ? dnnl_use_global_stats : 0u));

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
}

static dnnl_status_t backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg x, float eps,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_batch_normalization_desc_t desc;
	dnnl_status_t st = dnnl_batch_normalization_backward_desc_init(&desc, dnnl_backward, x, x, eps,
								       dnnl_use_scale | dnnl_use_shift);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, hint) : st;
}

static dnnl_status_t points_md(md_t *md, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_init_by_strides(md, 4, dims, dnnl_f32, strides);
}

#endif

static mr_status finish(mr_onednn *d, onednn_primitive *p, md_arg x, md_arg row, dnnl_primitive_attr_t attr,
			dnnl_primitive_desc_t *pd)
{
	const onednn_arg forward[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, row}, {DNNL_ARG_SHIFT, row},
				      {DNNL_ARG_DST, x}, {DNNL_ARG_MEAN, row}, {DNNL_ARG_VARIANCE, row}};
	const onednn_arg backward[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, row}, {DNNL_ARG_MEAN, row},
				       {DNNL_ARG_VARIANCE, row}, {DNNL_ARG_DIFF_DST, x}, {DNNL_ARG_DIFF_SRC, x},
				       {DNNL_ARG_DIFF_SCALE, row}, {DNNL_ARG_DIFF_SHIFT, row},
				       {DNNL_ARG_SHIFT, row}}; /* version 2.6 requires it, and 3.x fails with it */
	uint32_t bits = (uint32_t)p->k;
	dnnl_primitive_desc_t hint;
	dnnl_status_t s;
	float eps;

	memcpy(&eps, &bits, sizeof(eps));
	MR_TRY(mr_onednn_check(forward_pd(pd, d->engine, x, eps, p->flags & GIVEN, attr),
			       "batch_normalization description"));
	if (!(p->flags & BACKWARD))
		return mr_onednn_finish(d, p, *pd, forward, 6);
	hint = *pd;
	*pd = NULL;
	s = backward_pd(pd, d->engine, x, eps, hint, attr);
	(void)dnnl_primitive_desc_destroy(hint);
	MR_TRY(mr_onednn_check(s, "batch_normalization description"));
	return mr_onednn_finish(d, p, *pd, backward, DNNL_VERSION_MAJOR >= 3 ? 8 : 9);
}

static mr_status build(mr_onednn *d, onednn_primitive *p)
{
	const dnnl_dims_t dims = {1, p->n, p->m, 1}, strides = {p->m * p->n, 1, p->n, p->n};
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	mr_status st;
	md_t x, row;

	memset(&x, 0, sizeof(x)), memset(&row, 0, sizeof(row));
	st = mr_onednn_check(points_md(&x, dims, strides), "memory description");
	if (st == MR_OK)
		st = mr_onednn_md_row(&row, p->n);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = finish(d, p, mr_onednn_md(&x), mr_onednn_md(&row), attr, &pd);
	mr_onednn_md_free(&x), mr_onednn_md_free(&row);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	return st == MR_OK ? st
			   : mr_fail_in(st, "batch norm of %lld rows of %lld", (long long)p->m, (long long)p->n);
}

static onednn_primitive key_of(const mr_batch_norm *b, uint32_t flags)
{
	onednn_primitive key = {.m = b->rows, .n = b->cols, .flags = ONEDNN_BATCH_NORM | flags};
	float eps = (float)b->eps;
	uint32_t bits;

	memcpy(&bits, &eps, sizeof(bits));
	key.k = bits;
	return key;
}

mr_status mr_onednn_batch_norm(mr_onednn *d, const mr_batch_norm *b, const float *x, const float *gain,
			       const float *shift, float *y, float *mean, float *variance)
{
	onednn_primitive key = key_of(b, b->given ? GIVEN : 0);
	const void *data[] = {x, gain, shift, y, mean, variance};

	return mr_onednn_run(d, &key, build, data);
}

mr_status mr_onednn_batch_norm_backward(mr_onednn *d, const mr_batch_norm *b, const float *x, const float *gain,
					const float *mean, const float *variance, const float *dy, float *dx,
					float *dgain, float *dshift)
{
	onednn_primitive key = key_of(b, BACKWARD);
	const void *data[] = {x, gain, mean, variance, dy, dx, dgain, dshift, gain};

	return mr_onednn_run(d, &key, build, data);
}
