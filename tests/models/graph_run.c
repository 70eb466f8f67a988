#include "graph_run.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "nn/element.h"

/* What one node saves between its calls. */
struct graph_run_node {
	mr_layer_needs needs;
	void *aux_i, *aux_w, *kept, *scratch;
	void *seen[MR_LAYER_STATES];
};

static void *take(size_t bytes)
{
	void *p = NULL;

	CU_ASSERT_EQUAL_FATAL(posix_memalign(&p, 64, bytes ? bytes : 1), 0);
	memset(p, 0xff, bytes);
	return p;
}

static void **take_list(uint32_t n)
{
	void **list = calloc(n ? n : 1, sizeof(*list));

	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	return list;
}

static void take_tensors(graph_run *r, uint64_t seed)
{
	const mr_graph *g = r->g;
	const mr_types *t = &r->k->types;

	for (uint32_t v = 1; v < g->n_values; v++) {
		size_t bytes = (size_t)r->samples * mr_shape_bytes(g->values[v].shape, t->activations);

		r->value[v] = take(bytes);
		r->gradient[v] = take(bytes);
	}
	for (uint32_t p = 0; p < g->n_params; p++) {
		r->dw[p] = take((size_t)g->params[p].n * mr_dtype_bytes(t->gradients));
		if (g->params[p].tied_to >= 0) {
			r->w[p] = r->w[g->params[p].tied_to];
			continue;
		}
		r->w[p] = take((size_t)g->params[p].n * mr_dtype_bytes(t->weights));
		mr_graph_init_param(g, p, seed, t->weights, r->w[p], NULL);
	}
}

void graph_run_init(graph_run *r, const mr_graph *g, const mr_kernels *k, int64_t samples, uint64_t seed)
{
	*r = (graph_run){.g = g, .k = k, .samples = samples, .seed = seed, .train = true};
	MR_CHECK_OK(k->ctx_create(k, 1, &r->kc));
	r->value = take_list(g->n_values);
	r->gradient = take_list(g->n_values);
	r->w = take_list(g->n_params);
	r->dw = take_list(g->n_params);
	take_tensors(r, seed);
	r->node = calloc(g->n_nodes, sizeof(*r->node));
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->node);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		struct graph_run_node *n = &r->node[i];
		const mr_node *node = &g->nodes[i];

		node->ops->needs(&node->cfg, node->in_shape, samples, k, &n->needs);
		n->aux_i = take(n->needs.aux_i.bytes);
		n->aux_w = take(n->needs.aux_w.bytes);
		n->kept = take(n->needs.kept.bytes);
		n->scratch = take(n->needs.scratch);
		for (uint32_t j = 0; j < node->n_states; j++)
			n->seen[j] = take((size_t)g->states[node->first_state + j].n *
					  mr_dtype_bytes(k->types.compute));
	}
}

void graph_run_fini(graph_run *r)
{
	for (uint32_t v = 1; v < r->g->n_values; v++) {
		free(r->value[v]);
		free(r->gradient[v]);
	}
	for (uint32_t p = 0; p < r->g->n_params; p++) {
		free(r->dw[p]);
		if (r->g->params[p].tied_to < 0)
			free(r->w[p]);
	}
	for (uint32_t i = 0; i < r->g->n_nodes; i++) {
		free(r->node[i].aux_i);
		free(r->node[i].aux_w);
		free(r->node[i].kept);
		free(r->node[i].scratch);
		for (uint32_t j = 0; j < MR_LAYER_STATES; j++)
			free(r->node[i].seen[j]);
	}
	free(r->node);
	free(r->value);
	free(r->gradient);
	free(r->w);
	free(r->dw);
	r->k->ctx_destroy(r->kc);
}

static mr_layer_call call_of(const graph_run *r, uint32_t i)
{
	const mr_node *node = &r->g->nodes[i];
	const struct graph_run_node *n = &r->node[i];
	mr_layer_call c = {
		.k = r->k,
		.kc = r->kc,
		.cfg = &node->cfg,
		.in = node->in_shape,
		.out = node->out_shape,
		.samples = r->samples,
		.w = (const void *const *)(r->w + node->first_param),
		.dw = r->dw + node->first_param,
		.aux_i = n->aux_i,
		.aux_w = n->aux_w,
		.kept = n->kept,
		.scratch = n->scratch,
		.train = r->train,
		.mask = {.seed = r->seed, .layer = node->number},
	};

	for (uint32_t j = 0; j < node->n_states; j++)
		c.seen[j] = n->seen[j];
	for (uint32_t j = 0; j < node->n_in; j++)
		c.x[j] = r->value[node->in[j]];
	for (uint32_t j = 0; j < node->n_out; j++) {
		c.y[j] = r->value[node->out + j];
		c.dy[j] = r->gradient[node->out + j];
	}
	return c;
}

double graph_run_forward(graph_run *r, const void *input, const void *target)
{
	double loss = 0;

	r->value[0] = (void *)input;
	for (uint32_t i = 0; i < r->g->n_nodes; i++) {
		const mr_node *node = &r->g->nodes[i];
		mr_layer_call c = call_of(r, i);

		if (node->ops->loss) { /* it overwrites its input by the gradient */
			const mr_value *v = &r->g->values[node->in[0]];

			memcpy(r->gradient[node->in[0]], c.x[0],
			       (size_t)r->samples * mr_shape_bytes(v->shape, r->k->types.activations));
			c.x[0] = r->gradient[node->in[0]];
			c.target = target;
			c.loss = &loss;
		}
		MR_CHECK_OK(node->ops->forward(&c));
	}
	return loss;
}

static void convert(const graph_run *r, void *to, const graph_run *of, const void *from, uint32_t v)
{
	int64_t n = r->samples * mr_shape_count(r->g->values[v].shape);

	for (int64_t i = 0; i < n; i++)
		mr_element_put(r->k->types.activations, to, i, mr_element(of->k->types.activations, from, i));
}

void graph_run_alone(graph_run *r, uint32_t i, const graph_run *of)
{
	const mr_node *node = &r->g->nodes[i];
	mr_layer_call c = call_of(r, i);

	for (uint32_t j = 0; j < node->n_in; j++) {
		uint32_t v = node->in[j];

		if (v)
			convert(r, r->value[v], of, of->value[v], v);
		if (mr_graph_wants_dx(r->g, i, j))
			c.dx[j] = r->gradient[v];
	}
	for (uint32_t v = node->out; v < node->out + node->n_out; v++)
		convert(r, r->gradient[v], of, of->gradient[v], v);
	MR_CHECK_OK(node->ops->forward(&c));
	if (node->ops->backward_input)
		MR_CHECK_OK(node->ops->backward_input(&c));
	if (node->ops->backward_weight)
		MR_CHECK_OK(node->ops->backward_weight(&c));
}

void graph_run_backward(graph_run *r, bool add)
{
	for (uint32_t i = r->g->n_nodes - 1; i-- > 0;) {
		const mr_node *node = &r->g->nodes[i];
		mr_layer_call c = call_of(r, i);

		for (uint32_t j = 0; j < node->n_in; j++)
			if (mr_graph_wants_dx(r->g, i, j)) {
				c.dx[j] = r->gradient[node->in[j]];
				/* the last reader is the first to hand a gradient back */
				c.dx_add[j] = i != r->g->values[node->in[j]].last_use ||
					      (j == 1 && node->in[0] == node->in[1]);
			}
		c.dw_add = add;
		MR_CHECK_OK(node->ops->backward_input(&c));
		if (node->ops->backward_weight)
			MR_CHECK_OK(node->ops->backward_weight(&c));
	}
}
