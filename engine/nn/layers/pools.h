/*
 * pools.h - shared by the pooling layers. Private to this folder.
 */
#ifndef MR_NN_LAYERS_POOLS_H
#define MR_NN_LAYERS_POOLS_H

#include "nn/layers/images.h"

/* The window of a pool; without a stride in the configuration, windows are adjacent without overlap. */
static inline mr_window mr_layer_pool(const mr_layer_cfg *cfg, mr_shape in, int64_t samples)
{
	return mr_layer_window(cfg, in, samples, cfg->kernel_h, cfg->kernel_w);
}

/* F and I of a pool that saves nothing. */
static inline mr_status mr_layer_pool_forward(const mr_layer_call *c, mr_window w, mr_pool_kind kind)
{
	return c->k->pool(c->kc, &(mr_pool_args){.w = &w, .kind = kind, .x = c->x[0], .y = c->y[0]});
}

static inline mr_status mr_layer_pool_backward(const mr_layer_call *c, mr_window w, mr_pool_kind kind)
{
	return c->dx[0] ? c->k->pool_backward(c->kc, &(mr_pool_backward_args){.w = &w, .kind = kind, .dy = c->dy[0],
									      .dx = c->dx[0], .add = c->dx_add[0]})
			: MR_OK;
}

/* Checks the window and sets the shape of the output. Every window must contain a pixel of the image. */
static inline mr_status mr_layer_pool_shape(const char *layer, const mr_layer_cfg *cfg, mr_shape in, mr_shape *out)
{
	mr_window w;

	MR_TRY(mr_layer_check_window(layer, cfg, in));
	if (cfg->dilation_h > 1 || cfg->dilation_w > 1)
		return mr_fail(MR_ECONFIG, "%s has no dilation", layer);
	if (cfg->pad_h >= cfg->kernel_h || cfg->pad_w >= cfg->kernel_w)
		return mr_fail(MR_ECONFIG,
			       "%s: a padding of %lld and %lld needs a window larger than that, got %lld x %lld", layer,
			       (long long)cfg->pad_h, (long long)cfg->pad_w, (long long)cfg->kernel_h,
			       (long long)cfg->kernel_w);
	w = mr_layer_pool(cfg, in, 1);
	*out = mr_layer_images(w.out_h, w.out_w, w.c);
	return MR_OK;
}

#endif
