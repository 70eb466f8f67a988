/*
 * activation_penalty.c - lets its input through and adds to its gradient that of a penalty on large or fast
 * activations.
 *
 *	x, y [n, T, C]   y = x   dx = dy + the gradient of
 *	alpha * mean over all numbers of x^2 + beta * mean over n, T - 1 and C of (x_(t+1) - x_t)^2
 *
 * The means are those of a micro-batch, as is the loss. The penalty is part of what is minimised, but not of the loss
 * that is reported, as in the published code. Merity, McCann, Socher: "Revisiting activation regularization for
 * language RNNs", 2017. Outside training nothing is added. Reads of the configuration: alpha, beta.
 */
#include "nn/layers/shared.h"

#include "nn/element.h"

static mr_status activation_penalty_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("activation_penalty", in[0]));
	if (!(cfg->alpha >= 0 && cfg->beta >= 0))
		return mr_fail(MR_ECONFIG, "activation_penalty needs alpha and beta of at least 0, got %g and %g",
			       cfg->alpha, cfg->beta);
	*out = in[0];
	return MR_OK;
}

static void activation_penalty_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
				     mr_layer_needs *out)
{
	(void)cfg;
	(void)in;
	(void)samples;
	(void)k;
	*out = (mr_layer_needs){.x_i = true};
}

static mr_status activation_penalty_forward(const mr_layer_call *c)
{
	if (c->y[0] != c->x[0])
		mr_layer_copy(c, c->y[0], c->x[0], mr_layer_bytes(c->k, mr_layer_count(c->in[0], c->samples)));
	return MR_OK;
}

static mr_status activation_penalty_backward_input(const mr_layer_call *c)
{
	mr_dtype type = c->k->types.activations;
	int64_t rows = c->in->rows, cols = c->in->cols, n = c->samples * rows * cols;
	double alpha = c->train ? 2 * c->cfg->alpha / (double)n : 0, beta = 0;

	if (!c->dx[0] || c->k->recorded)
		return MR_OK;
	if (c->train && rows > 1)
		beta = 2 * c->cfg->beta / (double)(c->samples * (rows - 1) * cols);
	for (int64_t i = 0; i < n; i++) {
		int64_t row = i / cols % rows;
		double x = mr_element(type, c->x[0], i), steep = 0, dx = mr_element(type, c->dy[0], i) + alpha * x;

		if (beta > 0 && row > 0)
			steep += x - mr_element(type, c->x[0], i - cols);
		if (beta > 0 && row + 1 < rows)
			steep += x - mr_element(type, c->x[0], i + cols);
		dx += beta * steep;
		mr_element_put(type, c->dx[0], i, c->dx_add[0] ? mr_element(type, c->dx[0], i) + dx : dx);
	}
	return MR_OK;
}

const mr_layer_ops mr_layer_activation_penalty = {
	.name = "activation_penalty",
	.summary = "the gradient of a penalty on large or fast activations",
	.n_in = 1,
	.shape = activation_penalty_shape,
	.needs = activation_penalty_needs,
	.forward = activation_penalty_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = activation_penalty_backward_input,
};
