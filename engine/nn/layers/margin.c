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
#include <string.h>

#include "base/rng.h"
#include "nn/layers/shared.h"

/* Columns of the input and output of a block. */
typedef struct parts {
	int64_t rows, in, out;
	int64_t head;  /* sum and penalty that arrive: 0, 1 or 2 columns */
	int64_t block, rest;
	int64_t reg;   /* 1 with a penalty */
} parts;

static parts parts_of(const mr_layer_cfg *cfg, mr_shape in, int64_t samples)
{
	int64_t reg = cfg->l2 > 0, head = cfg->first ? 0 : 1 + reg, rest = in.cols - head - cfg->out;

	return (parts){.rows = samples * in.rows, .in = in.cols, .out = 1 + reg + rest, .head = head, .block = cfg->out,
		       .rest = rest, .reg = reg};
}

/* Columns of a gradient that are summed together. */
enum { COLUMNS = 256 };

#include "nn/layers/margin_loops.inc"

typedef struct loops {
	void (*forward)(const mr_layer_call *c, const parts *p);
	void (*input)(const mr_layer_call *c, const parts *p);
	void (*penalty)(const mr_layer_call *c, const parts *p);
	void (*weight)(const mr_layer_call *c, const parts *p);
} loops;

static const loops *loops_of(const mr_kernels *k)
{
	static const loops loops_f32 = {forward_f32, input_f32, penalty_f32, weight_f32};
	static const loops loops_f64 = {forward_f64, input_f64, penalty_f64, weight_f64};
	static const loops loops_bf16 = {forward_bf16, input_bf16, penalty_bf16, weight_bf16};
	static const loops loops_pure = {forward_pure, input_pure, penalty_pure, weight_pure};

	return MR_OF_TYPES(k, &loops);
}

static mr_status margin_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	parts p = parts_of(cfg, in[0], 1);

	MR_TRY(mr_layer_check_numbers("margin", in[0]));
	if (cfg->out < 1 || p.rest < 0)
		return mr_fail(MR_ECONFIG, "margin needs 1 to %lld coordinates, got %lld",
			       (long long)(in[0].cols - p.head), (long long)cfg->out);
	*out = (mr_shape){.rows = in[0].rows, .cols = p.out};
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
	parts p = parts_of(c->cfg, c->in[0], c->samples);

	loops_of(c->k)->forward(c, &p);
	return MR_OK;
}

static mr_status margin_backward_input(const mr_layer_call *c)
{
	parts p = parts_of(c->cfg, c->in[0], c->samples);

	if (c->dx[0])
		loops_of(c->k)->input(c, &p);
	if (p.reg)
		loops_of(c->k)->penalty(c, &p);
	return MR_OK;
}

static mr_status margin_backward_weight(const mr_layer_call *c)
{
	parts p = parts_of(c->cfg, c->in[0], c->samples);

	loops_of(c->k)->weight(c, &p);
	return MR_OK;
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
