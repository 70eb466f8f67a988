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
	mr_window w = whole_image(c);

	return c->k->pool(c->kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MEAN, .x = c->x[0], .y = c->y[0]});
}

static mr_status global_avg_pool_backward_input(const mr_layer_call *c)
{
	mr_window w = whole_image(c);

	if (c->dx[0])
		MR_TRY(c->k->pool_backward(c->kc, &(mr_pool_backward_args){.w = &w, .kind = MR_POOL_MEAN,
									   .dy = c->dy[0], .dx = c->dx[0],
									   .add = c->dx_add[0]}));
	return MR_OK;
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
