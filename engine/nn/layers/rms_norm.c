/*
 * rms_norm.c - every row scaled to a mean square of 1, then times a gain.
 *
 *	x, y [n, C]   gain [C]   r = 1 / sqrt(mean(x^2) + eps)   xh = x * r
 *	F: y = xh * gain
 *	I: dx = r * (g - xh * mean(g * xh)) with g = dy * gain
 *	W: dgain = sum over rows of dy * xh
 *
 * Zhang, Sennrich: "Root mean square layer normalization", NeurIPS 2019. r of every row is saved for both halves. The
 * gain starts at 1 and does not decay. Reads of the configuration: eps (0: 1e-5, as Llama).
 */
#include "nn/layers/shared.h"

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
	(void)cfg;
	*out = (mr_layer_needs){.x_i = true, .x_w = true, .dy_w = true};
	mr_saved_add(&out->aux_w, "1 / root of the mean square of each row", /* I reads it too, and comes first */
		     mr_layer_align(mr_layer_compute_bytes(k, samples * in->rows)));
}

static mr_status rms_norm_forward(const mr_layer_call *c)
{
	double eps = c->cfg->eps > 0 ? c->cfg->eps : DEFAULT_EPS;

	c->k->norm(c->kc, mr_layer_rows(c), c->in->cols, eps, c->x[0], c->w[0], NULL, c->y[0], NULL, c->aux_w);
	return MR_OK;
}

static mr_status rms_norm_backward_input(const mr_layer_call *c)
{
	if (c->dx[0])
		c->k->norm_backward_input(c->kc, mr_layer_rows(c), c->in->cols, c->x[0], c->w[0], NULL, c->aux_w,
					  c->dy[0], c->dx[0], c->dx_add[0]);
	return MR_OK;
}

static mr_status rms_norm_backward_weight(const mr_layer_call *c)
{
	c->k->norm_backward_weight(c->kc, mr_layer_rows(c), c->in->cols, c->x[0], NULL, c->aux_w, c->dy[0],
				   c->dw[0], NULL, c->dw_add);
	return MR_OK;
}

static mr_status rms_norm_backward(const mr_layer_call *c)
{
	if (!c->dx[0])
		return rms_norm_backward_weight(c);
	c->k->norm_backward(c->kc, mr_layer_rows(c), c->in->cols, c->x[0], c->w[0], NULL, c->aux_w, c->dy[0], c->dx[0],
			    c->dx_add[0], c->dw[0], NULL, c->dw_add);
	return MR_OK;
}

const mr_layer_ops mr_layer_rms_norm = {
	.name = "rms_norm",
	.summary = "rows scaled to a mean square of 1, with a gain",
	.n_in = 1,
	.shape = rms_norm_shape,
	.params = rms_norm_params,
	.needs = rms_norm_needs,
	.forward = rms_norm_forward,
	.backward_input = rms_norm_backward_input,
	.backward_weight = rms_norm_backward_weight,
	.backward = rms_norm_backward,
};
