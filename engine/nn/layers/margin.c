/*
 * margin.c - one block of coordinates of a linear objective: adds its share X_b w_b to the running prediction.
 *
 *	in  [n, (sum, (penalty)), x_b, x_rest]      out [n, sum + x_b w, (penalty + l2/2 |w|^2), x_rest]
 *
 * The objectives of the theory are functions of the margins X w alone (and of |w|^2), so a pipeline of blocks passes on
 * the sum so far and those columns of the data that the blocks behind still need. The first block finds data only. With
 * l2 the penalty travels beside the sum, in every row alike, and the loss at the end adds its mean; so a block's
 * gradient
 *
 *	dw = x_b^T dsum + l2 w (sum over rows of dpenalty)
 *
 * comes back through the pipeline as any layer's does, and uses the weights that this micro-batch read. With noise,
 * every gradient of a micro-batch has a normal deviate added to each coordinate: a pure function of the run's seed, the
 * micro-batch's first sample and the layer.
 *
 * Reads of the configuration: out (coordinates of the block), first, l2, noise. Weights start at 0.
 */
#include "nn/layers/shared.h"

static mr_margin_block margin_of(const mr_layer_cfg *cfg, mr_shape in, int64_t samples)
{
	int64_t head = cfg->first ? 0 : 1 + (cfg->l2 > 0);

	return (mr_margin_block){.rows = samples * in.rows, .head = head, .block = cfg->out,
			   .rest = in.cols - head - cfg->out, .l2 = cfg->l2, .noise = cfg->noise};
}

static mr_status margin_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	mr_margin_block m = margin_of(cfg, in[0], 1);

	MR_TRY(mr_layer_check_numbers("margin", in[0]));
	if (cfg->out < 1 || m.rest < 0)
		return mr_fail(MR_ECONFIG, "margin needs 1 to %lld coordinates, got %lld",
			       (long long)(in[0].cols - m.head), (long long)cfg->out);
	*out = (mr_shape){.rows = in[0].rows, .cols = mr_margin_out(&m)};
	return MR_OK;
}

static uint32_t margin_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)in;
	spec[0] = (mr_param_spec){.suffix = "weight", .rank = 1, .dim = {cfg->out, 1}, .init = MR_INIT_ZERO};
	return 1;
}

static void margin_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			 mr_layer_needs *out)
{
	double flops = 2.0 * (double)(samples * in->rows) * (double)cfg->out;

	*out = (mr_layer_needs){
		.x_w = true,
		.dy_w = true,
		.flops_f = flops,
		.flops_i = flops,
		.flops_w = flops,
	};
	if (cfg->l2 > 0)
		mr_saved_add(&out->kept, "gradient of the penalty", mr_layer_bytes(k, cfg->out));
}

static mr_status margin_forward(const mr_layer_call *c)
{
	mr_margin_block m = margin_of(c->cfg, c->in[0], c->samples);

	return c->k->margin(c->kc, &(mr_margin_args){.m = &m, .x = c->x[0], .w = c->w[0], .y = c->y[0]});
}

static mr_status margin_backward_input(const mr_layer_call *c)
{
	mr_margin_block m = margin_of(c->cfg, c->in[0], c->samples);

	return c->k->margin_backward_input(c->kc, &(mr_margin_backward_input_args){
							  .m = &m, .w = c->w[0], .dy = c->dy[0], .dx = c->dx[0],
							  .add = c->dx_add[0], .penalty = c->kept});
}

static mr_status margin_backward_weight(const mr_layer_call *c)
{
	mr_margin_block m = margin_of(c->cfg, c->in[0], c->samples);

	return c->k->margin_backward_weight(
		c->kc, &(mr_margin_backward_weight_args){.m = &m, .x = c->x[0], .dy = c->dy[0], .penalty = c->kept,
							 .noise = m.noise > 0 && c->train ? &c->mask : NULL,
							 .dw = c->dw[0], .add = c->dw_add});
}

const mr_layer_ops mr_layer_margin = {
	.name = "margin",
	.summary = "one block of coordinates of a linear objective",
	.n_in = 1,
	.shape = margin_shape,
	.params = margin_params,
	.needs = margin_needs,
	.forward = margin_forward,
	.backward_input = margin_backward_input,
	.backward_weight = margin_backward_weight,
};
