/*
 * add_relu.c - y = relu(a + b): the sum of branch and shortcut at the end of a block of a residual network.
 *
 * The gradient of both inputs is dy where y is positive. Reads nothing of the configuration.
 */
#include "nn/layers/shared.h"

static mr_status add_relu_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	return mr_layer_check_pair("add_relu", "adds", in, out);
}

static void add_relu_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			   mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.y_i = true, .scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

static mr_status add_relu_forward(const mr_layer_call *c)
{
	return c->k->sum_relu(c->kc, &(mr_sum_relu_args){.n = mr_layer_count(c->in[0], c->samples), .a = c->x[0],
							 .b = c->x[1], .y = c->y[0]});
}

static mr_status add_relu_backward_input(const mr_layer_call *c)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);
	int first = c->dx[0] && !c->dx_add[0] ? 0 : c->dx[1] && !c->dx_add[1] ? 1 : -1;
	void *dz = first < 0 ? c->scratch : c->dx[first];

	if (!c->dx[0] && !c->dx[1])
		return MR_OK;
	MR_TRY(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = MR_ACT_RELU, .n = n, .aux = c->y[0],
								 .dy = c->dy[0], .dz = dz}));
	for (int i = 0; i < 2; i++)
		if (c->dx[i] && i != first)
			MR_TRY(mr_layer_take(c, i, c->dx[i], dz, n));
	return MR_OK;
}

const mr_layer_ops mr_layer_add_relu = {
	.name = "add_relu",
	.summary = "y = relu(a + b)",
	.n_in = 2,
	.rows_apart = true,
	.shape = add_relu_shape,
	.needs = add_relu_needs,
	.forward = add_relu_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = add_relu_backward_input,
};
