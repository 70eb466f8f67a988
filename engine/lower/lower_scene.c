#include "lower/lower_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/sweep.h"
#include "timing/walk.h"

mr_status mr_scene_init(mr_scene *s, const mr_plan *plan, uint32_t n_bodies, bool no_barrier, mr_unroll *shared)
{
	*s = (mr_scene){.g = shared, .shares = shared != NULL};
	if (shared)
		memset(shared->storage, 0xff, (size_t)shared->n_nodes * sizeof(*shared->storage));
	else
		MR_TRY(mr_unroll_create(plan, n_bodies,
					&(mr_unroll_opts){.no_barrier = no_barrier, .no_storage = true}, &s->g));
	s->order = malloc(3 * ((size_t)s->g->n_all + 1) * sizeof(*s->order));
	s->begin = malloc(2 * ((size_t)s->g->n_all + 1) * sizeof(*s->begin));
	if (!s->order || !s->begin) {
		uint32_t n = s->g->n_all;

		mr_scene_fini(s);
		return mr_fail(MR_ERESOURCE, "no memory to walk %u instructions", n);
	}
	s->at = s->order + s->g->n_all;
	s->binding = s->at + s->g->n_all;
	s->end = s->begin + s->g->n_all;
	return MR_OK;
}

void mr_scene_fini(mr_scene *s)
{
	mr_order_destroy(s->search);
	if (!s->shares)
		mr_unroll_destroy(s->g);
	free(s->order);
	free(s->begin);
	free(s->change.storage);
	free(s->change.wait_first);
	free(s->change.out_first);
	free(s->change.dirty);
	free(s->change.path);
	*s = (mr_scene){.visits = s->visits};
}

/* --- order --- */

static void number(mr_scene *s)
{
	for (uint32_t k = 0; k < s->g->n_all; k++)
		s->at[s->order[k]] = k;
}

static mr_status order(mr_scene *s, const mr_unroll *g)
{
	bool complete;

	MR_TRY(mr_sweep_order(g, s->order, &complete));
	if (!complete)
		MR_TRY(mr_unroll_order(g, s->order)); /* its message describes the cycle */
	number(s);
	s->visits += g->n_all;
	return MR_OK;
}

/* A search that ends in a cycle is kept until the storage edges leave an order. */
static mr_status order_or_stop(mr_scene *s, uint32_t *on_cycle)
{
	bool complete = false;
	mr_status st;

	if (!s->search) {
		MR_TRY(mr_sweep_order(s->g, s->order, &complete));
		if (complete) {
			number(s);
			s->visits += s->g->n_all;
			return MR_OK;
		}
		MR_TRY(mr_order_create(s->g, s->order, &s->search));
	}
	st = mr_order_search(s->search, on_cycle, &s->visits);
	if (st != MR_OK)
		return st;
	mr_order_destroy(s->search);
	s->search = NULL;
	number(s);
	return MR_OK;
}

mr_status mr_scene_order(mr_scene *s, uint32_t *on_cycle)
{
	if (on_cycle)
		*on_cycle = MR_NO_NODE;
	if (s->ordered)
		return MR_OK;
	MR_TRY(on_cycle ? order_or_stop(s, on_cycle) : order(s, s->g));
	s->ordered = true;
	s->timed = false;
	return MR_OK;
}

static uint32_t *no_storage(const mr_unroll *g)
{
	uint32_t *none = malloc(((size_t)g->n_nodes + 1) * sizeof(*none));

	if (none)
		memset(none, 0xff, (size_t)g->n_nodes * sizeof(*none));
	return none;
}

mr_status mr_scene_order_plain(mr_scene *s)
{
	mr_unroll plain = *s->g;
	mr_status st;

	plain.storage = no_storage(s->g);
	st = plain.storage ? order(s, &plain)
			   : mr_fail(MR_ERESOURCE, "no memory to order %u instructions", plain.n_all);
	free(plain.storage);
	s->ordered = s->timed = false;
	return st;
}

/* --- all costs at once --- */

/* Ops that carry MR_INSTR_UPDATE cost more: each op has two rows of a stage. */
#define ROWS (2u * MR_N_OPS)

/* Number of tables when the caller gives no costs: loops over that many are unrolled. */
#define USUAL_COSTS 5u

typedef struct mr_pass {
	const mr_unroll *g;
	const mr_cost *costs;
	uint32_t n;
	bool storage, hops; /* some hand-over costs something */
	double *duration;   /* [n_stages][ROWS][n] of a span of 1 */
	double *end;        /* [n_all][n] */
} mr_pass;

