/*
 * place_rows.c - the rows of each sample among rows of zeros.
 *
 *	x [n, T, C] -> y [n, count, C]      rows first_row .. first_row + T - 1 of y are x, the others 0
 *
 * For sequences that run beside each other but begin and end at different times. Nothing is saved: the gradient of x
 * is that of y in its rows. Reads of the configuration: first_row, count.
 */
#include "nn/layers/shared.h"

static mr_status place_rows_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("place_rows", in[0]));
	if (cfg->first_row < 0 || cfg->count < in[0].rows || cfg->first_row > cfg->count - in[0].rows)
		return mr_fail(MR_ECONFIG, "place_rows cannot place %lld rows from row %lld on among %lld",
			       (long long)in[0].rows, (long long)cfg->first_row, (long long)cfg->count);
	*out = (mr_shape){.rows = cfg->count, .cols = in[0].cols};
	return MR_OK;
}

/* Bytes of a sample of each, and the byte of the output's at which the input's rows begin. */
typedef struct pieces {
	size_t in, out, first;
} pieces;

static pieces pieces_of(const mr_layer_call *c)
{
	return (pieces){mr_layer_bytes(c->k, mr_shape_count(*c->in)), mr_layer_bytes(c->k, mr_shape_count(*c->out)),
			mr_layer_bytes(c->k, c->cfg->first_row * c->in->cols)};
}

static mr_status place_rows_forward(const mr_layer_call *c)
{
	pieces p = pieces_of(c);

	for (int64_t s = 0; s < c->samples; s++) {
		char *y = (char *)c->y[0] + (size_t)s * p.out;

		mr_layer_clear(c, y, p.first);
		mr_layer_copy(c, y + p.first, (const char *)c->x[0] + (size_t)s * p.in, p.in);
		mr_layer_clear(c, y + p.first + p.in, p.out - p.first - p.in);
	}
	return MR_OK;
}

static mr_status place_rows_backward_input(const mr_layer_call *c)
{
	pieces p = pieces_of(c);

	for (int64_t s = 0; c->dx[0] && s < c->samples; s++)
		MR_TRY(mr_layer_take(c, 0, (char *)c->dx[0] + (size_t)s * p.in,
				     (const char *)c->dy[0] + (size_t)s * p.out + p.first, mr_shape_count(*c->in)));
	return MR_OK;
}

const mr_layer_ops mr_layer_place_rows = {
	.name = "place_rows",
	.summary = "the rows of each sample among rows of zeros",
	.n_in = 1,
	.shape = place_rows_shape,
	.needs = mr_layer_needs_nothing,
	.forward = place_rows_forward,
	.backward_input = place_rows_backward_input,
};
