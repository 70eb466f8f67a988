/*
 * conv.c - convolution over images, with an optional bias and an optional ReLU.
 *
 *	x [n, h, w, c]   W [kernel_h, kernel_w, c / groups, out]   b [out]   z = W over x (nn/window.h), + b
 *	y = relu(z)
 *	I: dz = dy * relu'(z), dx from dz and W       W: dW from x and dz, db = sum over pixels of dz
 *
 * The weights are not flipped (cross-correlation), as in all of today's libraries. With ReLU, I writes dz to `kept` for
 * W; without it dz is dy itself. A convolution with a window of one pixel, without stride, padding and groups, is a
 * matrix product with one row per pixel and is computed by gemm.
 *
 * Initial weights: normal with cfg.std; by default sqrt(2 / n) in front of ReLU and sqrt(1 / n) without it, n the
 * number of inputs of one output, as in linear.c. Biases start at cfg.bias. Reads of the configuration: out, act (ReLU
 * or none), no_bias, std, bias, groups, and the window: kernel, stride, pad, dilation.
 */
#include "nn/layers/images.h"

#include <math.h>

static mr_conv conv_of(const mr_layer_cfg *cfg, mr_shape in, int64_t samples)
{
	return (mr_conv){
		.window = mr_layer_window(cfg, in, samples, 1, 1),
		.out = cfg->out,
		.groups = cfg->groups ? cfg->groups : 1,
		.bias = !cfg->no_bias,
		.relu = cfg->act == MR_ACT_RELU,
	};
}

static mr_conv conv_of_call(const mr_layer_call *c)
{
	return conv_of(c->cfg, c->in[0], c->samples);
}

static mr_status conv_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	mr_window w;

	MR_TRY(mr_layer_check_window("conv", cfg, in[0]));
	if (cfg->out < 1)
		return mr_fail(MR_ECONFIG, "conv needs at least 1 output channel, got %lld", (long long)cfg->out);
	if (cfg->act != MR_ACT_NONE && cfg->act != MR_ACT_RELU)
		return mr_fail(MR_ECONFIG, "conv ends in ReLU or in no activation");
	if (cfg->groups < 0 || (cfg->groups && (in[0].cols % cfg->groups || cfg->out % cfg->groups)))
		return mr_fail(MR_ECONFIG, "conv cannot divide %lld input and %lld output channels into %lld groups",
			       (long long)in[0].cols, (long long)cfg->out, (long long)cfg->groups);
	w = mr_layer_window(cfg, in[0], 1, 1, 1);
	*out = mr_layer_images(w.out_h, w.out_w, cfg->out);
	return MR_OK;
}

static uint32_t conv_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	int64_t inputs = in->cols / (cfg->groups ? cfg->groups : 1);
	double sees = (double)cfg->kernel_h * (double)cfg->kernel_w * (double)inputs;

	spec[0] = (mr_param_spec){
		.suffix = "weight",
		.rank = 4,
		.dim = {cfg->kernel_h, cfg->kernel_w, inputs, cfg->out},
		.init = MR_INIT_NORMAL,
		.std = cfg->std > 0 ? cfg->std : sqrt((cfg->act == MR_ACT_NONE ? 1.0 : 2.0) / sees),
		.decay = true,
	};
	if (cfg->no_bias)
		return 1;
	spec[1] = (mr_param_spec){.suffix = "bias", .rank = 1, .dim = {cfg->out, 1}, .init = MR_INIT_ZERO};
	if (cfg->bias != 0) {
		spec[1].init = MR_INIT_VALUE;
		spec[1].std = cfg->bias;
	}
	return 2;
}

/* Are several micro-batches one product, whose sum takes more memory than what it is made of? Otherwise these would
 * only be kept for longer. */
static bool joins(const mr_conv *g, const mr_kernels *k)
{
	return k && k->joins_conv && k->joins_conv(k, g) &&
	       mr_conv_weights(g) * (int64_t)mr_dtype_bytes(k->types.gradients) >
		       (mr_conv_in(g) + mr_conv_out(g)) * (int64_t)mr_dtype_bytes(k->types.activations);
}

static void conv_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		       mr_layer_needs *out)
{
	mr_conv g = conv_of(cfg, in[0], samples);
	double flops = 2.0 * (double)mr_window_out_pixels(&g.window) * (double)mr_conv_weights(&g);

	*out = (mr_layer_needs){
		.x_w = true,
		.y_i = g.relu,
		.dy_w = !g.relu,
		.apart_w = !joins(&g, k),
		.flops_f = flops,
		.flops_i = flops,
		.flops_w = flops,
	};
	if (g.relu)
		mr_saved_add(&out->kept, "dz", mr_layer_bytes(k, mr_conv_out(&g)));
}

/* Is the convolution one matrix product (see the head of this file)? */
static bool is_product(const mr_conv *g)
{
	const mr_window *w = &g->window;

	return w->kernel_h == 1 && w->kernel_w == 1 && w->stride_h == 1 && w->stride_w == 1 && !w->pad_h && !w->pad_w &&
	       g->groups == 1;
}