static void fill_durations(mr_pass *p)
{
	const mr_plan *plan = p->g->plan;

	for (uint16_t st = 0; st < plan->n_stages; st++)
		for (uint32_t row = 0; row < ROWS; row++)
			for (uint32_t c = 0; c < p->n; c++) {
				mr_instr in = {.op = (uint8_t)(row / 2), .span = 1, .stage = st,
					       .flags = row % 2 ? MR_INSTR_UPDATE : 0};

				p->duration[((size_t)st * ROWS + row) * p->n + c] =
					mr_instr_cost(plan, &in, &p->costs[c]);
				p->hops |= mr_cost_handover(&p->costs[c].stage[st], false) > 0 ||
					   p->costs[c].stage[st].b > 0;
			}
}

static inline void wait_for(const mr_pass *p, uint32_t n, double *end, uint32_t from, uint32_t to)
{
	const mr_unroll *g = p->g;
	const double *before = &p->end[(size_t)from * n];

	if (p->hops && mr_unroll_hands_over(g, from, to))
		for (uint32_t c = 0; c < n; c++)
			end[c] = fmax(end[c], before[c] + mr_cost_handover(&p->costs[c].stage[g->at[from].in->stage],
									   g->at[from].op != MR_OP_F));
	else
		for (uint32_t c = 0; c < n; c++)
			end[c] = before[c] > end[c] ? before[c] : end[c];
}

/* @n is p->n, given apart so that the compiler may see a constant. */
static inline void time_node(const mr_pass *p, uint32_t n, uint32_t node)
{
	const mr_unroll *g = p->g;
	double *end = &p->end[(size_t)node * n];
	const mr_instr *in = node < g->n_nodes ? g->at[node].in : NULL;
	const double *d;

	if (in && node > g->first[g->at[node].worker])
		memcpy(end, end - n, n * sizeof(*end));
	else
		memset(end, 0, n * sizeof(*end));
	for (uint32_t e = g->edge_first[node]; e < g->edge_first[node + 1]; e++)
		wait_for(p, n, end, g->edge[e], node);
	if (!in)
		return;
	if (p->storage && g->storage[node] != MR_NO_NODE)
		wait_for(p, n, end, g->storage[node], node);
	d = &p->duration[((size_t)in->stage * ROWS + 2u * in->op + !!(in->flags & MR_INSTR_UPDATE)) * n];
	for (uint32_t c = 0; c < n; c++)
		end[c] += in->span > 1 ? mr_instr_cost(g->plan, in, &p->costs[c]) : d[c];
}

/* @end: of node k at k * @n. */
static double finish_of(const mr_unroll *g, const double *end, uint32_t n)
{
	double last = 0;

	for (uint16_t w = 0; w < g->plan->n_workers; w++)
		if (g->first[w + 1] > g->first[w])
			last = fmax(last, end[(size_t)(g->first[w + 1] - 1) * n]);
	return last;
}

static double advance_of(const mr_unroll *g, const double *end, uint32_t n, uint32_t span)
{
	double most = 0;

	for (uint16_t w = 0; g->n_bodies > span && w < g->plan->n_workers; w++)
		if (mr_plan_list(g->plan, w, MR_BODY)->n)
			most = fmax(most, end[(size_t)mr_unroll_body_end(g, w, g->n_bodies - 1) * n] -
						  end[(size_t)mr_unroll_body_end(g, w, g->n_bodies - 1 - span) * n]);
	return most;
}

/* A W that follows another in its sum begins with it, and only mr_unroll_times computes begins. */
static mr_status time_each(mr_scene *s, const mr_cost *costs, uint32_t n, uint32_t span, bool storage, double *finish,
			   double *advance)
{
	mr_unroll g = *s->g;
	uint32_t *none = storage ? NULL : no_storage(s->g);

	if (!storage && !none)
		return mr_fail(MR_ERESOURCE, "no memory to walk %u instructions", g.n_all);
	g.storage = storage ? g.storage : none;
	for (uint32_t c = 0; c < n; c++) {
		mr_unroll_times(&g, &costs[c], NULL, s->order, s->begin, s->end, NULL);
		finish[c] = finish_of(&g, s->end, 1);
		advance[c] = advance_of(&g, s->end, 1, span);
	}
	s->timed = false;
	s->visits += (uint64_t)n * g.n_all;
	free(none);
	return MR_OK;
}

