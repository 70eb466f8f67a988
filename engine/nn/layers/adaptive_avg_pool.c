/*
 * adaptive_avg_pool.c - average pooling to a given height and width: the mean of each window, for each channel.
 *
 * Along a side of n pixels with m outputs, output i is over pixels floor(i n / m) to ceil((i + 1) n / m), the last one
 * excluded (mr_window_adaptive in nn/window.h). Windows overlap where m does not divide n, and where m is larger pixels
 * repeat. Nothing is saved. Reads of the configuration: out_h, out_w.
 */
#include "nn/layers/pools.h"

static mr_status adaptive_avg_pool_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	const int64_t most = INT32_MAX;

	MR_TRY(mr_layer_check_images("adaptive_avg_pool", in[0]));
	if (cfg->out_h < 1 || cfg->out_w < 1 || cfg->out_h > most || cfg->out_w > most)
		return mr_fail(MR_ECONFIG, "adaptive_avg_pool needs an output of at least 1 x 1 pixels, got %lld x "
					   "%lld",
			       (long long)cfg->out_h, (long long)cfg->out_w);
	*out = mr_layer_images(cfg->out_h, cfg->out_w, in[0].cols);
	return MR_OK;
}

static mr_window windows(const mr_layer_call *c)
{
	mr_shape in = c->in[0];

	return (mr_window){.samples = c->samples, .h = in.dim[0], .w = in.dim[1], .c = in.dim[2],
			   .out_h = c->cfg->out_h, .out_w = c->cfg->out_w, .kernel_h = 1, .kernel_w = 1,
			   .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
}

static mr_status adaptive_avg_pool_forward(const mr_layer_call *c)
{
	return mr_layer_pool_forward(c, windows(c), MR_POOL_ADAPTIVE);
}

static mr_status adaptive_avg_pool_backward_input(const mr_layer_call *c)
{
	return mr_layer_pool_backward(c, windows(c), MR_POOL_ADAPTIVE);
}

const mr_layer_ops mr_layer_adaptive_avg_pool = {
	.name = "adaptive_avg_pool",
	.summary = "mean of each window of an image, for a given number of windows",
	.n_in = 1,
	.shape = adaptive_avg_pool_shape,
	.needs = mr_layer_needs_nothing,
	.forward = adaptive_avg_pool_forward,
	.backward_input = adaptive_avg_pool_backward_input,
};
