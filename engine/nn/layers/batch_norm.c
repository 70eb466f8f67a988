/*
 * batch_norm.c - batch normalisation: every column is normalised to mean 0 and variance 1 over the rows of a
 * micro-batch, then multiplied by a gain and added to a shift; a ReLU may follow.
 *
 *	x, y [m, C], m rows of all samples   gain, shift [C]   rstd = 1 / sqrt(variance + eps)   h = (x - mean) * rstd
 *	F: y = act(h * gain + shift)
 *	I: dx = gain * rstd * (g - mean(g) - h * mean(g * h)), g the gradient before act
 *	W: dgain = sum over rows of g * h, dshift = sum over rows of g
 *
 * Ioffe, Szegedy: "Batch normalization", ICML 2015. In images (channels last) a row is one pixel. The variance that
 * normalises is sum (x - mean)^2 / m. Evaluation uses the running mean and variance, which are state: each micro-batch
 * of the training updates them,
 *
 *	running = (1 - momentum) * running + momentum * its own, where its variance is sum (x - mean)^2 / (m - 1)
 *
 * so m is at least 2 in training. A mean or variance that is not finite is left out, since the step with it may be
 * skipped, too. I computes the sums of W as well and stores them in `kept`. The gain starts at 1, the shift at 0;
 * weight decay does not apply to them. Reads of the configuration: act
 * (NONE or RELU), eps (0: 1e-5), momentum (0: 0.1).
 */
#include "nn/layers/shared.h"

#include <math.h>

#include "nn/element.h"
#define DEFAULT_EPS 1e-5
#define DEFAULT_MOMENTUM 0.1

enum { MEAN, VARIANCE };

static mr_status batch_norm_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("batch_norm", in[0]));
	if (!(cfg->eps >= 0))
		return mr_fail(MR_ECONFIG, "batch_norm needs eps >= 0, got %g", cfg->eps);
	if (!(cfg->momentum >= 0 && cfg->momentum <= 1))
		return mr_fail(MR_ECONFIG, "batch_norm needs a momentum from 0 to 1, got %g", cfg->momentum);
	if (cfg->act != MR_ACT_NONE && cfg->act != MR_ACT_RELU)
		return mr_fail(MR_ECONFIG, "batch_norm is followed by ReLU or by no activation");
	*out = in[0];
	return MR_OK;
}

static uint32_t batch_norm_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)cfg;
	spec[0] = (mr_param_spec){.suffix = "weight", .rank = 1, .dim = {in->cols, 1}, .init = MR_INIT_ONE};
	spec[1] = (mr_param_spec){.suffix = "bias", .rank = 1, .dim = {in->cols, 1}, .init = MR_INIT_ZERO};
	return 2;
}

static uint32_t batch_norm_states(const mr_layer_cfg *cfg, const mr_shape *in, mr_layer_state spec[MR_LAYER_STATES])
{
	(void)cfg;
	spec[MEAN] = (mr_layer_state){.suffix = "running_mean", .rank = 1, .dim = {in->cols, 1}};
	spec[VARIANCE] = (mr_layer_state){.suffix = "running_var", .rank = 1, .dim = {in->cols, 1}, .value = 1};
	return 2;
}

static void batch_norm_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			     mr_layer_needs *out)
{
	size_t bytes = k ? mr_layer_align((size_t)in->cols * mr_dtype_bytes(k->types.gradients)) : 0;

	(void)samples;
	*out = (mr_layer_needs){.x_i = true, .y_i = cfg->act != MR_ACT_NONE};
	mr_saved_add(&out->kept, "gradient of the gain", bytes);
	mr_saved_add(&out->kept, "gradient of the shift", bytes);
}

static mr_batch_norm call_of(const mr_layer_call *c)
{
	return (mr_batch_norm){
		.rows = mr_layer_rows(c),
		.cols = c->in->cols,
		.eps = c->cfg->eps > 0 ? c->cfg->eps : DEFAULT_EPS,
		.act = c->cfg->act,
		.given = !c->train,
	};
}

static mr_status batch_norm_forward(const mr_layer_call *c)
{
	mr_batch_norm b = call_of(c);
	void *mean = c->train ? c->seen[MEAN] : (void *)(uintptr_t)c->state[MEAN];
	void *variance = c->train ? c->seen[VARIANCE] : (void *)(uintptr_t)c->state[VARIANCE];

	if (c->train && b.rows < 2)
		return mr_fail(MR_ECONFIG, "batch_norm has one row in a micro-batch, whose variance is none");
	return c->k->batch_norm(c->kc, &(mr_batch_norm_args){.b = &b, .x = c->x[0], .gain = c->w[0], .shift = c->w[1],
							     .y = c->y[0], .mean = mean, .variance = variance});
}

static void *kept_shift(const mr_layer_call *c)
{
	return (char *)c->kept + mr_layer_align((size_t)c->in->cols * mr_dtype_bytes(c->k->types.gradients));
}

static mr_status batch_norm_backward_input(const mr_layer_call *c)
{
	mr_batch_norm b = call_of(c);

	const void *y = b.act != MR_ACT_NONE ? c->y[0] : NULL; /* as batch_norm_needs says */

	return c->k->batch_norm_backward(
		c->kc, &(mr_batch_norm_backward_args){.b = &b, .x = c->x[0], .y = y, .gain = c->w[0],
						      .mean = c->seen[MEAN], .variance = c->seen[VARIANCE],
						      .dy = c->dy[0], .dx = c->dx[0], .add = c->dx_add[0],
						      .dgain = c->kept, .dshift = kept_shift(c)});
}

static mr_status batch_norm_backward_weight(const mr_layer_call *c)
{
	const void *made[] = {c->kept, kept_shift(c)};

	for (int j = 0; j < 2; j++)
		if (c->dw_add)
			MR_TRY(c->k->sum_gradients(c->kc, &(mr_sum_gradients_args){.n = c->in->cols, .a = c->dw[j],
										   .b = made[j], .y = c->dw[j]}));
		else
			mr_layer_copy(c, c->dw[j], made[j],
				      (size_t)c->in->cols * mr_dtype_bytes(c->k->types.gradients));
	return MR_OK;
}

/* The new value of one number of the running mean or variance. */
static double fold_number(double running, double seen, double momentum)
{
	return isfinite(seen) ? (1 - momentum) * running + momentum * seen : running;
}

static void batch_norm_fold(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, mr_dtype dtype,
			    const void *const *seen, void *const *state)
{
	double momentum = cfg->momentum > 0 ? cfg->momentum : DEFAULT_MOMENTUM, m = (double)(samples * in->rows);
	double factor[] = {1, m / (m - 1)};

	for (int j = MEAN; j <= VARIANCE; j++)
		for (int64_t i = 0; i < in->cols; i++)
			mr_element_put(dtype, state[j], i,
				       fold_number(mr_element(dtype, state[j], i),
						   factor[j] * mr_element(dtype, seen[j], i), momentum));
}

const mr_layer_ops mr_layer_batch_norm = {
	.name = "batch_norm",
	.summary = "columns normalised to mean 0 and variance 1 over a micro-batch, with gain and shift",
	.n_in = 1,
	.least_rows = 2,
	.shape = batch_norm_shape,
	.params = batch_norm_params,
	.states = batch_norm_states,
	.fold = batch_norm_fold,
	.needs = batch_norm_needs,
	.forward = batch_norm_forward,
	.backward_input = batch_norm_backward_input,
	.backward_weight = batch_norm_backward_weight,
};
