/*
 * rms_norm.c - every row scaled to a mean square of 1, then times a gain.
 *
 *	x, y [n, C]   gain [C]   r = 1 / sqrt(mean(x^2) + eps)   xh = x * r
 *	F: y = xh * gain
 *	I: dx = r * (g - xh * mean(g * xh)) with g = dy * gain
 *	W: dgain = sum over rows of dy * xh
 *
 * Zhang, Sennrich: "Root mean square layer normalization", NeurIPS 2019. r of every row is saved for both halves. The
 * gain starts at 1 and does not decay. Reads of the configuration: eps (0: 1e-5, as Llama), parts.
 */
#include "nn/layers/shared.h"
#include "nn/part_grads.h"

#define DEFAULT_EPS 1e-5

static mr_status rms_norm_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("rms_norm", in[0]));
	if (!(cfg->eps >= 0))
		return mr_fail(MR_ECONFIG, "rms_norm needs eps >= 0, got %g", cfg->eps);
	*out = in[0];
	return MR_OK;
}

static uint32_t rms_norm_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)cfg;
	spec[0] = (mr_param_spec){.suffix = "weight", .rank = 1, .dim = {in->cols, 1}, .init = MR_INIT_ONE};
	return 1;
}

static void rms_norm_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			   mr_layer_needs *out)
{
	*out = (mr_layer_needs){.x_i = true, .x_w = true, .dy_w = true,
				.scratch = mr_part_grads_bytes(cfg, in->cols, k)};
	mr_saved_add(&out->aux_w, "1 / root of the mean square of each row", /* I reads it too, and comes first */
		     mr_layer_align(mr_layer_compute_bytes(k, samples * in->rows)));
}

static mr_status rms_norm_forward(const mr_layer_call *c)
{
	double eps = c->cfg->eps > 0 ? c->cfg->eps : DEFAULT_EPS;

	return c->k->norm(c->kc, &(mr_norm_args){.rows = mr_layer_rows(c), .cols = c->in->cols, .eps = eps,
						 .x = c->x[0], .gain = c->w[0], .y = c->y[0], .rstd = c->aux_w});
}

static mr_status rms_norm_backward_input(const mr_layer_call *c)
{
	if (c->dx[0])
		MR_TRY(c->k->norm_backward_input(
			c->kc, &(mr_norm_backward_input_args){.rows = mr_layer_rows(c), .cols = c->in->cols,
							      .x = c->x[0], .gain = c->w[0], .rstd = c->aux_w,
							      .dy = c->dy[0], .dx = c->dx[0], .add = c->dx_add[0]}));
	return MR_OK;
}

static mr_status rms_norm_backward_weight(const mr_layer_call *c)
{
	return c->k->norm_backward_weight(
		c->kc, &(mr_norm_backward_weight_args){.rows = mr_layer_rows(c), .cols = c->in->cols, .x = c->x[0],
						       .rstd = c->aux_w, .dy = c->dy[0], .dgain = c->dw[0],
						       .add_weight = c->dw_add});
}

static mr_status rms_norm_backward(const mr_layer_call *c)
{
	if (!c->dx[0])
		return rms_norm_backward_weight(c);
	return c->k->norm_backward(c->kc, &(mr_norm_backward_args){.rows = mr_layer_rows(c), .cols = c->in->cols,
								   .x = c->x[0], .gain = c->w[0], .rstd = c->aux_w,
								   .dy = c->dy[0], .dx = c->dx[0], .add = c->dx_add[0],
								   .dgain = c->dw[0], .add_weight = c->dw_add});
}

const mr_layer_ops mr_layer_rms_norm = {
	.name = "rms_norm",
	.summary = "rows scaled to a mean square of 1, with a gain",
	.n_in = 1,
	.rows_apart = true,
	.shape = rms_norm_shape,
	.params = rms_norm_params,
	.needs = rms_norm_needs,
	.forward = rms_norm_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = rms_norm_backward_input,
	.backward_weight = rms_norm_backward_weight,
	.backward = rms_norm_backward,
};
