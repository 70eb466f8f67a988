/*
 * first_row.c - the first row of a sequence: y [1, C] = x[0] of x [T, C].
 *
 * The gradient of the other rows is 0. Reads nothing of the configuration.
 */
#include "nn/layers/shared.h"

static mr_status first_row_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("first_row", in[0]));
	*out = (mr_shape){.rows = 1, .cols = in[0].cols};
	return MR_OK;
}

static mr_status first_row_forward(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), all = (size_t)c->in->rows * row;

	for (int64_t s = 0; s < c->samples; s++)
		mr_layer_copy(c, (char *)c->y[0] + (size_t)s * row, (const char *)c->x[0] + (size_t)s * all, row);
	return MR_OK;
}

static mr_status first_row_backward_input(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), all = (size_t)c->in->rows * row;
	const char *dy = c->dy[0];
	char *dx = c->dx[0];

	for (int64_t s = 0; dx && s < c->samples; s++, dx += all, dy += row) {
		if (c->dx_add[0]) {
			MR_TRY(c->k->sum(c->kc, &(mr_sum_args){.n = c->in->cols, .a = dx, .b = dy, .y = dx}));
		} else {
			mr_layer_copy(c, dx, dy, row);
			mr_layer_clear(c, dx + row, all - row);
		}
	}
	return MR_OK;
}

const mr_layer_ops mr_layer_first_row = {
	.name = "first_row",
	.summary = "the first row of a sequence",
	.n_in = 1,
	.shape = first_row_shape,
	.needs = mr_layer_needs_nothing,
	.forward = first_row_forward,
	.backward_input = first_row_backward_input,
};
