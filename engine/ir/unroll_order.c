/*
 * unroll_order.c - a topological order of a plan's graph, or the cycle that forbids one.
 *
 * Depth first along the edges into a node, with a stack of its own: the depth is the length of the plan. A node met
 * again while it is still on the stack closes a cycle, and the stack from there on is that cycle, each node waiting for
 * the next.
 *
 * A search that is kept (mr_order_create) is given the storage edges that have changed. It goes back to the first
 * moment at which it followed one of them, where a new search would be in the same state, and goes on from there: what
 * it finds is what a new search would find. For that it notes of each node how it came there and what it saw.
 */
#include "ir/unroll.h"

#include <stdio.h>
#include <stdlib.h>

/* Of a long cycle this many characters are printed. */
#define CYCLE_TEXT 900

enum { NEW, OPEN, DONE };

/* What a search that is kept notes of a node. */
typedef struct mr_trail {
	uint32_t parent, via; /* the node that waits for it, and along which of its edges it was met; of a root
	                         MR_NO_NODE */
	uint32_t when;        /* count of storage edges looked at, with its own; 0: not yet */
	uint32_t n_order;     /* nodes in order at that time */
	uint32_t storage;     /* where that edge came from */
} mr_trail;

struct mr_order {
	const mr_unroll *g;
	uint8_t *state;
	uint32_t *path, *next; /* stack: node, and which of its edges comes next */
	uint32_t depth;
	uint32_t *order, n_order;
	uint32_t root;   /* all nodes below it are DONE, but for a search that is under way from it */
	mr_trail *trail; /* [n_all]; NULL: the search is not kept */
	uint32_t clock;  /* of mr_trail.when */
	uint64_t pushed; /* nodes met, in all */
};

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

/* Did the node at @i of the path go on along the list: does it wait for the instruction before it, and for nothing
 * else? */
static bool along_list(const mr_order *o, uint32_t i)
{
	return o->next[i] == 1;
}

/* Runs along a list say nothing: of those, which begin behind the node @i > @from or end there, only the ends are
 * named. */
static bool worth_naming(const mr_order *o, uint32_t i, uint32_t from)
{
	return i == from || !along_list(o, i - 1) || !along_list(o, i);
}

/* The node nearest to the end of the cycle that goes on along storage, MR_NO_NODE when none does. */
static uint32_t last_storage(const mr_order *o, uint32_t closes)
{
	for (uint32_t i = o->depth; i-- > 0;) {
		if (o->next[i] == 2) /* it went on along edge 1 */
			return o->path[i];
		if (o->path[i] == closes)
			break;
	}
	return MR_NO_NODE;
}

