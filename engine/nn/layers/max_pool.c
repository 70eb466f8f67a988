/*
 * max_pool.c - max pooling: the largest number of each window, for each channel.
 *
 * The gradient goes to the first of the largest numbers in row-major order; F saves its position. Padding is -infinity.
 * Reads of the configuration: kernel, stride (0: adjacent windows without overlap), pad.
 */
#include "nn/layers/pools.h"

static mr_status max_pool_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_pool_shape("max_pool", cfg, in[0], out));
	if (cfg->kernel_h > MR_POOL_POSITIONS || cfg->kernel_w > MR_POOL_POSITIONS / cfg->kernel_h)
		return mr_fail(MR_ECONFIG, "max_pool takes windows of at most %d pixels, got %lld x %lld",
			       MR_POOL_POSITIONS, (long long)cfg->kernel_h, (long long)cfg->kernel_w);
	return MR_OK;
}

static void max_pool_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			   mr_layer_needs *out)
{
	mr_window w = mr_layer_pool(cfg, in[0], samples);

	*out = (mr_layer_needs){0};
	mr_saved_add(&out->aux_i, "position of each largest number in its window",
		     mr_layer_bytes(k, mr_window_out_pixels(&w) * w.c));
}

static mr_status max_pool_forward(const mr_layer_call *c)
{
	mr_window w = mr_layer_pool(c->cfg, c->in[0], c->samples);

	return c->k->pool(c->kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MAX, .x = c->x[0], .y = c->y[0],
						 .which = c->aux_i});
}

static mr_status max_pool_backward_input(const mr_layer_call *c)
{
	mr_window w = mr_layer_pool(c->cfg, c->in[0], c->samples);

	if (c->dx[0])
		MR_TRY(c->k->pool_backward(c->kc, &(mr_pool_backward_args){.w = &w, .kind = MR_POOL_MAX,
									   .which = c->aux_i, .dy = c->dy[0],
									   .dx = c->dx[0], .add = c->dx_add[0]}));
	return MR_OK;
}

const mr_layer_ops mr_layer_max_pool = {
	.name = "max_pool",
	.summary = "largest number of each window of an image",
	.n_in = 1,
	.shape = max_pool_shape,
	.needs = max_pool_needs,
	.forward = max_pool_forward,
	.backward_input = max_pool_backward_input,
};
