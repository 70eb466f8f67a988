#include "sequential/sequential_size.h"

#include "base/size.h"
#include "nn/row_sum.h"
#include "sequential/sequential_layout.h"
#include "sequential/sequential_loader.h"

static uint64_t rounded(uint64_t bytes)
{
	return mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
}

bool mr_sequential_steps_inside(const mr_sequential_config *c)
{
	return !(c->clip > 0) && !c->lists && mr_optim_elementwise(c->optim);
}

uint32_t mr_sequential_tied_user(const mr_graph *g, uint32_t p)
{
	uint32_t u = 0;

	while (u < g->n_params && g->params[u].tied_to != (int32_t)p)
		u++;
	return u < g->n_params ? u : UINT32_MAX;
}

static int64_t rows_into(const mr_sequential_config *c, uint32_t node)
{
	const mr_graph *g = c->graph;

	return c->samples * g->values[g->nodes[node].in[0]].shape.rows;
}

/* The owner has one other use, in a layer after its own. */
static bool may_be_sparse(const mr_sequential_config *c, uint32_t p)
{
	const mr_graph *g = c->graph;
	const mr_param *owner = &g->params[p], *user;
	uint32_t u;

	if (g->nodes[owner->node].ops->sparse_rows != MR_SPARSE_ROWS_LAST || owner->index != 0)
		return false;
	u = mr_sequential_tied_user(g, p);
	if (u == UINT32_MAX)
		return false;
	user = &g->params[u];
	while (++u < g->n_params)
		if (g->params[u].tied_to == (int32_t)p)
			return false;
	return user->node > owner->node && g->nodes[user->node].ops->sparse_rows == MR_SPARSE_ROWS_FIRST &&
	       user->index == 0 && mr_sparse_rows_pays(rows_into(c, owner->node), owner->dim[0]);
}

/* Nothing is summed, and gradients are not read afterwards. */
static bool may_share(const mr_sequential_config *c)
{
	return c->n_micro == 1 && !c->measures && mr_sequential_steps_inside(c);
}

uint32_t mr_sequential_sparse_param(const mr_sequential_config *c)
{
	uint32_t p = 0, n = may_share(c) ? c->graph->n_params : 0;

	while (p < n && !may_be_sparse(c, p))
		p++;
	return p < n ? p : UINT32_MAX;
}

void mr_sequential_layout_sparse(const mr_sequential_config *c, mr_sparse_rows *f, mr_arena *a)
{
	const mr_graph *g = c->graph;
	uint32_t p = mr_sequential_sparse_param(c);
	const mr_param *owner;

	if (p == UINT32_MAX)
		return;
	owner = &g->params[p];
	mr_sparse_rows_layout(f, a, &c->kernels->types, rows_into(c, owner->node), owner->dim[0], owner->dim[1],
		      rows_into(c, g->params[mr_sequential_tied_user(g, p)].node));
}

int64_t mr_sequential_rows_of(const mr_sequential_config *c, uint32_t p)
{
	const mr_param *param = &c->graph->params[p];
	int64_t most = c->samples * c->n_micro * param->lazy;
	bool whole = c->lists || c->measures || !mr_optim_elementwise(c->optim) || mr_types_pure(&c->kernels->types);

	return most && !whole && param->index == 0 && mr_row_sum_pays(most, param->dim[0]) ? most : 0;
}

size_t mr_sequential_grad_bytes(const mr_sequential_config *c, uint32_t p)
{
	const mr_param *param = &c->graph->params[p];
	mr_dtype type = c->kernels->types.gradients;
	int64_t most = mr_sequential_rows_of(c, p);

	return most ? mr_row_sum_bytes(most, mr_param_lazy_cols(param), type)
		    : (size_t)param->n * mr_dtype_bytes(type);
}

mr_grad_home mr_sequential_grad_home(const mr_sequential_config *c, uint32_t p)
{
	int32_t owner = c->graph->params[p].tied_to;

	if (!may_share(c))
		return MR_GRAD_OWN;
	if (!mr_graph_tied(c->graph, p))
		return MR_GRAD_SHARED;
	if (mr_sequential_sparse_param(c) != (owner < 0 ? p : (uint32_t)owner))
		return MR_GRAD_OWN;
	if (owner < 0)
		return MR_GRAD_SPARSE;
	return c->norm_every ? MR_GRAD_OWN : MR_GRAD_SHARED;
}

bool mr_sequential_steps_late(const mr_sequential_config *c, uint32_t p)
{
	int32_t owner = c->graph->params[p].tied_to;

	return mr_graph_tied(c->graph, p) && mr_sequential_grad_home(c, p) == MR_GRAD_OWN &&
	       mr_sequential_sparse_param(c) != (owner < 0 ? p : (uint32_t)owner);
}

