/*
 * share_cat.c - where layers that are cut by columns end: y is the columns of all shares, side by side.
 *
 *	F: y[r] = x_0[r], x_1[r], ... of the shares        I: dx = the columns of dy that are this share's own
 *
 * For layers that nothing follows which could take columns by themselves: the embedding and the head (nn/share.h). With
 * no other shares all parts are the own one. Reads of the configuration: parts (the number of shares; 0: 1).
 */
#include "nn/layers/shared.h"
#include "nn/layers/shares.h"

static mr_status share_cat_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_parts("share_cat", cfg, in[0]));
	*out = mr_shape_with_cols(in[0], in[0].cols * mr_layer_parts(cfg));
	return MR_OK;
}

/* Copy @rows rows of @bytes, which are @from_step and @to_step bytes apart. */
static void copy_rows(const mr_layer_call *c, int64_t rows, size_t bytes, const char *from, size_t from_step, char *to,
		      size_t to_step)
{
	for (int64_t r = 0; r < rows; r++, from += from_step, to += to_step)
		mr_layer_copy(c, to, from, bytes);
}

static mr_status share_cat_forward(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), n = mr_layer_parts(c->cfg);
	size_t row = mr_layer_bytes(c->k, c->in->cols);
	const void *part[MR_SHARES_MOST];

	MR_TRY(mr_layer_meet(c, c->x[0], rows * c->in->cols, part));
	for (int64_t q = 0; q < n; q++)
		copy_rows(c, rows, row, part[q], row, (char *)c->y[0] + (size_t)q * row, (size_t)n * row);
	return MR_OK;
}

static mr_status share_cat_backward_input(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), own = c->shares ? c->shares->self * row : 0;
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	copy_rows(c, mr_layer_rows(c), row, (const char *)c->dy[0] + own, (size_t)mr_layer_parts(c->cfg) * row, dx,
		  row);
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_share_cat = {
	.name = "share_cat",
	.summary = "the columns of the shares of a worker, side by side",
	.n_in = 1,
	.shape = share_cat_shape,
	.needs = mr_layer_share_needs,
	.forward = share_cat_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = share_cat_backward_input,
};
