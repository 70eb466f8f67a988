/*
 * gelu.c - y = x P(x), where P is the cumulative distribution function of the standard normal distribution.
 *
 *	I: dx = dy (P(x) + x exp(-x^2 / 2) / sqrt(2 pi))
 *
 * Hendrycks, Gimpel: "Gaussian error linear units", 2016, in the exact form, with erf; the GELU fused in a linear layer
 * is their approximation by tanh. I reads x. Reads nothing of the configuration.
 */
#include "nn/layers/shared.h"

static mr_status gelu_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("gelu", in[0]));
	*out = in[0];
	return MR_OK;
}

static void gelu_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		       mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.x_i = true, .scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

static mr_status gelu_forward(const mr_layer_call *c)
{
	return c->k->gelu_erf(c->kc, &(mr_gelu_erf_args){.n = mr_layer_count(c->in[0], c->samples), .x = c->x[0],
							 .y = c->y[0]});
}

static mr_status gelu_backward_input(const mr_layer_call *c)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	MR_TRY(c->k->gelu_erf_backward(c->kc, &(mr_gelu_erf_backward_args){.n = n, .x = c->x[0], .dy = c->dy[0],
									   .dx = dx}));
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_gelu = {
	.name = "gelu",
	.summary = "GELU in its exact form",
	.n_in = 1,
	.rows_apart = true,
	.shape = gelu_shape,
	.needs = gelu_needs,
	.forward = gelu_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = gelu_backward_input,
};