mr_status mr_scene_time_all(mr_scene *s, const mr_cost *costs, uint32_t n, uint32_t span, bool storage, double *finish,
			    double *advance)
{
	mr_pass p = {.g = s->g, .costs = costs, .n = n, .storage = storage};

	if (s->g->plan->contract.steal)
		return time_each(s, costs, n, span, storage, finish, advance);
	p.duration = malloc((size_t)s->g->plan->n_stages * ROWS * n * sizeof(*p.duration));
	p.end = malloc(((size_t)s->g->n_all + 1) * n * sizeof(*p.end));
	if (p.duration && p.end) {
		fill_durations(&p);
		for (uint32_t k = 0; k < s->g->n_all && n != USUAL_COSTS; k++)
			time_node(&p, n, s->order[k]);
		for (uint32_t k = 0; k < s->g->n_all && n == USUAL_COSTS; k++)
			time_node(&p, USUAL_COSTS, s->order[k]);
		for (uint32_t c = 0; c < n; c++) {
			finish[c] = finish_of(s->g, p.end + c, n);
			advance[c] = advance_of(s->g, p.end + c, n, span);
		}
	}
	s->visits += s->g->n_all;
	free(p.duration);
	free(p.end);
	return p.duration && p.end ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to walk %u instructions", s->g->n_all);
}

/* --- one cost --- */

void mr_scene_time(mr_scene *s, const mr_cost *cost)
{
	mr_unroll_times(s->g, cost, NULL, s->order, s->begin, s->end, s->binding);
	s->visits += s->g->n_all;
	s->cost = cost;
	s->change.n_path = 0;
	s->timed = true;
}

double mr_scene_finish(const mr_scene *s)
{
	return finish_of(s->g, s->end, 1);
}

/* --- changes --- */

static void link_waiter(mr_scene_change *c, uint32_t node)
{
	uint32_t from = c->storage[node];

	if (from == MR_NO_NODE)
		return;
	c->wait_next[node] = c->wait_first[from];
	c->wait_first[from] = node;
}

static void unlink_waiter(mr_scene_change *c, uint32_t node)
{
	uint32_t *at;

	if (c->storage[node] == MR_NO_NODE)
		return;
	for (at = &c->wait_first[c->storage[node]]; *at != node;)
		at = &c->wait_next[*at];
	*at = c->wait_next[node];
}

static void turn_edges(const mr_unroll *g, mr_scene_change *c)
{
	uint32_t n = 0;

	memset(c->out_first, 0, ((size_t)g->n_all + 1) * sizeof(*c->out_first));
	for (uint32_t e = 0; e < g->edge_first[g->n_all]; e++)
		c->out_first[g->edge[e]]++;
	for (uint32_t i = 0; i <= g->n_all; i++) {
		n += c->out_first[i];
		c->out_first[i] = n; /* the end of each range; filling it from the end moves it to the begin */
	}
	for (uint32_t i = 0; i < g->n_all; i++)
		for (uint32_t e = g->edge_first[i]; e < g->edge_first[i + 1]; e++)
			c->out[--c->out_first[g->edge[e]]] = i;
}

mr_status mr_scene_prepare(mr_scene *s)
{
	mr_scene_change *c = &s->change;
	const mr_unroll *g = s->g;
	size_t all = (size_t)g->n_all + 1;

	if (c->dirty)
		return MR_OK;
	c->storage = malloc(all * sizeof(*c->storage));
	c->wait_first = malloc(2 * all * sizeof(*c->wait_first));
	c->out_first = malloc((all + g->edge_first[g->n_all] + 1) * sizeof(*c->out_first));
	c->dirty = calloc(all / 64 + 1, sizeof(*c->dirty));
	c->path = calloc(2 * all, sizeof(*c->path));
	if (!c->storage || !c->wait_first || !c->out_first || !c->dirty || !c->path)
		return mr_fail(MR_ERESOURCE, "no memory to walk %u instructions", g->n_all);
	c->on_path = c->path + all;
	c->wait_next = c->wait_first + all;
	c->out = c->out_first + all;
	memset(c->wait_first, 0xff, all * sizeof(*c->wait_first));
	memcpy(c->storage, g->storage, (size_t)g->n_nodes * sizeof(*c->storage));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		link_waiter(c, i);
	turn_edges(g, c);
	s->visits += g->n_all;
	return MR_OK;
}

/* Cut the path behind @node: what lies between its end and @node stays valid. */
static void cut_path(mr_scene_change *c, uint32_t node)
{
	if (c->on_path[node] < c->n_path && c->path[c->on_path[node]] == node)
		c->n_path = c->on_path[node];
}

static void mark(const mr_scene *s, uint32_t node)
{
	s->change.dirty[s->at[node] / 64] |= (uint64_t)1 << s->at[node] % 64;
}

