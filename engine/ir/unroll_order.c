/*
 * unroll_order.c - a topological order of a plan's graph, or the cycle that forbids one.
 *
 * Depth first along the edges into a node, with a stack of its own: the depth is the length of the plan. A node met
 * again while it is still on the stack closes a cycle, and the stack from there on is that cycle, each node waiting for
 * the next.
 */
#include "ir/unroll.h"

#include <stdio.h>
#include <stdlib.h>

/* Of a long cycle this many characters are printed. */
#define CYCLE_TEXT 900

enum { NEW, OPEN, DONE };

typedef struct mr_order {
	const mr_unroll *g;
	uint8_t *state;
	uint32_t *path, *next; /* stack: node, and which of its edges comes next */
	uint32_t depth;
	uint32_t *order, n_order;
} mr_order;

/* The @k-th node that @node waits for: list predecessor, storage, then its edges. MR_NO_NODE: that one is absent. */
static uint32_t source(const mr_unroll *g, uint32_t node, uint32_t k)
{
	if (k == 0)
		return node < g->n_nodes && node > g->first[g->at[node].worker] ? node - 1 : MR_NO_NODE;
	if (k == 1)
		return node < g->n_nodes ? g->storage[node] : MR_NO_NODE;
	return g->edge[g->edge_first[node] + k - 2];
}

static uint32_t n_sources(const mr_unroll *g, uint32_t node)
{
	return g->edge_first[node + 1] - g->edge_first[node] + 2;
}

/* Did the node at @i of the path go on along the list: does it wait for the instruction before it, and for nothing else? */
static bool along_list(const mr_order *o, uint32_t i)
{
	return o->next[i] == 1;
}

/* Runs along a list say nothing: of those, which begin behind the node @i > @from or end there, only the ends are named. */
static bool worth_naming(const mr_order *o, uint32_t i, uint32_t from)
{
	return i == from || !along_list(o, i - 1) || !along_list(o, i);
}

static mr_status report(const mr_order *o, uint32_t closes, uint32_t *on_cycle)
{
	char text[CYCLE_TEXT + MR_NODE_TEXT + 16], name[MR_NODE_TEXT];
	uint32_t from = o->depth, skipped = 0;
	size_t len = 0;

	while (o->path[from - 1] != closes)
		from--;
	from--;
	if (on_cycle)
		*on_cycle = MR_NO_NODE;
	for (uint32_t i = from; i < o->depth; i++) {
		if (on_cycle && o->next[i] == 2) /* it went on along edge 1, storage */
			*on_cycle = o->path[i];
		if (!worth_naming(o, i, from))
			continue;
		if (len < CYCLE_TEXT)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s -> ",
						mr_unroll_name(o->g, o->path[i], name));
		else
			skipped++;
	}
	if (skipped)
		return mr_fail(MR_ECONFIG, "deadlock, each waits for the next: %s(%u more)", text, skipped);
	return mr_fail(MR_ECONFIG, "deadlock, each waits for the next: %s%s", text, mr_unroll_name(o->g, closes, name));
}

static void push(mr_order *o, uint32_t node)
{
	o->state[node] = OPEN;
	o->path[o->depth] = node;
	o->next[o->depth++] = 0;
}

static mr_status visit(mr_order *o, uint32_t root, uint32_t *on_cycle)
{
	push(o, root);
	while (o->depth) {
		uint32_t node = o->path[o->depth - 1], k = o->next[o->depth - 1], from;

		if (k == n_sources(o->g, node)) {
			o->state[node] = DONE;
			o->order[o->n_order++] = node;
			o->depth--;
			continue;
		}
		o->next[o->depth - 1]++;
		from = source(o->g, node, k);
		if (from == MR_NO_NODE || o->state[from] == DONE)
			continue;
		if (o->state[from] == OPEN)
			return report(o, from, on_cycle);
		push(o, from);
	}
	return MR_OK;
}

mr_status mr_unroll_order(const mr_unroll *g, uint32_t *order, uint32_t *on_cycle)
{
	mr_order o = {.g = g, .order = order};
	mr_status st = MR_OK;

	o.state = calloc(g->n_all, 1);
	o.path = malloc(2 * (size_t)g->n_all * sizeof(*o.path));
	o.next = o.path ? o.path + g->n_all : NULL;
	if (!o.state || !o.path)
		st = mr_fail(MR_ERESOURCE, "no memory to order %u instructions", g->n_all);
	for (uint32_t i = 0; st == MR_OK && i < g->n_all; i++)
		if (o.state[i] == NEW)
			st = visit(&o, i, on_cycle);
	free(o.state);
	free(o.path);
	return st;
}
