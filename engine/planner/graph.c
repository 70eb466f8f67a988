#include "planner/graph.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A sample or a parameter of more elements is a mistake in the configuration (8 TiB in f64). Below this limit no
 * product of a size and an element's bytes overflows. */
#define MAX_ELEMENTS ((int64_t)1 << 40)

#define ENTRY(type, name) MR_FIELD_ENTRY(mr_param, name)
const mr_field mr_param_fields[] = {MR_PARAM_FIELDS(ENTRY) {0}};
#undef ENTRY

mr_status mr_graph_create(mr_shape input, mr_shape target, mr_graph **out)
{
	mr_graph *g = calloc(1, sizeof(*g));

	*out = NULL;
	if (!g)
		return mr_fail(MR_ERESOURCE, "no memory for the model's graph");
	g->input = input;
	g->target = target;
	g->cap_values = 16;
	g->values = calloc(g->cap_values, sizeof(*g->values));
	if (!g->values) {
		mr_graph_destroy(g);
		return mr_fail(MR_ERESOURCE, "no memory for the model's graph");
	}
	g->values[0] = (mr_value){.shape = input, .producer = MR_GRAPH_NO_NODE};
	g->n_values = 1;
	*out = g;
	return MR_OK;
}

void mr_graph_destroy(mr_graph *g)
{
	if (!g)
		return;
	free(g->nodes);
	free(g->values);
	free(g->params);
	free(g->states);
	free(g->shapes);
	free(g->n_live);
	free(g->class_weight);
	mr_names_fini(&g->node_names);
	mr_names_fini(&g->param_names);
	free(g);
}

/* Make room for @want elements of @size bytes in *@array. */
static mr_status grow(void *array, uint32_t *cap, uint32_t want, size_t size)
{
	uint32_t n = *cap ? *cap : 16;
	void *old, *bigger;

	if (want <= *cap)
		return MR_OK;
	while (n < want)
		n *= 2;
	memcpy(&old, array, sizeof(old));
	bigger = realloc(old, n * size);
	if (!bigger)
		return mr_fail(MR_ERESOURCE, "no memory for the model's graph");
	memcpy(array, &bigger, sizeof(bigger));
	*cap = n;
	return MR_OK;
}

/* "4 x 5" */
static const char *dims_text(uint32_t n, const int64_t *dim, char text[MR_MAX_DIMS * 24])
{
	int at = 0;

	for (uint32_t i = 0; i < n; i++)
		at += snprintf(text + at, MR_MAX_DIMS * 24 - (size_t)at, i ? " x %lld" : "%lld", (long long)dim[i]);
	return text;
}

static mr_status check_dims(const char *what, uint32_t n_dims, const int64_t *dim)
{
	char text[MR_MAX_DIMS * 24];
	int64_t n = 1;

	for (uint32_t i = 0; i < n_dims; i++) {
		if (dim[i] < 1 || n > MAX_ELEMENTS / dim[i])
			return mr_fail(MR_ECONFIG, "%s would be %s; from 1 to 2^40 elements are possible", what,
				       dims_text(n_dims, dim, text));
		n *= dim[i];
	}
	return MR_OK;
}

static mr_status check_shape(const char *what, mr_shape s)
{
	int64_t dim[MR_MAX_DIMS];

	for (uint32_t i = 0; i < mr_shape_dims(s); i++)
		dim[i] = mr_shape_dim(s, i);
	return check_dims(what, mr_shape_dims(s), dim);
}

/* Name of a parameter: the suffix replaces the node's last component if it is a whole name itself. */
static mr_status name_param(const mr_node *node, const char *suffix, char *name, size_t size)
{
	const char *last = strrchr(node->name, '.');
	int stem = (int)strlen(node->name), n;

	if (strchr(suffix, '.'))
		stem = last ? (int)(last - node->name) : 0;
	n = snprintf(name, size, "%.*s%s%s", stem, node->name, stem ? "." : "", suffix);
	if (n >= (int)size)
		return mr_fail(MR_ECONFIG, "the name of parameter %s is longer than %zu bytes", suffix, size - 1);
	return MR_OK;
}

