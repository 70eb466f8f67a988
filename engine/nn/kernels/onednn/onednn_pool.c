/*
 * onednn_pool.c - average pools by oneDNN's pooling primitive and local response normalisation by its lrn primitive,
 * over images [samples, h, w, c] in f32. Maxima are ours, since the library's ignore NaN.
 *
 * The backward half of lrn needs what its forward half saves, in a form of the library's own. So it runs the forward
 * primitive again, into the context's memory.
 */
#include "nn/kernels/onednn/onednn_context.h"

#include <stdlib.h>
#include <string.h>

enum { BACKWARD = 1, PADDED = 2 /* padding counts */, WORKSPACE = 4 /* saves for the backward half */ };

#define BITS 8 /* of each number of a window in a key */
#define LEAST_SIDE ((int64_t)1 << BITS)
#define LEAST_PIXELS ((int64_t)1 << 31)

/* --- descriptions, in both interfaces ----------------------------------------------------------------------------- */

typedef struct pool_mds {
	md_t x, y;
	dnnl_dims_t strides, kernel, pads;
	dnnl_alg_kind_t alg;
} pool_mds;

typedef struct lrn_args {
	int64_t size;
	float alpha, beta, k;
} lrn_args;

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t images(md_t *md, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_create_with_strides(md, 4, dims, dnnl_f32, strides);
}

static dnnl_status_t pool_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const pool_mds *m,
			     dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	const dnnl_dims_t dilation = {0};

	return hint ? dnnl_pooling_backward_primitive_desc_create(pd, engine, m->alg, m->x, m->y, m->strides, m->kernel,
								  dilation, m->pads, m->pads, hint, attr)
		    : dnnl_pooling_forward_primitive_desc_create(pd, engine, dnnl_forward_training, m->alg, m->x, m->y,
								 m->strides, m->kernel, dilation, m->pads, m->pads,
								 attr);
}

static dnnl_status_t lrn_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const md_t *x, const lrn_args *l,
			    dnnl_prop_kind_t kind, dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	return hint ? dnnl_lrn_backward_primitive_desc_create(pd, engine, dnnl_lrn_across_channels, *x, *x, *x, l->size,
							      l->alpha, l->beta, l->k, hint, attr)
		    : dnnl_lrn_forward_primitive_desc_create(pd, engine, kind, dnnl_lrn_across_channels, *x, *x,
							     l->size, l->alpha, l->beta, l->k, attr);
}

#else

static dnnl_status_t images(md_t *md, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_init_by_strides(md, 4, dims, dnnl_f32, strides);
}

static dnnl_status_t pool_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const pool_mds *m,
			     dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_pooling_desc_t desc;
	dnnl_status_t st = hint ? dnnl_pooling_backward_desc_init(&desc, m->alg, &m->x, &m->y, m->strides, m->kernel,
								  m->pads, m->pads)
				: dnnl_pooling_forward_desc_init(&desc, dnnl_forward_training, m->alg, &m->x, &m->y,
								 m->strides, m->kernel, m->pads, m->pads);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, hint) : st;
}

static dnnl_status_t lrn_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const md_t *x, const lrn_args *l,
			    dnnl_prop_kind_t kind, dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_lrn_desc_t desc;
	dnnl_status_t st = hint ? dnnl_lrn_backward_desc_init(&desc, dnnl_lrn_across_channels, x, x, l->size, l->alpha,
							      l->beta, l->k)
				: dnnl_lrn_forward_desc_init(&desc, kind, dnnl_lrn_across_channels, x, l->size,
							     l->alpha, l->beta, l->k);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, hint) : st;
}

#endif

static mr_status md_images(md_t *md, int64_t n, int64_t h, int64_t w, int64_t c)
{
	const dnnl_dims_t dims = {n, c, h, w}, strides = {h * w * c, 1, w * c, c};

	return mr_onednn_check(images(md, dims, strides), "memory description");
}

/* --- pools -------------------------------------------------------------------------------------------------------- */

/* The numbers of a window, BITS each. */
static int64_t pack(const mr_window *w)
{
	const int64_t part[] = {w->kernel_h, w->kernel_w, w->stride_h, w->stride_w, w->pad_h, w->pad_w};
	int64_t all = 0;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		all = all << BITS | part[i];
	return all;
}

