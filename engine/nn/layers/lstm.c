/*
 * lstm.c - long short-term memory, one direction.
 *
 *	i, f, o = logistic(a + b), g = tanh(a + b); gates in the order i, f, g, o (a, b: recurrent.h)
 *	c_t = f c_(t-1) + i g      y_t = o tanh(c_t)      c before the first row is 0
 *
 * Hochreiter, Schmidhuber: "Long short-term memory", Neural Computation 9(8), 1997; with the forget gate of Gers,
 * Schmidhuber, Cummins, 2000; the equations and columns are those of PyTorch's LSTM. Reads of the configuration: out,
 * rate, reverse, carry.
 */
#include "nn/layers/recurrent.h"

static mr_status lstm_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	return mr_recurrent_shape("lstm", cfg, in, out);
}

static uint32_t lstm_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	return mr_recurrent_params(MR_CELL_LSTM, cfg, in, spec);
}

static uint32_t lstm_carried(const mr_layer_cfg *cfg, mr_layer_carried spec[MR_LAYER_CARRIED])
{
	return mr_recurrent_carried(MR_CELL_LSTM, cfg, spec);
}

static void lstm_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		       mr_layer_needs *out)
{
	mr_recurrent_needs(MR_CELL_LSTM, cfg, in, samples, k, out);
}

static mr_status lstm_forward(const mr_layer_call *c)
{
	return mr_recurrent_forward(MR_CELL_LSTM, c);
}

static mr_status lstm_backward_input(const mr_layer_call *c)
{
	return mr_recurrent_backward_input(MR_CELL_LSTM, c);
}

static mr_status lstm_backward_weight(const mr_layer_call *c)
{
	return mr_recurrent_backward_weight(MR_CELL_LSTM, c);
}

const mr_layer_ops mr_layer_lstm = {
	.name = "lstm",
	.summary = "long short-term memory over the rows of a sample",
	.n_in = 1,
	.shape = lstm_shape,
	.params = lstm_params,
	.carried = lstm_carried,
	.needs = lstm_needs,
	.forward = lstm_forward,
	.backward_input = lstm_backward_input,
	.backward_weight = lstm_backward_weight,
	.steps = 1 | 2, /* the weights; biases are small */
};
