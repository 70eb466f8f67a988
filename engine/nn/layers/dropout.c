/*
 * dropout.c - in training, zero each element with probability `rate` and scale the others by 1 / (1 - rate).
 *
 * Srivastava et al., 2014, in the inverted form. The mask is a pure function of (seed, global sample, layer, element),
 * so I computes it again instead of reading one that F saved, and it is the same for every cut, micro-batch size and
 * recomputation. A variational mask (Gal, Ghahramani, 2016) is one of the columns of a sample, for all its rows.
 * Outside training y = x. Reads of the configuration: rate, from 0 up to but not including 1, variational, and
 * first_row, where the rows are a part of a sample's: the mask is that of the whole, whose elements before them are a
 * multiple of 4.
 */
#include "nn/layers/shared.h"

static mr_status dropout_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("dropout", in[0]));
	if (cfg->first_row * in[0].cols % MR_DROPOUT_BLOCK != 0)
		return mr_fail(MR_ECONFIG, "dropout of a part of a sample begins at a multiple of %d elements, not at "
					   "%lld", MR_DROPOUT_BLOCK, (long long)(cfg->first_row * in[0].cols));
	if (!(cfg->rate >= 0 && cfg->rate < 1))
		return mr_fail(MR_ECONFIG, "dropout needs a rate from 0 to below 1, got %g", cfg->rate);
	*out = in[0];
	return MR_OK;
}

static void dropout_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			  mr_layer_needs *out)
{
	(void)cfg;
	/* a gradient that is to be added to what is there */
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

/* Each row with the numbers of its sample alone: a row's mask is then the same for all of them. */
static mr_status apply_rows(const mr_layer_call *c, const char *from, char *to)
{
	int64_t cols = c->in->cols;
	size_t row = mr_layer_bytes(c->k, cols);
	mr_mask_key key = c->mask;

	for (int64_t s = 0; s < c->samples; s++, key.first_sample++)
		for (int64_t r = 0; r < c->in->rows; r++, from += row, to += row)
			MR_TRY(c->k->dropout(c->kc, &(mr_dropout_args){.samples = 1, .per_sample = cols,
								       .rate = c->cfg->rate, .key = &key, .x = from,
								       .y = to}));
	return MR_OK;
}

/* @to = @from through the mask. */
static mr_status apply(const mr_layer_call *c, const void *from, void *to)
{
	if (c->train && c->cfg->rate > 0 && c->cfg->variational)
		MR_TRY(apply_rows(c, from, to));
	else if (c->train && c->cfg->rate > 0)
		MR_TRY(c->k->dropout(
			c->kc, &(mr_dropout_args){.samples = c->samples, .per_sample = c->in->rows * c->in->cols,
						  .first = c->cfg->first_row * c->in->cols, .rate = c->cfg->rate,
						  .key = &c->mask, .x = from, .y = to}));
	else if (from != to)
		mr_layer_copy(c, to, from, mr_layer_bytes(c->k, mr_layer_count(c->in[0], c->samples)));
	return MR_OK;
}

static mr_status dropout_forward(const mr_layer_call *c)
{
	return apply(c, c->x[0], c->y[0]);
}

static mr_status dropout_backward_input(const mr_layer_call *c)
{
	void *dx = mr_layer_made(c, 0);

	if (!c->dx[0])
		return MR_OK;
	MR_TRY(apply(c, c->dy[0], dx));
	return mr_layer_add_made(c, 0, dx);
}

const mr_layer_ops mr_layer_dropout = {
	.name = "dropout",
	.summary = "random zeros in training, scaled to the same mean",
	.n_in = 1,
	.rows_apart = true,
	.shape = dropout_shape,
	.needs = dropout_needs,
	.forward = dropout_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = dropout_backward_input,
};
