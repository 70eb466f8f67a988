/*
 * activation.c - an elementwise activation: ReLU, tanh, sigmoid or SiLU.
 *
 *	relu  max(x, 0)     tanh     sigmoid  s(x) = 1 / (1 + exp(-x))     silu  x s(x)
 *
 * The derivative is computed from y, that of SiLU from x. ReLU after a product or a convolution, and GELU, are fused in
 * the layer that computes their input (linear.c, conv.c). Reads of the configuration: act.
 */
#include "nn/layers/shared.h"

static mr_status activation_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("activation", in[0]));
	if (cfg->act != MR_ACT_RELU && cfg->act != MR_ACT_TANH && cfg->act != MR_ACT_SIGMOID && cfg->act != MR_ACT_SILU)
		return mr_fail(MR_ECONFIG, "activation is ReLU, tanh, sigmoid or SiLU");
	*out = in[0];
	return MR_OK;
}

static void activation_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			     mr_layer_needs *out)
{
	bool from_x = cfg->act == MR_ACT_SILU;

	/* scratch: a gradient that is then added to dx (dx_add) */
	*out = (mr_layer_needs){
		.x_i = from_x, .y_i = !from_x, .scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

static mr_status activation_forward(const mr_layer_call *c)
{
	return c->k->act(c->kc, &(mr_act_args){.act = c->cfg->act, .n = mr_layer_count(c->in[0], c->samples),
					       .x = c->x[0], .y = c->y[0]});
}

static mr_status activation_backward_input(const mr_layer_call *c)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);
	const void *aux = c->cfg->act == MR_ACT_SILU ? c->x[0] : c->y[0];
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	MR_TRY(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = c->cfg->act, .n = n, .aux = aux, .dy = c->dy[0],
								 .dz = dx}));
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_activation = {
	.name = "activation",
	.summary = "ReLU, tanh, sigmoid or SiLU of every number",
	.n_in = 1,
	.rows_apart = true,
	.shape = activation_shape,
	.needs = activation_needs,
	.forward = activation_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = activation_backward_input,
};
