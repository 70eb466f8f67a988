#include "stage/layer_symbols.h"

#include <stdio.h>

mr_layer_symbols mr_layer_symbols_of(const mr_node *n, int64_t samples, const mr_layer_needs *z)
{
	bool f = z->flops_f > 0, i = z->flops_i > 0, w = z->flops_w > 0;
	const char *const pass[MR_N_PASSES] = {
		f ? "x_W" : "F",
		i ? "dz_W^T" : "I",
		w ? "dW" : "W",
		i && w ? "dz_W^T+dW" : w ? "dW" : i ? "dz_W^T" : "B",
	};
	mr_layer_symbols y;

	for (int k = 0; k < MR_N_PASSES; k++) {
		char name[96];

		snprintf(name, sizeof(name), "%s:%s:%lldx%lldx%lld", n->ops->name, pass[k],
			 (long long)(samples * n->in_shape[0].rows), (long long)n->in_shape[0].cols,
			 (long long)n->out_shape[0].cols);
		y.of[k] = mr_perf_map_stub(name);
	}
	return y;
}

static mr_status forward(const void *ops, const void *c, uint32_t n)
{
	(void)n;
	return ((const mr_layer_ops *)ops)->forward(c);
}

static mr_status input(const void *ops, const void *c, uint32_t n)
{
	(void)n;
	return ((const mr_layer_ops *)ops)->backward_input(c);
}

static mr_status weight(const void *ops, const void *c, uint32_t n)
{
	return mr_layer_weights(ops, c, n);
}

static mr_status both(const void *ops, const void *c, uint32_t n)
{
	(void)n;
	return mr_layer_backward(ops, c);
}

mr_status mr_layer_symbols_call(const mr_layer_symbols *y, enum mr_layer_pass pass, const mr_layer_ops *ops,
				const mr_layer_call *c, uint32_t n)
{
	static mr_perf_call *const calls[MR_N_PASSES] = {forward, input, weight, both};

	return mr_perf_map_call(y->of[pass], calls[pass], ops, c, n);
}