static mr_window unpack(const onednn_primitive *p)
{
	mr_window w = {.samples = p->m >> 32, .c = p->m & UINT32_MAX, .h = p->n >> 32, .w = p->n & UINT32_MAX};
	int64_t *const part[] = {&w.pad_w, &w.pad_h, &w.stride_w, &w.stride_h, &w.kernel_w, &w.kernel_h};
	int64_t all = p->k;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++, all >>= BITS)
		*part[i] = all & (LEAST_SIDE - 1);
	w.out_h = mr_window_out(w.h, w.kernel_h, w.stride_h, w.pad_h, 1);
	w.out_w = mr_window_out(w.w, w.kernel_w, w.stride_w, w.pad_w, 1);
	return w;
}

bool mr_onednn_has_pool(const mr_window *w, mr_pool_kind kind)
{
	return (kind == MR_POOL_MEAN || kind == MR_POOL_MEAN_PADDED) && w->kernel_h < LEAST_SIDE &&
	       w->kernel_w < LEAST_SIDE && w->stride_h < LEAST_SIDE && w->stride_w < LEAST_SIDE &&
	       w->samples < LEAST_PIXELS && w->h < LEAST_PIXELS && w->w < LEAST_PIXELS && w->c < LEAST_PIXELS;
}

static mr_status make_pool(mr_onednn *d, onednn_primitive *p, const pool_mds *m, dnnl_primitive_attr_t attr,
			   dnnl_primitive_desc_t *hint, dnnl_primitive_desc_t *pd)
{
	md_arg x = mr_onednn_md(&m->x), y = mr_onednn_md(&m->y);
	const onednn_arg forward[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
	const onednn_arg backward[] = {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_DIFF_DST, y}};

	MR_TRY(mr_onednn_check(pool_pd(hint, d->engine, m, NULL, attr), "pooling description"));
	if (!(p->flags & BACKWARD))
		return mr_onednn_finish(d, p, *hint, forward, 2);
	MR_TRY(mr_onednn_check(pool_pd(pd, d->engine, m, *hint, attr), "pooling description"));
	return mr_onednn_finish(d, p, *pd, backward, 2);
}

static void free_pds(dnnl_primitive_desc_t hint, dnnl_primitive_desc_t pd, dnnl_primitive_attr_t attr)
{
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (hint)
		(void)dnnl_primitive_desc_destroy(hint);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
}

static mr_status build_pool(mr_onednn *d, onednn_primitive *p)
{
	mr_window w = unpack(p);
	pool_mds m = {.strides = {w.stride_h, w.stride_w},
		      .kernel = {w.kernel_h, w.kernel_w},
		      .pads = {w.pad_h, w.pad_w},
		      .alg = p->flags & PADDED ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding};
	dnnl_primitive_desc_t hint = NULL, pd = NULL;
	dnnl_primitive_attr_t attr = NULL;
	mr_status st = md_images(&m.x, w.samples, w.h, w.w, w.c);

	if (st == MR_OK)
		st = md_images(&m.y, w.samples, w.out_h, w.out_w, w.c);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = make_pool(d, p, &m, attr, &hint, &pd);
	mr_onednn_md_free(&m.x), mr_onednn_md_free(&m.y);
	free_pds(hint, pd, attr);
	return st == MR_OK ? st
			   : mr_fail_in(st, "pool %lld x %lld of %lld channels", (long long)w.kernel_h,
					(long long)w.kernel_w, (long long)w.c);
}

static mr_status run_pool(mr_onednn *d, const mr_window *w, mr_pool_kind kind, uint32_t flags, const void *x,
			  const void *y)
{
	onednn_primitive key = {.m = w->samples << 32 | w->c, .n = w->h << 32 | w->w, .k = pack(w)};

	key.flags = ONEDNN_POOL | flags | (kind == MR_POOL_MEAN_PADDED ? PADDED : 0);
	return mr_onednn_run(d, &key, build_pool, (const void *[]){x, y});
}

mr_status mr_onednn_pool(mr_onednn *d, const mr_window *w, mr_pool_kind kind, const float *x, float *y)
{
	return run_pool(d, w, kind, 0, x, y);
}

mr_status mr_onednn_pool_backward(mr_onednn *d, const mr_window *w, mr_pool_kind kind, const float *dy, float *dx)
{
	return run_pool(d, w, kind, BACKWARD, dx, dy);
}

/* --- local response normalisation --------------------------------------------------------------------------------- */

