/*
 * row_range.c - some consecutive rows of each sample.
 *
 *	x [n, T, C] or tokens -> y [n, count, C]      y = rows first_row .. first_row + count - 1 of x
 *
 * It takes apart what a sample holds one behind the other, such as the two sentences of a pair. With fold the output's
 * numbers stand in rows of that many columns. Nothing is saved: the gradient of x is that of y in these rows and 0 in
 * the others. Reads of the configuration: first_row, count, fold.
 */
#include "nn/layers/shared.h"

static mr_status row_range_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	if (cfg->count < 1 || cfg->first_row < 0 || cfg->first_row > in[0].rows - cfg->count)
		return mr_fail(MR_ECONFIG, "row_range cannot take %lld rows from row %lld on: a sample has %lld",
			       (long long)cfg->count, (long long)cfg->first_row, (long long)in[0].rows);
	*out = (mr_shape){.rows = cfg->count, .cols = in[0].cols, .tokens = in[0].tokens};
	if (!cfg->fold)
		return MR_OK;
	if (cfg->fold < 0 || mr_shape_count(*out) % cfg->fold != 0)
		return mr_fail(MR_ECONFIG, "row_range cannot arrange %lld numbers in rows of %lld",
			       (long long)mr_shape_count(*out), (long long)cfg->fold);
	*out = (mr_shape){.rows = mr_shape_count(*out) / cfg->fold, .cols = cfg->fold, .tokens = in[0].tokens};
	return MR_OK;
}

/* Bytes of a sample of each, and where the rows begin in the input's. */
typedef struct pieces {
	size_t in, out, first;
} pieces;

static pieces pieces_of(const mr_layer_call *c)
{
	mr_dtype type = c->k->types.activations;
	mr_shape before = {.rows = c->cfg->first_row, .cols = c->in->cols, .tokens = c->in->tokens};

	return (pieces){mr_shape_bytes(*c->in, type), mr_shape_bytes(*c->out, type), mr_shape_bytes(before, type)};
}

static mr_status row_range_forward(const mr_layer_call *c)
{
	pieces p = pieces_of(c);

	for (int64_t s = 0; s < c->samples; s++)
		mr_layer_copy(c, (char *)c->y[0] + (size_t)s * p.out,
			      (const char *)c->x[0] + (size_t)s * p.in + p.first, p.out);
	return MR_OK;
}

static mr_status row_range_backward_input(const mr_layer_call *c)
{
	pieces p = pieces_of(c);
	int64_t n = mr_shape_count(*c->out);

	for (int64_t s = 0; c->dx[0] && s < c->samples; s++) {
		const char *dy = (const char *)c->dy[0] + (size_t)s * p.out;
		char *dx = (char *)c->dx[0] + (size_t)s * p.in;

		if (c->dx_add[0]) {
			MR_TRY(c->k->sum(c->kc, &(mr_sum_args){.n = n, .a = dx + p.first, .b = dy, .y = dx + p.first}));
			continue;
		}
		mr_layer_clear(c, dx, p.first);
		mr_layer_copy(c, dx + p.first, dy, p.out);
		mr_layer_clear(c, dx + p.first + p.out, p.in - p.first - p.out);
	}
	return MR_OK;
}

const mr_layer_ops mr_layer_row_range = {
	.name = "row_range",
	.summary = "some consecutive rows of each sample",
	.n_in = 1,
	.shape = row_range_shape,
	.needs = mr_layer_needs_nothing,
	.forward = row_range_forward,
	.backward_input = row_range_backward_input,
};
