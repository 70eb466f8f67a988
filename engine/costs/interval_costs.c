#include "costs/interval_costs.h"

#include <stdlib.h>

#include "costs/cost_model.h"

/* Of all layers before one. */
struct mr_interval_sums {
	mr_stage_cost time[MR_MODEL_N_LEVELS];
	double weights, steps, kept, used; /* used: weights, gradients and activations that F, I and W go through */
	double in;                  /* of a stage that begins at this layer */
};

void mr_transfer_costs(const mr_workload *of, uint32_t threads, double *near_s, double *far_s)
{
	mr_server m = mr_model_server(of);

	*near_s = 1 / (threads * m.l3_gbs * 1e9);
	*far_s = 1 / mr_model_link_rate(&m);
}

mr_status mr_interval_costs_init(mr_interval_costs *c, const mr_workload *of, int64_t samples, uint32_t threads)
{
	const mr_graph *g = of->graph;
	const mr_types *types = &of->kernels->types;
	mr_server m = mr_model_server(of);

	*c = (mr_interval_costs){.sum = calloc((size_t)g->n_nodes + 1, sizeof(*c->sum))};
	if (!c->sum)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u layers", g->n_nodes);
	for (uint32_t n = 0; n < g->n_nodes; n++) {
		const mr_interval_sums *before = &c->sum[n];
		mr_interval_sums *x = &c->sum[n + 1];
		double params = (double)mr_costs_params(g, n), steps = (double)mr_costs_stepped(g, n);
		double values = (double)samples * (double)mr_costs_values(of, n);
		bool keeps = !g->nodes[n].n_out || !g->values[g->nodes[n].out].fixed;

		*x = *before;
		x->weights += params * (double)mr_dtype_bytes(types->weights);
		x->steps += steps * (double)mr_dtype_bytes(types->weights);
		x->kept += keeps ? values : 0;
		x->used += values + params * (double)mr_dtype_bytes(types->weights) +
			   steps * (double)mr_dtype_bytes(types->gradients);
		for (int level = 0; level < MR_MODEL_N_LEVELS; level++) {
			mr_stage_cost l = mr_model_layer(of, samples, threads, (mr_model_level)level, n);

			mr_cost_add(&x->time[level], &l);
		}
		c->sum[n].in = (double)samples * (double)(mr_graph_crossing(g, n, types->activations, false) +
							  mr_graph_crossing(g, n, types->activations, true));
	}
	c->fits[0] = threads * 1024.0 * m.l2_kib;
	c->fits[1] = threads * 1048576.0 * m.l3_mib / m.cores;
	mr_transfer_costs(of, threads, &c->near_s, &c->far_s);
	return MR_OK;
}

void mr_interval_costs_fini(mr_interval_costs *c)
{
	free(c->sum);
	*c = (mr_interval_costs){0};
}

mr_interval_cost mr_interval_costs_of(const mr_interval_costs *c, uint32_t first, uint32_t end)
{
	const mr_interval_sums *a = &c->sum[first], *b = &c->sum[end];
	double used = b->used - a->used;
	mr_model_level near = used <= c->fits[0] ? MR_MODEL_L2 : MR_MODEL_L3;
	double far = used > c->fits[1] ? 1 - c->fits[1] / used : 0; /* what no cache holds comes from memory */
	const mr_stage_cost *x = &a->time[near], *y = &b->time[near];
	const mr_stage_cost *p = &a->time[MR_MODEL_MEMORY], *q = &b->time[MR_MODEL_MEMORY];

	return (mr_interval_cost){.time = {.f = (1 - far) * (y->f - x->f) + far * (q->f - p->f),
					   .i = (1 - far) * (y->i - x->i) + far * (q->i - p->i),
					   .w = (1 - far) * (y->w - x->w) + far * (q->w - p->w),
					   .u = (1 - far) * (y->u - x->u) + far * (q->u - p->u)},
				  .weights = b->weights - a->weights,
				  .steps = b->steps - a->steps,
				  .kept = b->kept - a->kept,
				  .in = first ? a->in : 0};
}