static mr_status add_params(mr_graph *g, mr_node *node, const mr_shape *in, uint32_t number)
{
	mr_param_spec spec[MR_LAYER_PARAMS];

	node->first_param = g->n_params;
	node->n_params = node->ops->params ? node->ops->params(&node->cfg, in, spec) : 0;
	MR_TRY(grow(&g->params, &g->cap_params, g->n_params + node->n_params, sizeof(*g->params)));
	for (uint32_t i = 0; i < node->n_params; i++) {
		mr_param *p = &g->params[g->n_params + i];

		*p = (mr_param){
			.rank = spec[i].rank,
			.init = spec[i].init,
			.std = spec[i].std,
			.decay = spec[i].decay,
			.lazy = spec[i].lazy,
			.node = number,
			.index = i,
			.tied_to = -1,
		};
		for (uint32_t d = 0; d < MR_MAX_DIMS; d++)
			p->dim[d] = d < spec[i].rank ? spec[i].dim[d] : 1;
		MR_TRY(check_dims(spec[i].suffix, p->rank, p->dim));
		p->n = mr_param_count(&spec[i]);
		MR_TRY(name_param(node, spec[i].suffix, p->name, sizeof(p->name)));
		if (mr_graph_find_param(g, p->name) != UINT32_MAX)
			return mr_fail(MR_ECONFIG, "a parameter called %s exists already", p->name);
	}
	return MR_OK;
}

static bool has_state(const mr_graph *g, const char *name)
{
	for (uint32_t i = 0; i < g->n_states; i++)
		if (!strcmp(g->states[i].name, name))
			return true;
	return false;
}

/* Behind its parameters, whose names no state may have. */
static mr_status add_states(mr_graph *g, mr_node *node, const mr_shape *in, uint32_t number)
{
	mr_layer_state spec[MR_LAYER_STATES];

	node->first_state = g->n_states;
	node->n_states = node->ops->states ? node->ops->states(&node->cfg, in, spec) : 0;
	MR_TRY(grow(&g->states, &g->cap_states, g->n_states + node->n_states, sizeof(*g->states)));
	for (uint32_t i = 0; i < node->n_states; i++) {
		mr_graph_state *s = &g->states[g->n_states + i];

		*s = (mr_graph_state){.spec = spec[i], .n = 1, .node = number, .index = i};
		for (uint32_t d = 0; d < MR_MAX_DIMS; d++) {
			s->spec.dim[d] = d < spec[i].rank ? spec[i].dim[d] : 1;
			s->n *= s->spec.dim[d];
		}
		MR_TRY(name_param(node, spec[i].suffix, s->name, sizeof(s->name)));
		if (mr_graph_find_param(g, s->name) != UINT32_MAX || has_state(g, s->name))
			return mr_fail(MR_ECONFIG, "a parameter or state called %s exists already", s->name);
	}
	return MR_OK;
}

/* Fill in everything of the new node except its place in the graph. */
static mr_status fill_node(mr_graph *g, mr_node *node, mr_shape shape[MR_LAYER_OUTPUTS])
{
	mr_shape in[MR_LAYER_INPUTS];

	if (node->n_in != mr_layer_inputs(node->ops, &node->cfg))
		return mr_fail(MR_ECONFIG, "%s takes %u inputs, got %u", node->ops->name,
			       mr_layer_inputs(node->ops, &node->cfg), node->n_in);
	for (uint32_t i = 0; i < node->n_in; i++) {
		if (node->in[i] >= g->n_values)
			return mr_fail(MR_ECONFIG, "input %u is value %u, but there are only %u yet", i, node->in[i],
				       g->n_values);
		in[i] = g->values[node->in[i]].shape;
		MR_TRY(check_shape("its input", in[i]));
	}
	MR_TRY(node->ops->shape(&node->cfg, in, shape));
	node->n_out = (uint8_t)mr_layer_outputs(node->ops, &node->cfg);
	for (uint32_t i = 0; i < node->n_out; i++)
		MR_TRY(check_shape("its output", shape[i]));
	MR_TRY(add_params(g, node, in, node->number));
	return add_states(g, node, in, node->number);
}

