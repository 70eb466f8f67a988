/*
 * class_token.c - puts a learned row in front of a sequence and adds learned positions to all rows.
 *
 *	x [T, C]   class_token [C]   pos_embedding [T + 1, C]   y [T + 1, C]
 *	F: y[0] = class_token + pos_embedding[0]    y[t] = x[t - 1] + pos_embedding[t]
 *	I: dx[t] = dy[t + 1]    W: dpos_embedding = sum over samples of dy, dclass_token = sum over samples of dy[0]
 *
 * Dosovitskiy et al.: "An image is worth 16x16 words", 2021, eq. 1. The class token starts at 0, positions normal with
 * deviation cfg.std, by default 0.02. Reads of the configuration: std.
 */
#include "nn/layers/shared.h"

static mr_status class_token_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("class_token", in[0]));
	*out = (mr_shape){.rows = in[0].rows + 1, .cols = in[0].cols};
	return MR_OK;
}

static uint32_t class_token_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	spec[0] = (mr_param_spec){.suffix = "class_token", .rank = 1, .dim = {in->cols}, .init = MR_INIT_ZERO};
	spec[1] = (mr_param_spec){.suffix = "pos_embedding", .rank = 2, .dim = {in->rows + 1, in->cols},
				  .init = MR_INIT_NORMAL, .std = cfg->std > 0 ? cfg->std : 0.02, .decay = true};
	return 2;
}

/* Scratch: dy[0] of every sample. */
static void class_token_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			      mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.dy_w = true, .scratch = mr_layer_bytes(k, samples * in->cols)};
}

static mr_status class_token_forward(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), all = (size_t)c->in->rows * row;
	const char *x = c->x[0];
	char *y = c->y[0];

	for (int64_t s = 0; s < c->samples; s++, x += all, y += row + all) {
		mr_layer_copy(c, y, c->w[0], row);
		mr_layer_copy(c, y + row, x, all);
		MR_TRY(c->k->sum(c->kc, &(mr_sum_args){.n = mr_shape_count(c->out[0]), .a = y, .b = c->w[1], .y = y}));
	}
	return MR_OK;
}

static mr_status class_token_backward_input(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), all = (size_t)c->in->rows * row;
	const char *dy = c->dy[0];
	char *dx = c->dx[0];

	for (int64_t s = 0; dx && s < c->samples; s++, dx += all, dy += row + all)
		MR_TRY(mr_layer_take(c, 0, dx, dy + row, mr_shape_count(c->in[0])));
	return MR_OK;
}

static mr_status class_token_backward_weight(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->in->cols), all = mr_layer_bytes(c->k, mr_shape_count(c->out[0]));
	const char *dy = c->dy[0];

	for (int64_t s = 0; s < c->samples; s++)
		mr_layer_copy(c, (char *)c->scratch + (size_t)s * row, dy + (size_t)s * all, row);
	MR_TRY(c->k->colsum(c->kc, &(mr_colsum_args){.rows = c->samples, .cols = c->in->cols, .x = c->scratch,
						     .y = c->dw[0], .add = c->dw_add}));
	return c->k->colsum(c->kc, &(mr_colsum_args){.rows = c->samples, .cols = mr_shape_count(c->out[0]), .x = dy,
						     .y = c->dw[1], .add = c->dw_add});
}

const mr_layer_ops mr_layer_class_token = {
	.name = "class_token",
	.summary = "a learned row in front of a sequence, and learned positions",
	.n_in = 1,
	.shape = class_token_shape,
	.params = class_token_params,
	.needs = class_token_needs,
	.forward = class_token_forward,
	.backward_input = class_token_backward_input,
	.backward_weight = class_token_backward_weight,
};
