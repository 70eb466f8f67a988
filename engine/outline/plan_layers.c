#include "outline/plan_layers.h"

/* Bytes of the values that a stage which begins at @node takes from the one before it. */
static double crossing(const mr_session *s, uint32_t node)
{
	return (double)s->samples * (double)mr_graph_crossing(s->graph, node, s->kernels->types.activations, false);
}

void mr_plan_layers_print(const mr_session *s, const mr_forecast *f, FILE *out)
{
	const mr_graph *g = s->graph;

	fprintf(out, "# %s, micro-batches of %lld samples; %s\n", mr_job_model(s->job)->name, (long long)s->samples,
		f->costs.source);
	fprintf(out, "name,forward,backward,activation,weights\n");
	for (uint32_t i = 0, end; i < g->n_nodes; i = end) {
		mr_stage_cost sum = {0};
		double weights = 0;

		for (end = i; end == i || (end < g->n_nodes && !mr_graph_cut_ok(g, end)); end++) {
			mr_costs_add(g, end, &f->costs.layer[end], &sum);
			weights += (double)mr_costs_params(g, end) * (double)mr_dtype_bytes(s->kernels->types.weights);
		}
		fprintf(out, "%s,%.6g,%.6g,%.0f,%.0f\n", g->nodes[i].name, sum.f, sum.i + sum.w + sum.u,
			end < g->n_nodes ? crossing(s, end) : 0, weights);
	}
}