static uint32_t bits_of(double x)
{
	float f = (float)x;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static float of_bits(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

static onednn_primitive lrn_key(const mr_lrn *l, uint32_t flags)
{
	return (onednn_primitive){
		.m = (int64_t)((uint64_t)bits_of(l->k) << 32 | (uint64_t)l->pixels),
		.n = l->size << 32 | l->c,
		.k = (int64_t)((uint64_t)bits_of(l->alpha) << 32 | bits_of(l->beta)),
		.flags = ONEDNN_LRN | flags,
	};
}

/* Of an even number of channels the library takes one less. */
bool mr_onednn_has_lrn(const mr_lrn *l)
{
	return l->size % 2 == 1 && l->pixels < LEAST_PIXELS && l->c < LEAST_PIXELS;
}

/* What the forward half saves has a description if there is anything. */
static bool is_there(md_arg md)
{
	return md && dnnl_memory_desc_get_size(md) > 0;
}

static mr_status make_lrn(mr_onednn *d, onednn_primitive *p, const md_t *x, const lrn_args *l,
			  dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *hint, dnnl_primitive_desc_t *pd)
{
	md_arg data = mr_onednn_md(x), saved;
	dnnl_prop_kind_t kind = p->flags & (BACKWARD | WORKSPACE) ? dnnl_forward_training : dnnl_forward_inference;
	onednn_arg forward[3] = {{DNNL_ARG_SRC, data}, {DNNL_ARG_DST, data}};
	onednn_arg backward[4] = {{DNNL_ARG_SRC, data}, {DNNL_ARG_DIFF_SRC, data}, {DNNL_ARG_DIFF_DST, data}};

	MR_TRY(mr_onednn_check(lrn_pd(hint, d->engine, x, l, kind, NULL, attr), "lrn description"));
	saved = dnnl_primitive_desc_query_md(*hint, dnnl_query_workspace_md, 0);
	if (is_there(saved) && dnnl_memory_desc_get_size(saved) > 2 * dnnl_memory_desc_get_size(data))
		return mr_fail(MR_EDNN, "oneDNN: lrn saves more than twice its input");
	forward[2] = backward[3] = (onednn_arg){DNNL_ARG_WORKSPACE, saved};
	if (!(p->flags & BACKWARD))
		return mr_onednn_finish(d, p, *hint, forward, 2 + is_there(saved));
	MR_TRY(mr_onednn_check(lrn_pd(pd, d->engine, x, l, kind, *hint, attr), "lrn description"));
	return mr_onednn_finish(d, p, *pd, backward, 3 + is_there(saved));
}

static mr_status build_lrn(mr_onednn *d, onednn_primitive *p)
{
	int64_t pixels = p->m & UINT32_MAX, c = p->n & UINT32_MAX;
	lrn_args l = {.size = p->n >> 32,
		      .alpha = of_bits((uint64_t)p->k >> 32),
		      .beta = of_bits((uint64_t)p->k),
		      .k = of_bits((uint64_t)p->m >> 32)};
	dnnl_primitive_desc_t hint = NULL, pd = NULL;
	dnnl_primitive_attr_t attr = NULL;
	md_t x;
	mr_status st;

	memset(&x, 0, sizeof(x));
	st = md_images(&x, 1, pixels, 1, c);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = make_lrn(d, p, &x, &l, attr, &hint, &pd);
	mr_onednn_md_free(&x);
	free_pds(hint, pd, attr);
	return st == MR_OK ? st : mr_fail_in(st, "lrn of %lld channels", (long long)c);
}

mr_status mr_onednn_lrn(mr_onednn *d, const mr_lrn *l, const float *x, float *y)
{
	onednn_primitive key = lrn_key(l, 0);

	return mr_onednn_run(d, &key, build_lrn, (const void *[]){x, y});
}

mr_status mr_onednn_lrn_backward(mr_onednn *d, const mr_lrn *l, const float *x, const float *dy, float *dx, float *room)
{
	onednn_primitive forward = lrn_key(l, WORKSPACE), backward = lrn_key(l, BACKWARD);
	float *saved = room + l->pixels * l->c;

	MR_TRY(mr_onednn_run(d, &forward, build_lrn, (const void *[]){x, room, saved}));
	return mr_onednn_run(d, &backward, build_lrn, (const void *[]){x, dx, dy, saved});
}