static mr_status conv_forward(const mr_layer_call *c)
{
	mr_conv g = conv_of_call(c);
	const void *bias = g.bias ? c->w[1] : NULL;
	mr_gemm product = {.m = mr_layer_rows(c), .n = g.out, .k = g.window.c, .bias = g.bias, .act = c->cfg->act};

	return is_product(&g) ? c->k->gemm(c->kc, &(mr_gemm_args){.g = &product, .a = c->x[0], .b = c->w[0],
								  .bias = bias, .c = c->y[0]})
			      : c->k->conv(c->kc, &(mr_conv_args){.g = &g, .x = c->x[0], .w = c->w[0], .bias = bias,
								  .y = c->y[0]});
}

static const void *dz_of(const mr_layer_call *c)
{
	return c->cfg->act != MR_ACT_NONE ? c->kept : c->dy[0];
}

static mr_status conv_backward_input(const mr_layer_call *c)
{
	mr_conv g = conv_of_call(c);
	mr_gemm product = {.m = mr_layer_rows(c), .n = g.window.c, .k = g.out, .tb = true, .add = c->dx_add[0]};

	if (g.relu)
		MR_TRY(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = MR_ACT_RELU, .n = mr_conv_out(&g),
									 .aux = c->y[0], .dy = c->dy[0],
									 .dz = c->kept}));
	if (!c->dx[0])
		return MR_OK;
	return is_product(&g) ? c->k->gemm(c->kc, &(mr_gemm_args){.g = &product, .a = dz_of(c), .b = c->w[0],
								  .c = c->dx[0]})
			      : c->k->conv_backward_input(
				c->kc, &(mr_conv_backward_input_args){.g = &g, .dy = dz_of(c), .w = c->w[0],
								      .dx = c->dx[0], .add = c->dx_add[0]});
}

static mr_gemm product_gradient(const mr_layer_call *c, const mr_conv *g)
{
	return (mr_gemm){.of = MR_GEMM_GRADIENTS, .m = g->window.c, .n = g->out, .k = mr_layer_rows(c), .ta = true,
			 .add = c->dw_add, .colsum_b = g->bias ? c->dw[1] : NULL};
}

static mr_status bias_gradient(const mr_layer_call *c, const mr_conv *g)
{
	return c->k->colsum(c->kc, &(mr_colsum_args){.rows = mr_window_out_pixels(&g->window), .cols = g->out,
						     .x = dz_of(c), .y = c->dw[1], .add = c->dw_add});
}

static mr_status conv_backward_weight(const mr_layer_call *c)
{
	const mr_step *step = mr_layer_step_of(c, 0);
	mr_conv g = conv_of_call(c);
	mr_gemm product = product_gradient(c, &g);

	if (is_product(&g))
		return mr_layer_weight_product(c, 0, &product, c->x[0], dz_of(c));
	if (g.bias)
		MR_TRY(bias_gradient(c, &g));
	return step ? c->k->conv_step(c->kc, &(mr_conv_step_args){.g = &g, .x = c->x[0], .dy = dz_of(c), .dw = c->dw[0],
								  .add = c->dw_add, .s = step})
		    : c->k->conv_backward_weight(c->kc, &(mr_conv_backward_weight_args){.g = &g, .x = c->x[0],
											.dy = dz_of(c), .dw = c->dw[0],
											.add = c->dw_add});
}

static mr_status conv_backward_weights(const mr_layer_call *c, uint32_t n)
{
	const void *x[MR_LAYER_SPAN], *dz[MR_LAYER_SPAN];
	const mr_step *step = mr_layer_step_of(&c[n - 1], 0);
	mr_conv g = conv_of_call(c);
	mr_gemm product = product_gradient(c, &g);

	for (uint32_t j = 0; j < n; j++) {
		x[j] = c[j].x[0];
		dz[j] = dz_of(&c[j]);
	}
	if (is_product(&g))
		return c->k->gemm_sum(c->kc, &(mr_gemm_sum_args){.g = &product, .n = n, .a = x, .b = dz, .c = c->dw[0],
								 .s = step});
	for (uint32_t j = 0; g.bias && j < n; j++)
		MR_TRY(bias_gradient(&c[j], &g));
	return c->k->conv_sum(c->kc, &(mr_conv_sum_args){.g = &g, .n = n, .x = x, .dy = dz, .dw = c->dw[0],
							 .add = c->dw_add, .s = step});
}

const mr_layer_ops mr_layer_conv = {
	.name = "conv",
	.summary = "convolution over images, with ReLU or without",
	.n_in = 1,
	.shape = conv_shape,
	.params = conv_params,
	.needs = conv_needs,
	.forward = conv_forward,
	.backward_input = conv_backward_input,
	.backward_weight = conv_backward_weight,
	.backward_weights = conv_backward_weights,
	.steps = 1, /* the weights; the bias is small */
};