/* Time @node again; if its times change, mark the nodes that wait for it. */
static void time_again(mr_scene *s, uint32_t node)
{
	mr_scene_change *c = &s->change;
	const mr_unroll *g = s->g;
	mr_ready r = {.last = MR_NO_NODE};
	double end;

	if (node < g->n_nodes && node > g->first[g->at[node].worker]) {
		r.last = node - 1;
		r.at = s->end[r.last];
	}
	r = mr_unroll_ready(g, s->cost, NULL, node, s->begin, s->end, r);
	end = mr_unroll_finish(g, s->cost, NULL, node, &r);
	s->visits++;
	if (s->binding[node] != r.last)
		cut_path(c, node);
	s->binding[node] = r.last;
	if (r.at == s->begin[node] && end == s->end[node])
		return;
	s->begin[node] = r.at;
	s->end[node] = end;
	if (node < g->n_nodes && node + 1 < g->first[g->at[node].worker + 1u])
		mark(s, node + 1);
	for (uint32_t e = c->out_first[node]; e < c->out_first[node + 1]; e++)
		mark(s, c->out[e]);
	for (uint32_t w = c->wait_first[node]; w != MR_NO_NODE; w = c->wait_next[w])
		mark(s, w);
}

/* Time the marked nodes in the order of the graph, from @word of the bits on; nodes marked meanwhile come later. */
static void time_marked(mr_scene *s, uint32_t word)
{
	uint64_t *dirty = s->change.dirty;

	for (; word <= s->g->n_all / 64; word++)
		for (uint32_t bit = 0; dirty[word];) {
			while (!(dirty[word] >> bit & 1))
				bit++;
			dirty[word] &= ~((uint64_t)1 << bit);
			time_again(s, s->order[word * 64 + bit]);
		}
}

/* Update the waits and times of one boundary. */
static void follow_change(mr_scene *s, uint8_t pipe, uint16_t stage, bool forward)
{
	const mr_unroll *g = s->g;
	mr_scene_change *c = &s->change;
	size_t place = mr_plan_at(g->plan, pipe, (uint16_t)(forward ? stage - 1 : stage));
	uint32_t first = UINT32_MAX;

	for (uint32_t k = g->place_first[place]; k < g->place_first[place + 1]; k++) {
		uint32_t node = g->place_node[k], from = g->storage[node];
		uint8_t op = g->at[node].in->op;

		if (!(forward ? op == MR_OP_F : op == MR_OP_B || op == MR_OP_I) || from == c->storage[node])
			continue;
		unlink_waiter(c, node);
		c->storage[node] = from;
		link_waiter(c, node);
		cut_path(c, node);
		if (from != MR_NO_NODE && s->at[from] > s->at[node])
			s->ordered = s->timed = false;
		mark(s, node);
		first = s->at[node] / 64 < first ? s->at[node] / 64 : first;
	}
	if (first == UINT32_MAX)
		return;
	if (s->timed)
		time_marked(s, first);
	else
		memset(c->dirty, 0, ((size_t)g->n_all / 64 + 1) * sizeof(*c->dirty));
}

void mr_scene_changed(mr_scene *s, uint8_t pipe, uint16_t stage, bool forward)
{
	if (s->search)
		mr_order_changed(s->search, pipe, stage, forward);
	if (s->change.dirty)
		follow_change(s, pipe, stage, forward);
}

/* --- the critical path --- */

/* The first node, by its number, that ends at @last or later. */
static uint32_t last_node(const mr_scene *s, double last)
{
	const mr_unroll *g = s->g;

	for (uint16_t w = 0; w < g->plan->n_workers; w++) {
		uint32_t node = g->first[w + 1];

		if (node == g->first[w] || s->end[node - 1] < last)
			continue;
		for (node--; node > g->first[w] && s->end[node - 1] >= last;)
			node--;
		return node;
	}
	return MR_NO_NODE;
}

static uint32_t pass(mr_scene *s, uint32_t node)
{
	mr_scene_change *c = &s->change;

	s->visits++;
	c->on_path[node] = c->n_path;
	c->path[c->n_path++] = node;
	return s->binding[node];
}

static bool is_held(const mr_scene *s, uint32_t node)
{
	return node < s->g->n_nodes && s->binding[node] != MR_NO_NODE && s->binding[node] == s->g->storage[node];
}

static uint32_t go_on(mr_scene *s, uint32_t node)
{
	while (node != MR_NO_NODE && !is_held(s, node))
		node = pass(s, node);
	return node;
}

uint32_t mr_scene_held(mr_scene *s, double last)
{
	mr_scene_change *c = &s->change;
	uint32_t node = last_node(s, last);

	if (c->n_path && c->path[0] != node)
		c->n_path = 0;
	return go_on(s, c->n_path ? s->binding[c->path[c->n_path - 1]] : node);
}

uint32_t mr_scene_held_before(mr_scene *s, uint32_t node)
{
	return go_on(s, pass(s, node));
}
