/*
 * global_avg_pool.c - global average pooling: the mean of each channel over the image, which becomes one pixel.
 *
 * Nothing is saved. Reads nothing of the configuration.
 */
#include "nn/layers/pools.h"

static mr_status global_avg_pool_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_images("global_avg_pool", in[0]));
	*out = mr_layer_images(1, 1, in[0].cols);
	return MR_OK;
}

static mr_window whole_image(const mr_layer_call *c)
{
	mr_layer_cfg cfg = {.kernel_h = c->in[0].dim[0], .kernel_w = c->in[0].dim[1]};

	return mr_layer_pool(&cfg, c->in[0], c->samples);
}

static mr_status global_avg_pool_forward(const mr_layer_call *c)
{
	return mr_layer_pool_forward(c, whole_image(c), MR_POOL_MEAN);
}

static mr_status global_avg_pool_backward_input(const mr_layer_call *c)
{
	return mr_layer_pool_backward(c, whole_image(c), MR_POOL_MEAN);
}

const mr_layer_ops mr_layer_global_avg_pool = {
	.name = "global_avg_pool",
	.summary = "mean of each channel of an image",
	.n_in = 1,
	.shape = global_avg_pool_shape,
	.needs = mr_layer_needs_nothing,
	.forward = global_avg_pool_forward,
	.backward_input = global_avg_pool_backward_input,
};
