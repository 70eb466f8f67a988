/*
 * gru.c - gated recurrent unit, one direction.
 *
 *	r, z = logistic(a + b), n = tanh(a + r b); gates in the order r, z, n (a, b: recurrent.h)
 *	y_t = (1 - z) n + z y_(t-1)
 *
 * Cho and others: "Learning phrase representations using RNN encoder-decoder", EMNLP 2014. r is applied after the
 * recurrent product, as in PyTorch's GRU, whose equations and order of columns these are. Reads of the configuration:
 * out, rate, reverse, carry.
 */
#include "nn/layers/recurrent.h"

static mr_status gru_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	return mr_recurrent_shape("gru", cfg, in, out);
}

static uint32_t gru_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	return mr_recurrent_params(MR_CELL_GRU, cfg, in, spec);
}

static uint32_t gru_carried(const mr_layer_cfg *cfg, mr_layer_carried spec[MR_LAYER_CARRIED])
{
	return mr_recurrent_carried(MR_CELL_GRU, cfg, spec);
}

static void gru_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		       mr_layer_needs *out)
{
	mr_recurrent_needs(MR_CELL_GRU, cfg, in, samples, k, out);
}

static mr_status gru_forward(const mr_layer_call *c)
{
	return mr_recurrent_forward(MR_CELL_GRU, c);
}

static mr_status gru_backward_input(const mr_layer_call *c)
{
	return mr_recurrent_backward_input(MR_CELL_GRU, c);
}

static mr_status gru_backward_weight(const mr_layer_call *c)
{
	return mr_recurrent_backward_weight(MR_CELL_GRU, c);
}

const mr_layer_ops mr_layer_gru = {
	.name = "gru",
	.summary = "gated recurrent unit over the rows of a sample",
	.n_in = 1,
	.shape = gru_shape,
	.params = gru_params,
	.carried = gru_carried,
	.needs = gru_needs,
	.forward = gru_forward,
	.backward_input = gru_backward_input,
	.backward_weight = gru_backward_weight,
	.steps = 1 | 2, /* the weights; biases are small */
};
