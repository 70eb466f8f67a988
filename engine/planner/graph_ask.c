/* graph_ask.c - queries on a finished graph: names, cut points, counts, initial values. */
#include "planner/graph.h"

#include <assert.h>
#include <string.h>

#include "base/rng.h"
#include "nn/element.h"
#include "nn/part_grads.h"
#include "nn/scores.h"

uint32_t mr_graph_find_node(const mr_graph *g, const char *name)
{
	size_t len = strlen(name);
	uint32_t found = mr_names_find(&g->node_names, name, mr_graph_node_name, g);

	if (found != MR_NO_NAME)
		return found;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (len && !strncmp(g->nodes[i].name, name, len) && g->nodes[i].name[len] == '.')
			return i;
	return MR_GRAPH_NO_NODE;
}

uint32_t mr_graph_find_param(const mr_graph *g, const char *name)
{
	return mr_names_find(&g->param_names, name, mr_graph_param_name, g);
}

bool mr_graph_cut_ok(const mr_graph *g, uint32_t node)
{
	assert(g->n_live && node < g->n_nodes);
	return !g->nodes[node].ops->loss;
}

bool mr_graph_is_narrow(const mr_graph *g, uint32_t node)
{
	return mr_graph_cut_ok(g, node) && g->n_live[node] == 1;
}

uint32_t mr_graph_live(const mr_graph *g, uint32_t node, uint16_t *live)
{
	uint32_t n = 0;

	assert(g->n_live && node <= g->n_nodes);
	for (uint32_t v = 0; v < g->n_values; v++) {
		const mr_value *value = &g->values[v];

		if ((value->producer != MR_GRAPH_NO_NODE && value->producer >= node) || value->last_use < node)
			continue;
		if (live)
			live[n] = (uint16_t)v;
		n++;
	}
	return n;
}

size_t mr_graph_crossing(const mr_graph *g, uint32_t node, mr_dtype dtype, bool gradients)
{
	size_t bytes = 0;

	assert(g->n_live && node < g->n_nodes);
	for (uint32_t v = 0; v < g->n_values; v++) {
		const mr_value *value = &g->values[v];
		bool written = value->producer == MR_GRAPH_NO_NODE || value->producer < node;

		if (written && value->last_use >= node && (!gradients || mr_graph_has_grad(g, (uint16_t)v)))
			bytes += mr_shape_bytes(value->shape, dtype);
	}
	return bytes;
}

uint32_t mr_graph_max_stages(const mr_graph *g)
{
	return g->n_nodes - 1;
}

uint32_t mr_graph_narrow_stages(const mr_graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		n += mr_graph_is_narrow(g, i);
	return n;
}

bool mr_graph_has_grad(const mr_graph *g, uint16_t v)
{
	return v != 0 && !g->values[v].shape.tokens && !g->values[v].fixed;
}

bool mr_graph_wants_dx(const mr_graph *g, uint32_t node, uint32_t i)
{
	return mr_graph_has_grad(g, g->nodes[node].in[i]);
}

bool mr_graph_wants_any_dx(const mr_graph *g, uint32_t node)
{
	for (uint32_t i = 0; i < g->nodes[node].n_in; i++)
		if (mr_graph_wants_dx(g, node, i))
			return true;
	return false;
}

bool mr_graph_tied(const mr_graph *g, uint32_t param)
{
	for (uint32_t i = 0; i < g->n_params; i++)
		if (g->params[i].tied_to == (int32_t)param)
			return true;
	return g->params[param].tied_to >= 0;
}

mr_optim_matrix mr_graph_matrix(const mr_graph *g, uint32_t param)
{
	const mr_param *p = &g->params[param];
	const mr_node *nd = &g->nodes[p->node];

	if (p->rank != 2 || g->values[nd->in[0]].shape.tokens || nd->ops->loss || mr_graph_tied(g, param) ||
	    g->values[g->nodes[g->n_nodes - 1].in[0]].producer == p->node)
		return (mr_optim_matrix){0};
	return (mr_optim_matrix){.rows = p->dim[0], .cols = p->dim[1], .out_first = nd->cfg.transposed};
}

bool mr_graph_ties(const mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_params; i++)
		if (g->params[i].tied_to >= 0)
			return true;
	return false;
}