/* Add the values that @node, the next one of the graph, writes. */
static mr_status add_values(mr_graph *g, mr_node *node, const mr_shape *shape)
{
	if (g->n_values + node->n_out > MR_GRAPH_MAX_VALUES)
		return mr_fail(MR_ECONFIG, "%s: the layers of a model write at most %u values", node->name,
			       MR_GRAPH_MAX_VALUES);
	MR_TRY(grow(&g->values, &g->cap_values, g->n_values + node->n_out, sizeof(*g->values)));
	if (node->n_out)
		node->out = (uint16_t)g->n_values;
	for (uint32_t i = 0; i < node->n_out; i++)
		g->values[g->n_values++] = (mr_value){
			.shape = shape[i],
			.producer = g->n_nodes,
		};
	return MR_OK;
}

mr_status mr_graph_add(mr_graph *g, const mr_layer_ops *ops, const char *name, const mr_layer_cfg *cfg,
		       const uint16_t *in, uint32_t n_in, uint16_t *out)
{
	mr_node node = {.ops = ops, .cfg = *cfg, .out = MR_GRAPH_NO_VALUE, .number = g->n_nodes};
	mr_shape shape[MR_LAYER_OUTPUTS];
	mr_status st;

	assert(!g->n_live && n_in <= MR_LAYER_INPUTS);
	if (strlen(name) >= sizeof(node.name))
		return mr_fail(MR_ECONFIG, "the layer name %s is longer than %zu bytes", name, sizeof(node.name) - 1);
	if (g->n_nodes == MR_GRAPH_MAX_NODES)
		return mr_fail(MR_ECONFIG, "%s: a model has at most %u layers", name, MR_GRAPH_MAX_NODES);
	if (mr_names_find(&g->node_names, name, mr_graph_node_name, g) != MR_NO_NAME)
		return mr_fail(MR_ECONFIG, "%s: a layer of that name exists already", name);
	strcpy(node.name, name);
	node.n_in = (uint8_t)n_in;
	memcpy(node.in, in, n_in * sizeof(*in));
	MR_TRY(grow(&g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof(*g->nodes)));
	st = fill_node(g, &node, shape);
	if (st != MR_OK)
		return mr_fail_in(st, "%s", name);
	MR_TRY(add_values(g, &node, shape));
	for (uint32_t i = 0; i < node.n_params; i++)
		MR_TRY(mr_names_add(&g->param_names, g->n_params++, mr_graph_param_name, g));
	g->n_states += node.n_states;
	g->nodes[g->n_nodes] = node;
	MR_TRY(mr_names_add(&g->node_names, g->n_nodes++, mr_graph_node_name, g));
	if (out)
		*out = node.out;
	return MR_OK;
}

mr_status mr_graph_tie(mr_graph *g, uint32_t param, uint32_t owner)
{
	mr_param *p = &g->params[param], *o = &g->params[owner];
	char mine[MR_MAX_DIMS * 24], theirs[MR_MAX_DIMS * 24];

	assert(param < g->n_params && owner < g->n_params);
	if (owner >= param || o->tied_to >= 0)
		return mr_fail(MR_ECONFIG,
			       "%s can share only the storage of an earlier parameter that has its own, not of %s",
			       p->name, o->name);
	if (p->rank != o->rank || memcmp(p->dim, o->dim, sizeof(p->dim)) != 0)
		return mr_fail(MR_ECONFIG, "%s (%s) cannot share the storage of %s (%s)", p->name,
			       dims_text(p->rank, p->dim, mine), o->name, dims_text(o->rank, o->dim, theirs));
	p->tied_to = (int32_t)owner;
	return MR_OK;
}

void mr_graph_untie(mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_params; i++)
		g->params[i].tied_to = -1;
}

static void note_uses(mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		for (uint32_t j = 0; j < g->nodes[i].n_in; j++) {
			mr_value *v = &g->values[g->nodes[i].in[j]];

			v->n_uses++;
			v->last_use = i;
		}
}