size_t mr_sequential_work_bytes(const mr_sequential_config *c)
{
	size_t most = 0;

	for (uint32_t p = 0; p < c->graph->n_params && c->optim->ops->work_bytes; p++) {
		mr_optim_matrix m = mr_graph_matrix(c->graph, p);
		size_t bytes = m.rows ? c->optim->ops->work_bytes(&m, c->kernels->types.state) : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}

uint64_t mr_sequential_shared_grads(const mr_sequential_config *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < c->graph->n_nodes; i++) {
		const mr_node *nd = &c->graph->nodes[i];
		uint64_t here = 0;

		for (uint32_t p = nd->first_param; p < nd->first_param + nd->n_params; p++)
			if (mr_sequential_grad_home(c, p) == MR_GRAD_SHARED)
				here += rounded(mr_sequential_grad_bytes(c, p));
		most = here > most ? here : most;
	}
	return most;
}

static uint64_t grad_bytes(const mr_sequential_config *c)
{
	uint64_t own = 0, shared = mr_sequential_shared_grads(c);

	for (uint32_t p = 0; p < c->graph->n_params; p++)
		if (mr_sequential_grad_home(c, p) == MR_GRAD_OWN)
			own += rounded(mr_sequential_grad_bytes(c, p));
	if (c->lists && c->lists->n_pipes > 1)
		return 2 * own;
	return own + (shared ? rounded(shared) : 0);
}

static mr_status passing_bytes(const mr_sequential_config *c, mr_run_memory *out)
{
	mr_sequential_layout l;
	mr_sparse_rows sparse_rows;
	mr_arena a;
	mr_status st = mr_sequential_layout_make(c, &l);

	mr_arena_init(&a, NULL, 0);
	mr_sequential_layout_sparse(c, &sparse_rows, &a);
	for (uint32_t v = 1; st == MR_OK && v < c->graph->n_values; v++)
		if (l.value[v] == MR_SEQUENTIAL_OWN)
			out->activations +=
				rounded((uint64_t)c->samples *
					mr_shape_bytes(c->graph->values[v].shape, c->kernels->types.activations));
	out->scratch = rounded(l.passing.bytes) + rounded(l.scratch) + mr_align_up(a.used, MR_CACHE_LINE);
	mr_sequential_layout_fini(&l);
	return st;
}

uint32_t mr_sequential_carried_bytes(const mr_sequential_config *c, uint32_t node, size_t bytes[MR_LAYER_CARRIED])
{
	const mr_node *nd = &c->graph->nodes[node];
	mr_layer_carried spec[MR_LAYER_CARRIED];
	uint32_t n = mr_layer_n_carried(nd->ops, &nd->cfg, spec);

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = mr_align_up((size_t)c->samples * mr_layer_carried_row(&spec[i], &c->kernels->types),
				       MR_CACHE_LINE);
	return n;
}

mr_carried mr_sequential_carries(const mr_sequential_config *c)
{
	mr_carried all = {.n_micro = c->n_micro, .depth = 2};

	for (uint32_t i = 0; i < c->graph->n_nodes; i++) {
		size_t bytes[MR_LAYER_CARRIED];
		uint32_t n = mr_sequential_carried_bytes(c, i, bytes);

		for (uint32_t j = 0; j < n; j++)
			all.bytes += bytes[j];
	}
	return all;
}

mr_status mr_sequential_size(const mr_sequential_config *c, mr_run_memory *out)
{
	const mr_graph *g = c->graph;
	const mr_kernels *k = c->kernels;
	mr_carried carried;

	*out = (mr_run_memory){.boundaries = mr_sequential_buffers(c) * (rounded(mr_sequential_input_bytes(c)) +
									  rounded(mr_sequential_target_bytes(c)))};
	MR_TRY(passing_bytes(c, out));
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *nd = &g->nodes[i];
		mr_layer_needs z = {0};

		nd->ops->needs(&nd->cfg, nd->in_shape, c->samples, k, &z);
		out->activations += rounded(z.aux_i.bytes) + rounded(z.aux_w.bytes);
	}
	out->grads = grad_bytes(c);
	for (uint32_t p = 0; p < g->n_params; p++) {
		size_t n = (size_t)g->params[p].n;

		if (g->params[p].tied_to >= 0)
			continue;
		out->weights += rounded(mr_stagger(n * mr_dtype_bytes(k->types.weights)));
		if (mr_types_rest_bytes(&k->types))
			out->optimizer += rounded(mr_stagger(n * mr_types_rest_bytes(&k->types)));
		out->optimizer += c->optim->ops->n_states * rounded(mr_stagger(n * mr_dtype_bytes(k->types.state)));
	}
	for (uint32_t i = 0; i < g->n_states; i++) {
		size_t bytes = mr_align_up((size_t)g->states[i].n * mr_dtype_bytes(k->types.compute), MR_CACHE_LINE);

		out->weights += bytes;
		out->grads += c->n_micro * bytes;
	}
	carried = mr_sequential_carries(c);
	if (carried.bytes)
		out->weights += mr_carried_bytes(&carried);
	if (!mr_optim_elementwise(c->optim))
		out->scratch += rounded(mr_sequential_work_bytes(c));
	return MR_OK;
}
