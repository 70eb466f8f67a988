/*
 * mse.c - the loss of a regression: half the squared distance to the target, mean over rows.
 *
 *	a, target [n, cols]   loss = sum over all elements of (a - target)^2 / (2 n)
 *	F overwrites a by (a - target) / n
 *
 * (The mean is over samples, not over elements.) I has nothing left to do. Reads nothing of the
 * configuration.
 */
#include "nn/element.h"
#include "nn/layers/shared.h"

static mr_status mse_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("mse", in[0]));
	*out = in[0];
	return MR_OK;
}

static mr_status mse_target(const mr_layer_cfg *cfg, mr_shape in, mr_shape target)
{
	(void)cfg;
	if (target.tokens)
		return mr_fail(MR_ECONFIG, "mse needs numbers as targets, the data has classes");
	if (target.rows != in.rows || target.cols != in.cols)
		return mr_fail(MR_ECONFIG,
			       "mse compares equal shapes: the model gives %lld x %lld, the data %lld x %lld",
			       (long long)in.rows, (long long)in.cols, (long long)target.rows, (long long)target.cols);
	return MR_OK;
}

/* Before the loss overwrites the predictions. */
static void judge(const mr_layer_call *c)
{
	for (int64_t i = 0; i < c->samples; i++)
		mr_judged_number(c->judged, mr_element(c->k->types.activations, c->x[0], i),
				 mr_element(c->k->types.compute, c->target, i));
}

static mr_status mse_forward(const mr_layer_call *c)
{
	if (c->judged && !c->k->recorded)
		judge(c);
	return c->k->mse(c->kc, &(mr_mse_args){.rows = mr_layer_rows(c), .cols = c->in->cols, .a = (void *)c->x[0],
					       .y = c->target, .loss = c->loss});
}

const mr_layer_ops mr_layer_mse = {
	.name = "mse",
	.summary = "loss: half the squared distance to the target",
	.n_in = 1,
	.loss = true,
	.errs = true,
	.shape = mse_shape,
	.target = mse_target,
	.needs = mr_layer_needs_nothing,
	.forward = mse_forward,
	.backward_input = mr_layer_pass,
};
