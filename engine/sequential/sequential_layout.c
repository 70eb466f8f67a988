#include "sequential/sequential_layout.h"

#include <stdlib.h>

#include "sequential/sequential_size.h"

/* Working notes, indexed by value. */
typedef struct notes {
	const mr_sequential_config *c;
	const mr_graph *g;
	uint16_t *class_of;     /* values whose gradients are one tensor */
	uint32_t *born, *dies;  /* of a class, in the time of the step */
	bool *saved;            /* a backward half reads the value */
	bool *has, *placed;     /* the gradient has been written; the class has its place */
} notes;

static size_t value_bytes(const notes *n, uint16_t v)
{
	return (size_t)n->c->samples * mr_shape_bytes(n->g->values[v].shape, n->c->kernels->types.activations);
}

static mr_layer_needs needs_of(const notes *n, uint32_t node)
{
	const mr_node *nd = &n->g->nodes[node];
	mr_layer_needs z = {0};

	nd->ops->needs(&nd->cfg, nd->in_shape, n->c->samples, n->c->kernels, &z);
	return z;
}

/* The time at which a node goes backward; forward it goes at its own number. */
static uint32_t back(const notes *n, uint32_t node)
{
	return 2 * n->g->n_nodes - 1 - node;
}

static void find_saved(notes *n)
{
	n->saved[0] = true; /* the data of the micro-batch */
	for (uint32_t i = 0; i < n->g->n_nodes; i++) {
		const mr_node *nd = &n->g->nodes[i];
		mr_layer_needs z = needs_of(n, i);

		for (uint32_t j = 0; j < nd->n_in; j++)
			n->saved[nd->in[j]] = n->saved[nd->in[j]] || z.x_i || z.x_w || nd->ops->loss;
		for (uint32_t j = 0; j < nd->n_out; j++)
			n->saved[nd->out + j] = n->saved[nd->out + j] || z.y_i || z.y_w;
	}
}

static mr_status place_values(const notes *n, mr_sequential_layout *l)
{
	for (uint16_t v = 0; v < n->g->n_values; v++) {
		const mr_value *val = &n->g->values[v];
		const mr_node *maker = v ? &n->g->nodes[val->producer] : NULL;

		l->value[v] = MR_SEQUENTIAL_OWN;
		if (maker && maker->addend != MR_GRAPH_NO_VALUE)
			l->value[v] = MR_SEQUENTIAL_NOWHERE;
		else if (!n->saved[v])
			MR_TRY(mr_lifetime_add(&l->passing, val->producer - maker->added, val->last_use,
					       value_bytes(n, v), &l->value[v]));
	}
	return MR_OK;
}

/*
 * May the gradient of value @v, an input of the sum @node, share the memory of the gradient of the other input @kept?
 * The sum must be the only reader of @v. The maker of @v reads that gradient in its backward, which must come before
 * that of all nodes that add to the other gradient and of its maker. A maker that passes its own gradient on is not
 * allowed: the gradient would live on in its inputs.
 */
static bool may_join(const mr_graph *g, uint32_t node, uint16_t kept, uint16_t v)
{
	uint32_t maker = g->values[v].producer;

	if (v == 0 || v == kept || g->values[v].n_uses != 1 || g->nodes[maker].ops->identity_backward)
		return false;
	for (uint32_t i = maker; i < node; i++)
		for (uint32_t j = 0; j < g->nodes[i].n_in; j++)
			if (g->nodes[i].in[j] == kept)
				return false;
	return maker > g->values[kept].producer;
}

static void join(notes *n, uint32_t node)
{
	const mr_node *nd = &n->g->nodes[node];

	for (uint32_t j = 0; j < nd->n_in; j++) {
		uint16_t v = nd->in[j], other = nd->in[nd->n_in - 1 - j];

		if (v == 0 || n->has[v] || value_bytes(n, v) != value_bytes(n, nd->out))
			continue;
		n->class_of[v] = n->class_of[nd->out];
		if (may_join(n->g, node, v, other))
			n->class_of[other] = n->class_of[v];
		return;
	}
}

