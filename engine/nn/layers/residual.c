/*
 * residual.c - y = a + b: a branch joins the stream it left.
 *
 * The gradient of both inputs is dy itself (identity_backward), so a caller that lets the three gradients share a
 * buffer has nothing to compute; backward_input is for the one that does not. And where b is made by a layer that can
 * add a to it (is_sum), forward has nothing to do either. Reads nothing of the configuration.
 */
#include "nn/layers/shared.h"

static mr_status residual_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	return mr_layer_check_pair("residual", "adds", in, out);
}

static mr_status residual_forward(const mr_layer_call *c)
{
	return c->k->sum(c->kc, &(mr_sum_args){.n = mr_layer_count(c->in[0], c->samples), .a = c->x[0], .b = c->x[1],
					       .y = c->y[0]});
}

static mr_status residual_backward_input(const mr_layer_call *c)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);

	for (int i = 0; i < 2; i++)
		if (c->dx[i])
			MR_TRY(mr_layer_take(c, i, c->dx[i], c->dy[0], n));
	return MR_OK;
}

const mr_layer_ops mr_layer_residual = {
	.name = "residual",
	.summary = "y = a + b",
	.n_in = 2,
	.rows_apart = true,
	.identity_backward = true,
	.is_sum = true,
	.shape = residual_shape,
	.needs = mr_layer_needs_nothing,
	.forward = residual_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = residual_backward_input,
};