static mr_status note_shapes(mr_graph *g)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		n += g->nodes[i].n_in + g->nodes[i].n_out;
	g->shapes = calloc(n + 1, sizeof(*g->shapes));
	if (!g->shapes)
		return mr_fail(MR_ERESOURCE, "no memory for the model's graph");
	n = 0;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		mr_node *node = &g->nodes[i];

		node->in_shape = g->shapes + n;
		for (uint32_t j = 0; j < node->n_in; j++)
			g->shapes[n++] = g->values[node->in[j]].shape;
		node->out_shape = node->n_out ? g->shapes + n : node->in_shape;
		for (uint32_t j = 0; j < node->n_out; j++)
			g->shapes[n++] = g->values[node->out + j].shape;
	}
	return MR_OK;
}

static mr_status nobody_reads(const mr_graph *g, uint32_t v)
{
	const mr_node *of;

	if (v == 0)
		return mr_fail(MR_ECONFIG, "nothing reads the model's input");
	of = &g->nodes[g->values[v].producer];
	if (of->n_out == 1)
		return mr_fail(MR_ECONFIG, "nothing reads the output of %s", of->name);
	return mr_fail(MR_ECONFIG, "nothing reads output %u of the %u of %s", v - of->out + 1, of->n_out, of->name);
}

static mr_status check_values(const mr_graph *g)
{
	for (uint32_t v = 0; v < g->n_values; v++)
		if (g->values[v].n_uses == 0)
			return nobody_reads(g, v);
	return MR_OK;
}

/* The loss leaves the gradient in the place of its input, so the layer that wrote the input must not read it again. */
static mr_status check_overwritten(const mr_graph *g, const mr_node *loss)
{
	const mr_node *node = &g->nodes[g->values[loss->in[0]].producer];
	mr_layer_needs needs;

	node->ops->needs(&node->cfg, node->in_shape, 1, NULL, &needs);
	if (needs.y_i || needs.y_w)
		return mr_fail(MR_ECONFIG,
			       "%s overwrites the output of %s, which that reads again in its backward pass",
			       loss->name, node->name);
	return MR_OK;
}

static mr_status check_loss(const mr_graph *g)
{
	const mr_node *last;
	mr_status st;

	if (g->n_nodes < 2)
		return mr_fail(MR_ECONFIG, "a model is at least one layer and a loss, this one has %u", g->n_nodes);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].ops->loss != (i + 1 == g->n_nodes))
			return mr_fail(MR_ECONFIG, g->nodes[i].ops->loss ? "%s is a loss, but not the last layer"
									 : "the last layer, %s, is no loss",
				       g->nodes[i].name);
	last = &g->nodes[g->n_nodes - 1];
	if (last->in[0] == 0)
		return mr_fail(MR_ECONFIG, "%s reads the model's input, which it would overwrite", last->name);
	if (g->values[last->in[0]].n_uses > 1)
		return mr_fail(MR_ECONFIG, "%s overwrites its input, but another layer reads that too", last->name);
	MR_TRY(check_overwritten(g, last));
	st = last->ops->target(&last->cfg, g->values[last->in[0]].shape, g->target);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", last->name);
}

/* Is input @j the first input of @node with this value? */
static bool first_of(const mr_node *node, uint32_t j)
{
	for (uint32_t i = 0; i < j; i++)
		if (node->in[i] == node->in[j])
			return false;
	return true;
}

/* Count the values that are live before each node: written before it and read by it or later. */
static void count_live(mr_graph *g)
{
	uint16_t n_live = 1;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *node = &g->nodes[i];

		g->n_live[i] = n_live;
		for (uint32_t j = 0; j < node->n_in; j++)
			n_live = (uint16_t)(n_live - (g->values[node->in[j]].last_use == i && first_of(node, j)));
		n_live = (uint16_t)(n_live + node->n_out);
	}
}