static void find_classes(notes *n)
{
	for (uint16_t v = 0; v < n->g->n_values; v++) {
		n->class_of[v] = v;
		n->born[v] = UINT32_MAX;
	}
	for (uint32_t i = n->g->n_nodes - 1; i-- > 0;) {
		const mr_node *nd = &n->g->nodes[i];

		if (nd->ops->identity_backward && nd->n_in == 2)
			join(n, i);
		for (uint32_t j = 0; j < nd->n_in; j++)
			n->has[nd->in[j]] = true;
	}
	for (uint16_t v = 1; v < n->g->n_values; v++) {
		uint16_t k = n->class_of[v];
		uint32_t born = back(n, n->g->values[v].last_use), dies = back(n, n->g->values[v].producer);

		n->born[k] = born < n->born[k] ? born : n->born[k];
		n->dies[k] = dies > n->dies[k] ? dies : n->dies[k];
	}
}

/* Place class @k, with all its members. */
static mr_status place_class(notes *n, uint16_t k, mr_sequential_layout *l)
{
	size_t at;

	if (n->placed[k])
		return MR_OK;
	MR_TRY(mr_lifetime_add(&l->passing, n->born[k], n->dies[k], value_bytes(n, k), &at));
	for (uint16_t v = 1; v < n->g->n_values; v++)
		if (n->class_of[v] == k)
			l->grad[v] = at;
	n->placed[k] = true;
	return MR_OK;
}

static mr_status place_backward(notes *n, mr_sequential_layout *l)
{
	uint32_t last = n->g->n_nodes - 1;

	for (uint32_t v = 0; v < n->g->n_values; v++)
		l->grad[v] = MR_SEQUENTIAL_OWN;
	n->placed[n->class_of[n->g->nodes[last].in[0]]] = true;
	for (uint32_t i = last; i-- > 0;) {
		const mr_node *nd = &n->g->nodes[i];
		mr_layer_needs z = needs_of(n, i);

		if (z.kept_is_dy && n->dies[n->class_of[nd->out]] == back(n, i))
			l->kept[i] = l->grad[nd->out];
		else
			MR_TRY(mr_lifetime_add(&l->passing, back(n, i), back(n, i), z.kept.bytes, &l->kept[i]));
		for (uint32_t j = 0; j < nd->n_in; j++)
			if (mr_graph_wants_dx(n->g, i, j))
				MR_TRY(place_class(n, n->class_of[nd->in[j]], l));
	}
	return MR_OK;
}

static mr_status make(notes *n, mr_sequential_layout *l)
{
	find_saved(n);
	MR_TRY(place_values(n, l));
	find_classes(n);
	MR_TRY(place_backward(n, l));
	for (uint32_t i = 0; i < n->g->n_nodes; i++) {
		size_t bytes = needs_of(n, i).scratch;

		l->scratch = bytes > l->scratch ? bytes : l->scratch;
	}
	return MR_OK;
}

mr_status mr_sequential_layout_make(const mr_sequential_config *c, mr_sequential_layout *out)
{
	const mr_graph *g = c->graph;
	notes n = {
		.c = c,
		.g = g,
		.class_of = calloc(g->n_values, sizeof(*n.class_of)),
		.born = calloc(g->n_values, sizeof(*n.born)),
		.dies = calloc(g->n_values, sizeof(*n.dies)),
		.saved = calloc(g->n_values, sizeof(*n.saved)),
		.has = calloc(g->n_values, sizeof(*n.has)),
		.placed = calloc(g->n_values, sizeof(*n.placed)),
	};
	mr_status st = MR_OK;

	*out = (mr_sequential_layout){
		.value = calloc(g->n_values, sizeof(*out->value)),
		.grad = calloc(g->n_values, sizeof(*out->grad)),
		.kept = calloc(g->n_nodes, sizeof(*out->kept)),
	};
	if (!n.class_of || !n.born || !n.dies || !n.saved || !n.has || !n.placed || !out->value || !out->grad ||
	    !out->kept)
		st = mr_fail(MR_ERESOURCE, "no memory to lay out a model of %u layers", g->n_nodes);
	if (st == MR_OK)
		st = make(&n, out);
	free(n.class_of);
	free(n.born);
	free(n.dies);
	free(n.saved);
	free(n.has);
	free(n.placed);
	return st;
}

void mr_sequential_layout_fini(mr_sequential_layout *l)
{
	mr_lifetime_fini(&l->passing);
	free(l->value);
	free(l->grad);
	free(l->kept);
	*l = (mr_sequential_layout){0};
}