int64_t mr_graph_judged_classes(const mr_graph *g)
{
	const mr_node *loss = &g->nodes[g->n_nodes - 1];

	if (loss->ops->errs && g->target.rows == 1 && g->target.cols == 1)
		return MR_JUDGE_NUMBERS;
	if (!loss->ops->judges)
		return 0;
	return g->target.tokens ? loss->in_shape[0].cols : 2; /* a number is 0 or 1 */
}

int64_t mr_graph_n_params(const mr_graph *g)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < g->n_params; i++)
		n += g->params[i].tied_to < 0 ? g->params[i].n : 0;
	return n;
}

mr_status mr_graph_takes(const mr_graph *g, int64_t samples)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *nd = &g->nodes[i];

		if (samples * nd->in_shape[0].rows < nd->ops->least_rows)
			return mr_fail(MR_ECONFIG,
				       "%s is a %s, which in training needs at least %u rows in a micro-batch: a "
				       "micro-batch of %lld %s has %lld",
				       nd->name, nd->ops->name, nd->ops->least_rows, (long long)samples,
				       samples == 1 ? "sample" : "samples",
				       (long long)(samples * nd->in_shape[0].rows));
	}
	return MR_OK;
}

void mr_graph_init_state(const mr_graph *g, uint32_t state, mr_dtype dtype, void *dst)
{
	for (int64_t i = 0; i < g->states[state].n; i++)
		mr_element_put(dtype, dst, i, g->states[state].spec.value);
}

mr_layer_needs mr_graph_needs(const mr_graph *g, uint32_t node, int64_t samples)
{
	const mr_node *n = &g->nodes[node];
	mr_layer_needs needs;

	n->ops->needs(&n->cfg, n->in_shape, samples, NULL, &needs);
	if (!mr_graph_wants_any_dx(g, node))
		needs.flops_i = 0;
	if (n->frozen)
		needs.flops_w = 0;
	return needs;
}

double mr_graph_flops_train(const mr_graph *g)
{
	double sum = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		mr_layer_needs needs = mr_graph_needs(g, i, 1);

		sum += needs.flops_f + needs.flops_w + needs.flops_i;
	}
	return sum;
}

/* Random values of @p, each made of MR_RNG_MANY deviates at once. @first: a multiple of MR_RNG_MANY. */
_Static_assert(MR_GRAPH_INIT_PART % MR_RNG_MANY == 0, "a part begins with a block of random numbers");

static void init_randomly(const mr_graph *g, const mr_param *p, uint64_t seed, mr_dtype dtype, void *dst, int16_t *rest,
			  int64_t first, int64_t end)
{
	uint32_t layer = g->nodes[p->node].number;
	bool uniform = p->init == MR_INIT_UNIFORM;
	double x[MR_RNG_MANY];
	int64_t some, begins = -1; /* element of the whole whose value is x[0] */

	for (int64_t i = first; i < end; i += some) {
		int64_t at = i;

		some = end - i;
		if (p->cut.of)
			at = mr_param_cut_at(&p->cut, mr_param_inner(p), i, &some);
		some = some < end - i ? some : end - i;
		for (int64_t j = 0; j < some; j++) {
			int64_t from = (at + j) / MR_RNG_MANY * MR_RNG_MANY;

			if (from != begins && uniform)
				mr_rng_uniforms(seed, MR_RNG_INIT, p->index, layer, (uint64_t)from / 2, x);
			else if (from != begins)
				mr_rng_normals(seed, MR_RNG_INIT, p->index, layer, (uint64_t)from / 4, x);
			begins = from;
			mr_element_put_master(dtype, dst, rest, i + j,
					      p->std * (uniform ? 2 * x[at + j - from] - 1 : x[at + j - from]));
		}
	}
}

int64_t mr_graph_init_parts(const mr_graph *g, uint32_t param)
{
	return (g->params[param].n + MR_GRAPH_INIT_PART - 1) / MR_GRAPH_INIT_PART;
}

