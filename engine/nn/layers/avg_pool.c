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
	return mr_layer_pool_forward(c, mr_layer_pool(c->cfg, c->in[0], c->samples), kind_of(c));
}

static mr_status avg_pool_backward_input(const mr_layer_call *c)
{
	return mr_layer_pool_backward(c, mr_layer_pool(c->cfg, c->in[0], c->samples), kind_of(c));
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
