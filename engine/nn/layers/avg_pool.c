/*
 * avg_pool.c - average pooling: the mean of each window, for each channel.
 *
 * Nothing is saved. Reads of the configuration: kernel, stride (0: adjacent windows without overlap), pad, count_pad
 * (true: padding counts as zeros; false: a mean is over the pixels inside the image).
 */
#include "nn/layers/pools.h"

static mr_status avg_pool_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	return mr_layer_pool_shape("avg_pool", cfg, in[0], out);
}

static mr_pool_kind kind_of(const mr_layer_call *c)
{
	return c->cfg->count_pad ? MR_POOL_MEAN_PADDED : MR_POOL_MEAN;
}

static mr_status avg_pool_forward(const mr_layer_call *c)
{
	mr_window w = mr_layer_pool(c->cfg, c->in[0], c->samples);

	return c->k->pool(c->kc, &(mr_pool_args){.w = &w, .kind = kind_of(c), .x = c->x[0], .y = c->y[0]});
}

static mr_status avg_pool_backward_input(const mr_layer_call *c)
{
	mr_window w = mr_layer_pool(c->cfg, c->in[0], c->samples);

	if (c->dx[0])
		MR_TRY(c->k->pool_backward(c->kc, &(mr_pool_backward_args){.w = &w, .kind = kind_of(c), .dy = c->dy[0],
									   .dx = c->dx[0], .add = c->dx_add[0]}));
	return MR_OK;
}

const mr_layer_ops mr_layer_avg_pool = {
	.name = "avg_pool",
	.summary = "mean of each window of an image",
	.n_in = 1,
	.shape = avg_pool_shape,
	.needs = mr_layer_needs_nothing,
	.forward = avg_pool_forward,
	.backward_input = avg_pool_backward_input,
};
