/*
 * share_rows.c - where layers begin of which each share computes a part of the rows: y is this share's rows of x.
 *
 *	F: y = rows [q R / g, (q + 1) R / g) of each sample        I: dx = the rows of dy of all shares (nn/share.h)
 *
 * x is the same at all shares. With no other shares y = x. Reads of the configuration: parts (0: 1).
 */
#include "nn/layers/shared.h"
#include "nn/layers/shares.h"

static mr_status share_rows_forward(const mr_layer_call *c)
{
	mr_layer_take_rows(c, c->out[0], c->x[0], c->y[0]);
	return MR_OK;
}

static mr_status share_rows_backward_input(const mr_layer_call *c)
{
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	MR_TRY(mr_layer_gather_rows(c, c->out[0], c->dy[0], dx));
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_share_rows = {
	.name = "share_rows",
	.summary = "a share's part of the rows of a value",
	.n_in = 1,
	.shape = mr_layer_shape_of_part,
	.needs = mr_layer_share_needs,
	.forward = share_rows_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = share_rows_backward_input,
};