static mr_status report(const mr_order *o, uint32_t closes)
{
	char text[CYCLE_TEXT + MR_NODE_TEXT + 16], name[MR_NODE_TEXT];
	uint32_t from = o->depth, skipped = 0;
	size_t len = 0;

	while (o->path[from - 1] != closes)
		from--;
	from--;
	for (uint32_t i = from; i < o->depth; i++) {
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
	if (o->trail)
		o->trail[node] = (mr_trail){.parent = o->depth ? o->path[o->depth - 1] : MR_NO_NODE,
					    .via = o->depth ? o->next[o->depth - 1] - 1 : 0};
	o->pushed++;
	o->state[node] = OPEN;
	o->path[o->depth] = node;
	o->next[o->depth++] = 0;
}

static void note(mr_order *o, uint32_t node)
{
	mr_trail *t = &o->trail[node];

	t->when = ++o->clock;
	t->n_order = o->n_order;
	t->storage = o->g->storage[node];
}

/* Until the path is empty. */
static mr_status follow(mr_order *o, uint32_t *on_cycle)
{
	while (o->depth) {
		uint32_t node = o->path[o->depth - 1], k = o->next[o->depth - 1], from;

		if (k == n_sources(o->g, node)) {
			o->state[node] = DONE;
			o->order[o->n_order++] = node;
			o->depth--;
			continue;
		}
		if (k == 1 && o->trail && node < o->g->n_nodes)
			note(o, node);
		o->next[o->depth - 1]++;
		from = source(o->g, node, k);
		if (from == MR_NO_NODE || o->state[from] == DONE)
			continue;
		if (o->state[from] == NEW) {
			push(o, from);
			continue;
		}
		if (on_cycle)
			*on_cycle = last_storage(o, from);
		return on_cycle && *on_cycle != MR_NO_NODE ? MR_ECONFIG : report(o, from);
	}
	return MR_OK;
}

static mr_status search(mr_order *o, uint32_t *on_cycle)
{
	MR_TRY(follow(o, on_cycle));
	for (; o->root < o->g->n_all; o->root++)
		if (o->state[o->root] == NEW) {
			push(o, o->root);
			MR_TRY(follow(o, on_cycle));
		}
	return MR_OK;
}

static void fini(mr_order *o)
{
	free(o->state);
	free(o->path);
	free(o->trail);
}

static mr_status init(mr_order *o, const mr_unroll *g, uint32_t *order, bool keep)
{
	size_t n = (size_t)g->n_all + 1;

	*o = (mr_order){.g = g, .order = order};
	o->state = calloc(n, 1);
	o->path = malloc(2 * n * sizeof(*o->path));
	o->next = o->path ? o->path + n : NULL;
	o->trail = keep ? malloc(n * sizeof(*o->trail)) : NULL;
	if (o->state && o->path && (o->trail || !keep))
		return MR_OK;
	fini(o);
	return mr_fail(MR_ERESOURCE, "no memory to order %u instructions", g->n_all);
}

mr_status mr_unroll_order(const mr_unroll *g, uint32_t *order)
{
	mr_order o;
	mr_status st;

	MR_TRY(init(&o, g, order, false));
	st = search(&o, NULL);
	fini(&o);
	return st;
}

/* --- a search that is kept --- */

mr_status mr_order_create(const mr_unroll *g, uint32_t *order, mr_order **out)
{
	mr_order *o = malloc(sizeof(*o));
	mr_status st =
		o ? init(o, g, order, true) : mr_fail(MR_ERESOURCE, "no memory to order %u instructions", g->n_all);

	*out = st == MR_OK ? o : NULL;
	if (st != MR_OK)
		free(o);
	return st;
}

void mr_order_destroy(mr_order *o)
{
	if (!o)
		return;
	fini(o);
	free(o);
}

mr_status mr_order_search(mr_order *o, uint32_t *on_cycle, uint64_t *visits)
{
	uint64_t before = o->pushed;
	mr_status st;

	*on_cycle = MR_NO_NODE;
	st = search(o, on_cycle);
	*visits += o->pushed - before;
	return st;
}

/* Goes back to where @node is about to look at its storage edge. */
static void go_back(mr_order *o, uint32_t node)
{
	const mr_trail *t = o->trail;
	uint32_t meets = node, n = 0;

	while (o->n_order > t[node].n_order)
		o->state[o->order[--o->n_order]] = NEW;
	for (; meets != MR_NO_NODE && o->state[meets] != OPEN; meets = t[meets].parent)
		n++;
	for (; o->depth && o->path[o->depth - 1] != meets; o->depth--)
		o->state[o->path[o->depth - 1]] = NEW;
	o->depth += n;
	for (uint32_t at = node, i = o->depth; n > 0; n--, at = t[at].parent) {
		o->path[--i] = at;
		o->state[at] = OPEN;
		if (i > 0)
			o->next[i - 1] = t[at].via + 1;
	}
	o->next[o->depth - 1] = 1;
	o->root = o->path[0];
	o->clock = t[node].when - 1;
}

void mr_order_changed(mr_order *o, uint8_t pipe, uint16_t stage, bool forward)
{
	const mr_unroll *g = o->g;
	size_t place = mr_plan_at(g->plan, pipe, (uint16_t)(forward ? stage - 1 : stage));
	uint32_t first = MR_NO_NODE;

	for (uint32_t k = g->place_first[place]; k < g->place_first[place + 1]; k++) {
		uint32_t node = g->place_node[k];
		const mr_trail *t = &o->trail[node];

		if (o->state[node] == NEW || !t->when || t->storage == g->storage[node])
			continue;
		if (first == MR_NO_NODE || t->when < o->trail[first].when)
			first = node;
	}
	if (first != MR_NO_NODE)
		go_back(o, first);
}
