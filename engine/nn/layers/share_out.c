/*
 * share_out.c - where layers that are cut into shares end: y is the sum over shares, and its gradient goes to all.
 *
 *	F: y = sum of x_q over the shares q, ascending        I: dx = dy
 *
 * Each share has multiplied its own columns by its own rows, and meets the others for the sum (nn/share.h). Shoeybi et
 * al.: "Megatron-LM", 2019, operator g. With parts, y is this share's rows of the sum, and I puts the rows of all
 * together. Without other shares y = x. Reads of the configuration: parts (0: 1).
 */
#include "nn/layers/shared.h"
#include "nn/layers/shares.h"

static mr_status share_out_forward(const mr_layer_call *c)
{
	return mr_layer_sum_shares(c, c->out[0], c->x[0], c->addend, c->y[0]);
}

static mr_status share_out_backward_input(const mr_layer_call *c)
{
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	if (mr_layer_parts(c->cfg) == 1)
		return mr_layer_take(c, 0, c->dx[0], c->dy[0], mr_layer_count(c->in[0], c->samples));
	MR_TRY(mr_layer_gather_rows(c, c->out[0], c->dy[0], dx));
	return mr_layer_add_made(c, 0, dx);
}

static bool share_out_adds(const mr_layer_cfg *cfg)
{
	(void)cfg;
	return true;
}

const mr_layer_ops mr_layer_share_out = {
	.name = "share_out",
	.summary = "the sum of what the shares of a worker have computed",
	.n_in = 1,
	.shape = mr_layer_shape_of_part,
	.needs = mr_layer_share_needs,
	.forward = share_out_forward,
	.decodes = mr_layer_by_rows,
	.adds = share_out_adds,
	.backward_input = share_out_backward_input,
};
