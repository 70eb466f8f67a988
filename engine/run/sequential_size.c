#include "run/sequential_size.h"

#include "base/size.h"

static uint64_t rounded(uint64_t bytes)
{
	return mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
}

bool mr_sequential_steps_inside(const mr_sequential_config *c)
{
	return !(c->clip > 0) && !c->lists && !mr_graph_ties(c->graph) && mr_optim_elementwise(c->optim);
}

bool mr_sequential_shares_grads(const mr_sequential_config *c)
{
	return c->n_micro == 1 && !c->measures && mr_sequential_steps_inside(c);
}

size_t mr_sequential_work_bytes(const mr_sequential_config *c)
{
	size_t most = 0;

	for (uint32_t p = 0; p < c->graph->n_params && c->optim->ops->work_bytes; p++) {
		mr_optim_matrix m = mr_graph_matrix(c->graph, p);
		size_t bytes = m.rows ? c->optim->ops->work_bytes(&m, c->kernels->dtype) : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}

static uint64_t grad_bytes(const mr_sequential_config *c)
{
	const mr_graph *g = c->graph;
	uint64_t all = 0, most = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		uint64_t here = 0;

		for (uint32_t p = g->nodes[i].first_param; p < g->nodes[i].first_param + g->nodes[i].n_params; p++)
			here += rounded((uint64_t)g->params[p].n * mr_dtype_bytes(c->kernels->dtype));
		all += here;
		most = here > most ? here : most;
	}
	if (c->lists && c->lists->n_pipes > 1)
		return 2 * all;
	return mr_sequential_shares_grads(c) ? rounded(most) : all;
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
	out->grads = grad_bytes(c);
	for (uint32_t p = 0; p < g->n_params; p++) {
		uint64_t bytes = rounded((uint64_t)g->params[p].n * mr_dtype_bytes(k->dtype));

		if (g->params[p].tied_to >= 0)
			continue;
		out->weights += bytes;
		out->optimizer += c->optim->ops->n_states * bytes;
	}
	if (!mr_optim_elementwise(c->optim))
		out->scratch += rounded(mr_sequential_work_bytes(c));
}
