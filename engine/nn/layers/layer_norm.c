/*
 * layer_norm.c - every row shifted to mean 0 and scaled to variance 1, then times a gain, plus a shift.
 *
 *	x, y [n, C]   gain, shift [C]   rstd = 1 / sqrt(variance + eps)   xh = (x - mean) * rstd
 *	F: y = xh * gain + shift
 *	I: dx = rstd * (g - mean(g) - xh * mean(g * xh)) with g = dy * gain
 *	W: dgain = sum over rows of dy * xh, dshift = sum over rows of dy
 *
 * Ba, Kiros, Hinton: "Layer normalization", 2016. mean and rstd of every row are saved for both halves. The gain starts
 * at 1, the shift at 0; neither decays. Reads of the configuration: eps (0: 1e-5, as GPT-2), parts.
 */
#include "nn/layers/shared.h"
#include "nn/part_grads.h"

#define DEFAULT_EPS 1e-5

static mr_status layer_norm_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("layer_norm", in[0]));
	if (!(cfg->eps >= 0))
		return mr_fail(MR_ECONFIG, "layer_norm needs eps >= 0, got %g", cfg->eps);
	*out = in[0];
	return MR_OK;
}

static uint32_t layer_norm_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)cfg;
	spec[0] = (mr_param_spec){.suffix = "weight", .rank = 1, .dim = {in->cols, 1}, .init = MR_INIT_ONE};
	spec[1] = (mr_param_spec){.suffix = "bias", .rank = 1, .dim = {in->cols, 1}, .init = MR_INIT_ZERO};
	return 2;
}

static void layer_norm_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			     mr_layer_needs *out)
{
	size_t bytes = mr_layer_align(mr_layer_compute_bytes(k, samples * in->rows));

	*out = (mr_layer_needs){.x_i = true, .x_w = true, .dy_w = true,
				.scratch = mr_part_grads_bytes(cfg, 2 * in->cols, k)};
	mr_saved_add(&out->aux_w, "mean of each row", bytes); /* I reads both too, and comes first */
	mr_saved_add(&out->aux_w, "1 / deviation of each row", bytes);
}

static void *rstd_of(const mr_layer_call *c)
{
	return (char *)c->aux_w + mr_layer_align(mr_layer_compute_bytes(c->k, mr_layer_rows(c)));
}

static mr_status layer_norm_forward(const mr_layer_call *c)
{
	double eps = c->cfg->eps > 0 ? c->cfg->eps : DEFAULT_EPS;

	return c->k->norm(c->kc, &(mr_norm_args){.rows = mr_layer_rows(c), .cols = c->in->cols, .eps = eps,
						 .x = c->x[0], .gain = c->w[0], .shift = c->w[1], .y = c->y[0],
						 .mean = c->aux_w, .rstd = rstd_of(c)});
}

static mr_status layer_norm_backward_input(const mr_layer_call *c)
{
	if (c->dx[0])
		MR_TRY(c->k->norm_backward_input(
			c->kc, &(mr_norm_backward_input_args){.rows = mr_layer_rows(c), .cols = c->in->cols,
							      .x = c->x[0], .gain = c->w[0], .mean = c->aux_w,
							      .rstd = rstd_of(c), .dy = c->dy[0], .dx = c->dx[0],
							      .add = c->dx_add[0]}));
	return MR_OK;
}

static mr_status layer_norm_backward_weight(const mr_layer_call *c)
{
	return c->k->norm_backward_weight(
		c->kc, &(mr_norm_backward_weight_args){.rows = mr_layer_rows(c), .cols = c->in->cols, .x = c->x[0],
						       .mean = c->aux_w, .rstd = rstd_of(c), .dy = c->dy[0],
						       .dgain = c->dw[0], .dshift = c->dw[1], .add_weight = c->dw_add});
}

static mr_status layer_norm_backward(const mr_layer_call *c)
{
	if (!c->dx[0])
		return layer_norm_backward_weight(c);
	return c->k->norm_backward(c->kc, &(mr_norm_backward_args){.rows = mr_layer_rows(c), .cols = c->in->cols,
								   .x = c->x[0], .gain = c->w[0], .mean = c->aux_w,
								   .rstd = rstd_of(c), .dy = c->dy[0], .dx = c->dx[0],
								   .add = c->dx_add[0], .dgain = c->dw[0],
								   .dshift = c->dw[1], .add_weight = c->dw_add});
}

const mr_layer_ops mr_layer_layer_norm = {
	.name = "layer_norm",
	.summary = "rows normalised to mean 0 and variance 1, with gain and shift",
	.n_in = 1,
	.rows_apart = true,
	.shape = layer_norm_shape,
	.params = layer_norm_params,
	.needs = layer_norm_needs,
	.forward = layer_norm_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = layer_norm_backward_input,
	.backward_weight = layer_norm_backward_weight,
	.backward = layer_norm_backward,
};
