#include "run/sequential_size.h"

#include "base/size.h"

static uint64_t rounded(uint64_t bytes)
{
	return mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
}

void mr_sequential_size(const mr_sequential_config *c, mr_run_memory *out)
{
	const mr_graph *g = c->graph;
	const mr_kernels *k = c->kernels;

	*out = (mr_run_memory){.boundaries = rounded((uint64_t)c->samples * mr_shape_bytes(g->target, k->dtype))};
	for (uint32_t v = 0; v < g->n_values; v++)
		out->activations += 2 * rounded((uint64_t)c->samples * mr_shape_bytes(g->values[v].shape, k->dtype));
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *nd = &g->nodes[i];
		mr_layer_needs z = {0};

		nd->ops->needs(&nd->cfg, g->values[nd->in[0]].shape, c->samples, k, &z);
		out->activations += rounded(z.aux_i) + rounded(z.aux_w) + rounded(z.kept);
		out->scratch += rounded(z.scratch);
	}
	for (uint32_t p = 0; p < g->n_params; p++) {
		uint64_t bytes = rounded((uint64_t)g->params[p].n * mr_dtype_bytes(k->dtype));

		out->grads += bytes;
		if (g->params[p].tied_to >= 0)
			continue;
		out->weights += bytes;
		out->optimizer += c->optim->ops->n_states * bytes;
	}
}
