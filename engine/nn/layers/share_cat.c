/*
 * share_cat.c - where layers that are cut by columns end: y is the columns of all shares, side by side.
 *
 *	F: y[r] = x_0[r], x_1[r], ... of the shares        I: dx = the columns of dy that are this share's own
 *
 * For layers that nothing follows which could take columns by themselves: the embedding and the head (nn/share.h). With
 * no other shares all parts are the own one. Reads of the configuration: parts (the number of shares; 0: 1).
 */
#include "nn/layers/shared.h"

static int64_t parts(const mr_layer_cfg *cfg)
{
	return cfg->parts ? cfg->parts : 1;
}

static mr_status share_cat_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("share_cat", in[0]));
	if (cfg->parts < 0 || cfg->parts > MR_SHARES_MOST)
		return mr_fail(MR_ECONFIG, "share_cat joins 1 to %d parts, got %lld", MR_SHARES_MOST,
			       (long long)cfg->parts);
	*out = mr_shape_with_cols(in[0], in[0].cols * parts(cfg));
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
	int64_t rows = mr_layer_rows(c), n = parts(c->cfg);
	size_t row = mr_layer_bytes(c->k, c->in->cols);
	const void *part[MR_SHARES_MOST];

	for (int64_t q = 0; q < n; q++)
		part[q] = c->x[0];
	if (c->shares)
		MR_TRY(c->shares->meet(c->shares->arg, c->x[0], (size_t)rows * row, part));
	for (int64_t q = 0; q < n; q++)
		copy_rows(c, rows, row, part[q], row, (char *)c->y[0] + (size_t)q * row, (size_t)n * row);
	return MR_OK;
}

static void share_cat_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			    mr_layer_needs *out)
{
	(void)cfg;
	/* a gradient that is to be added to what is there */
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

static mr_status share_cat_backward_input(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), own = c->shares ? c->shares->self * row : 0;
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	copy_rows(c, mr_layer_rows(c), row, (const char *)c->dy[0] + own, (size_t)parts(c->cfg) * row, dx, row);
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_share_cat = {
	.name = "share_cat",
	.summary = "the columns of the shares of a worker, side by side",
	.n_in = 1,
	.shape = share_cat_shape,
	.needs = share_cat_needs,
	.forward = share_cat_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = share_cat_backward_input,
};
