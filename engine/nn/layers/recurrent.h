/*
 * recurrent.h - what lstm.c and gru.c share: a layer that processes the rows of a sample one after the other.
 *
 *	x [n, T, I]   y [n, T, H]   G gates (4, 3)   weight_ih [I, G H]   weight_hh [H, G H]   bias_ih, bias_hh [G H]
 *	a = x weight_ih + bias_ih for all rows at once; then for each t
 *	b = y_(t-1) weight_hh + bias_hh, and the cell (mr_kernels.cell) computes y_t and its memory from a_t, b
 *	                                and its memory of the row before
 *
 * y before the first row is 0, or with cfg.carry that with which the micro-batch before it of the same columns ended;
 * so is the memory of an LSTM. No gradient goes back there. With cfg.rate, F and I read weight_hh through a mask, the
 * same for all rows and micro-batches of a step, and its gradient goes through the mask, too (DropConnect: Wan and
 * others, ICML 2013; in an LSTM: Merity, Keskar, Socher, 2018). With cfg.reverse the rows are processed from the last
 * to the first. The columns of the gates lie side by side in PyTorch's order, and there are two biases, as in PyTorch.
 * I processes the rows in the opposite order and keeps the gradients of a and b of all rows for W, where
 *
 *	dweight_ih = x^T da, dweight_hh = y_before^T db, and the biases' are sums over rows
 *
 * are one product each over all rows. Where the backend takes all rows as one operation (mr_kernels.recurrence), F and
 * I are that, I makes the gradients of all weights, and W adds and steps them. Initial values are uniform between
 * -1 / sqrt(H) and 1 / sqrt(H), as in PyTorch.
 */
#ifndef MR_NN_LAYERS_RECURRENT_H
#define MR_NN_LAYERS_RECURRENT_H

#include "nn/layers/shared.h"

/* Values that are carried, in the order of mr_layer_call.begin. */
enum { MR_RECURRENT_H, MR_RECURRENT_C };

uint32_t mr_recurrent_carried(mr_cell_kind kind, const mr_layer_cfg *cfg, mr_layer_carried spec[MR_LAYER_CARRIED]);
mr_status mr_recurrent_shape(const char *name, const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out) MR_MUST_USE;
uint32_t mr_recurrent_params(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in,
			     mr_param_spec spec[MR_LAYER_PARAMS]);
void mr_recurrent_needs(mr_cell_kind kind, const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples,
			const mr_kernels *k, mr_layer_needs *out);
bool mr_recurrent_decodes(const mr_layer_cfg *cfg);
size_t mr_recurrent_past_bytes(const mr_layer_cfg *cfg, const mr_shape *in, const mr_kernels *k);
mr_status mr_recurrent_forward(mr_cell_kind kind, const mr_layer_call *c) MR_MUST_USE;
mr_status mr_recurrent_backward_input(mr_cell_kind kind, const mr_layer_call *c) MR_MUST_USE;
mr_status mr_recurrent_backward_weight(mr_cell_kind kind, const mr_layer_call *c) MR_MUST_USE;

/* The layer @id, whose cell is @kind: its functions are those above. */
#define MR_RECURRENT_LAYER(id, kind, what) \
	static mr_status id##_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out) \
	{ \
		return mr_recurrent_shape(#id, cfg, in, out); \
	} \
	static uint32_t id##_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS]) \
	{ \
		return mr_recurrent_params(kind, cfg, in, spec); \
	} \
	static uint32_t id##_carried(const mr_layer_cfg *cfg, mr_layer_carried spec[MR_LAYER_CARRIED]) \
	{ \
		return mr_recurrent_carried(kind, cfg, spec); \
	} \
	static void id##_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k, \
			       mr_layer_needs *out) \
	{ \
		mr_recurrent_needs(kind, cfg, in, samples, k, out); \
	} \
	static mr_status id##_forward(const mr_layer_call *c) { return mr_recurrent_forward(kind, c); } \
	static mr_status id##_backward_input(const mr_layer_call *c) { return mr_recurrent_backward_input(kind, c); } \
	static mr_status id##_backward_weight(const mr_layer_call *c) \
	{ \
		return mr_recurrent_backward_weight(kind, c); \
	} \
	const mr_layer_ops mr_layer_##id = { \
		.name = #id, \
		.summary = what, \
		.n_in = 1, \
		.shape = id##_shape, \
		.params = id##_params, \
		.carried = id##_carried, \
		.needs = id##_needs, \
		.forward = id##_forward, \
		.decodes = mr_recurrent_decodes, \
		.past_bytes = mr_recurrent_past_bytes, \
		.backward_input = id##_backward_input, \
		.backward_weight = id##_backward_weight, \
		.steps = 1 | 2, /* the weights; biases are small */ \
	};

#endif
