/*
 * share_in.c - where a value enters layers that are cut into shares: y = x; the gradient is the sum over shares.
 *
 *	F: y = x        I: dx = sum of dy_q over the shares q, ascending
 *
 * Each share computes the gradient of its own columns alone, and meets the others for the sum (nn/share.h). Shoeybi et
 * al.: "Megatron-LM", 2019, operator f. With parts, x is this share's rows: F puts those of all together, and I leaves
 * each its own rows of the sum. Without other shares dx = dy. Reads of the configuration: parts (0: 1).
 */
#include "nn/layers/shared.h"
#include "nn/layers/shares.h"

static mr_status share_in_forward(const mr_layer_call *c)
{
	if (mr_layer_parts(c->cfg) > 1)
		return mr_layer_gather_rows(c, c->in[0], c->x[0], c->y[0]);
	mr_layer_copy(c, c->y[0], c->x[0], mr_layer_bytes(c->k, mr_layer_count(c->in[0], c->samples)));
	return MR_OK;
}

static mr_status share_in_backward_input(const mr_layer_call *c)
{
	return c->dx[0] ? mr_layer_sum_shares(c, c->in[0], c->dy[0], c->dx_add[0] ? c->dx[0] : NULL, c->dx[0]) : MR_OK;
}

const mr_layer_ops mr_layer_share_in = {
	.name = "share_in",
	.summary = "a value enters layers that are cut into shares",
	.n_in = 1,
	.shape = mr_layer_shape_of_all,
	.needs = mr_layer_share_needs,
	.forward = share_in_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = share_in_backward_input,
};
