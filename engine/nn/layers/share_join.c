/*
 * share_join.c - where layers end of which each share computes a part of the rows: y is the rows of all shares.
 *
 *	F: y = the rows of x of all shares (nn/share.h)        I: dx = this share's rows of dy
 *
 * What follows is computed whole by each share: dy is the same at all, and no sum of them is due. With no other shares
 * y = x. Reads of the configuration: parts (0: 1).
 */
#include "nn/layers/shared.h"
#include "nn/layers/shares.h"

static mr_status share_join_forward(const mr_layer_call *c)
{
	return mr_layer_gather_rows(c, c->in[0], c->x[0], c->y[0]);
}

static mr_status share_join_backward_input(const mr_layer_call *c)
{
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	mr_layer_take_rows(c, c->in[0], c->dy[0], dx);
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_share_join = {
	.name = "share_join",
	.summary = "the rows of all shares, of which each has a part",
	.n_in = 1,
	.shape = mr_layer_shape_of_all,
	.needs = mr_layer_share_needs,
	.forward = share_join_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = share_join_backward_input,
};