void mr_graph_init_part(const mr_graph *g, uint32_t param, int64_t part, uint64_t seed, mr_dtype dtype, void *dst,
			int16_t *rest)
{
	const mr_param *p = &g->params[param];
	int64_t first = part * MR_GRAPH_INIT_PART, end = first + MR_GRAPH_INIT_PART;
	double x;

	end = end < p->n ? end : p->n;
	if (p->tied_to >= 0)
		p = &g->params[p->tied_to];
	x = p->init == MR_INIT_ONE ? 1 : p->init == MR_INIT_VALUE ? p->std : 0;
	if (p->init == MR_INIT_UNIFORM || p->init == MR_INIT_NORMAL)
		init_randomly(g, p, seed, dtype, dst, rest, first, end);
	else
		for (int64_t i = first; i < end; i++)
			mr_element_put_master(dtype, dst, rest, i, x);
}

void mr_graph_init_param(const mr_graph *g, uint32_t param, uint64_t seed, mr_dtype dtype, void *dst, int16_t *rest)
{
	for (int64_t i = 0; i < mr_graph_init_parts(g, param); i++)
		mr_graph_init_part(g, param, i, seed, dtype, dst, rest);
}

/* Does a share meet the others at @nd, in one direction? */
static bool meets(const mr_node *nd, bool backward)
{
	const char *name = nd->ops->name;
	bool in = !strcmp(name, "share_in"), out = !strcmp(name, "share_out");

	if (backward)
		return in || !strcmp(name, "share_rows") || (out && nd->cfg.parts > 1);
	return out || !strcmp(name, "share_cat") || !strcmp(name, "share_join") || (in && nd->cfg.parts > 1);
}

static bool meets_at(const mr_graph *g, uint32_t node, bool backward)
{
	return meets(&g->nodes[node], backward) && (!backward || mr_graph_wants_dx(g, node, 0));
}

int64_t mr_graph_shown(const mr_graph *g, uint32_t node, bool backward)
{
	const mr_node *nd = &g->nodes[node];
	int64_t in = mr_shape_count(nd->in_shape[0]), out = mr_shape_count(nd->out_shape[0]);

	/* of a sum of rows that are divided each needs its own alone */
	return !meets_at(g, node, backward) ? 0 : in < out ? in : out;
}

int64_t mr_graph_shown_gradients(const mr_graph *g, uint32_t node)
{
	const mr_node *nd = &g->nodes[node];
	int64_t n = 0;

	for (uint32_t j = 0; mr_part_grads_among(nd->ops, &nd->cfg) > 1 && j < nd->n_params && !nd->frozen; j++)
		n += g->params[nd->first_param + j].n;
	return n;
}

uint64_t mr_graph_exchanged(const mr_graph *g, int64_t samples, const mr_types *types)
{
	int64_t values = 0, gradients = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		values += mr_graph_shown(g, i, false) + mr_graph_shown(g, i, true);
		gradients += mr_graph_shown_gradients(g, i);
	}
	return (uint64_t)(values * samples) * mr_dtype_bytes(types->activations) +
	       (uint64_t)gradients * mr_dtype_bytes(types->gradients);
}

size_t mr_graph_shows(const mr_graph *g, uint32_t node, int pass, int64_t samples, const mr_types *types)
{
	const mr_node *nd = &g->nodes[node];

	if (pass == 2)
		return (size_t)mr_graph_shown_gradients(g, node) * mr_dtype_bytes(types->gradients);
	if (!meets_at(g, node, pass == 1))
		return 0;
	return (size_t)(mr_shape_count(pass ? nd->out_shape[0] : nd->in_shape[0]) * samples) *
	       mr_dtype_bytes(types->activations);
}

size_t mr_graph_sends(const mr_graph *g, uint32_t node, int pass, int64_t samples, const mr_types *types, uint32_t n,
		      uint32_t members)
{
	size_t all = mr_graph_shows(g, node, pass, samples, types);
	const mr_node *nd = &g->nodes[node];

	if (pass == 2 || !all)
		return all;
	return mr_graph_shown(g, node, pass == 1) == mr_shape_count(pass ? nd->out_shape[0] : nd->in_shape[0])
		       ? all
		       : all / n * members;
}

size_t mr_graph_largest_exchanged(const mr_graph *g, int64_t samples, const mr_types *types)
{
	size_t most = 0;

	for (uint32_t i = 0; i < 3 * g->n_nodes; i++) {
		size_t n = mr_graph_shows(g, i / 3, (int)(i % 3), samples, types);

		most = n > most ? n : most;
	}
	return most;
}