/* The value that @node may add to its output in place of the sum after it. */
static uint16_t addend_of(const mr_graph *g, uint32_t node)
{
	const mr_node *nd = &g->nodes[node], *next = nd + 1;

	if (node + 1 == g->n_nodes || nd->n_out != 1 || !next->ops->is_sum || !nd->ops->adds ||
	    !nd->ops->adds(&nd->cfg) || g->values[nd->out].n_uses > 1)
		return MR_GRAPH_NO_VALUE;
	return next->in[0] == nd->out ? next->in[1] : next->in[1] == nd->out ? next->in[0] : MR_GRAPH_NO_VALUE;
}

static void find_sums(mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		g->nodes[i].addend = addend_of(g, i);
		g->nodes[i].added = i > 0 && g->nodes[i - 1].addend != MR_GRAPH_NO_VALUE;
	}
}

/* May I of @node do the act_backward of the node before? */
static bool fuses_act_backward(const mr_graph *g, uint32_t node)
{
	const mr_node *nd = &g->nodes[node], *front = nd - 1;

	return node > 0 && nd->ops->produces_dz && front->ops->produces_dz && front->cfg.act != MR_ACT_NONE &&
	       nd->in[0] == front->out && g->values[front->out].n_uses == 1;
}

static void find_through(mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		g->nodes[i].fuse_act_backward = fuses_act_backward(g, i);
}

mr_status mr_graph_finish(mr_graph *g)
{
	assert(!g->n_live);
	note_uses(g);
	MR_TRY(note_shapes(g));
	MR_TRY(check_loss(g));
	MR_TRY(check_values(g));
	g->n_live = malloc(g->n_nodes * sizeof(*g->n_live));
	if (!g->n_live)
		return mr_fail(MR_ERESOURCE, "no memory for the model's graph");
	count_live(g);
	find_sums(g);
	find_through(g);
	return MR_OK;
}

/* Are all values that @node reads the model's input, or fixed? */
static bool reads_fixed(const mr_graph *g, const mr_node *node)
{
	for (uint32_t j = 0; j < node->n_in; j++)
		if (node->in[j] && !g->values[node->in[j]].fixed)
			return false;
	return true;
}

/* Does @pattern mean @name, or a block that it is in? */
static bool is_named(const char *name, const char *pattern)
{
	for (size_t len = 1; name[len - 1]; len++)
		if ((!name[len] || name[len] == '.') && mr_matches(pattern, name, len))
			return true;
	return false;
}

void mr_graph_note_frozen(mr_graph *g)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *node = &g->nodes[i];

		for (uint32_t j = 0; j < node->n_out; j++)
			g->values[node->out + j].fixed = reads_fixed(g, node) && (node->frozen || !node->n_params);
	}
}

mr_status mr_graph_freeze(mr_graph *g, const char *pattern)
{
	bool freezes = *pattern != '!', some = false;

	assert(g->n_live);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		mr_node *node = &g->nodes[i];

		if (node->n_params && is_named(node->name, pattern + !freezes)) {
			node->frozen = freezes;
			some = true;
		}
	}
	mr_graph_note_frozen(g);
	return some ? MR_OK
		    : mr_fail(MR_ECONFIG, "no layer with parameters is called \"%s\", nor is a block",
			      pattern + !freezes);
}

mr_status mr_graph_weigh(mr_graph *g)
{
	mr_node *loss = &g->nodes[g->n_nodes - 1];
	int64_t classes = mr_graph_judged_classes(g);

	assert(g->n_live);
	if (classes < 2)
		return mr_fail(MR_ECONFIG, "the loss %s has no classes to weigh", loss->ops->name);
	if (g->target.rows != 1)
		return mr_fail(MR_ECONFIG, "a sample has %lld classes, and only one can be weighed",
			       (long long)g->target.rows);
	g->class_weight = malloc((size_t)classes * sizeof(*g->class_weight));
	if (!g->class_weight)
		return mr_fail(MR_ERESOURCE, "no memory for the weights of %lld classes", (long long)classes);
	g->n_class_weights = (uint32_t)classes;
	for (int64_t i = 0; i < classes; i++)
		g->class_weight[i] = 1;
	loss->cfg.weighted = true;
	return MR_OK;
}
