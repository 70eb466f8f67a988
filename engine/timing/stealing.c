/*
 * stealing.c - which worker takes which W in virtual time: the rule of the engine (exec/features/stealing.c), event by
 * event.
 *
 * Each worker has at most one W in hand, and the next event is the earliest of
 *	claim    it reaches a W of its own tail that no worker has taken: it takes it. The first one opens the tail
 *	begin    the W in its hand, or else its next instruction, has all its inputs, and the worker is free
 *	steal    it is in its tail, its next instruction has to wait, and another worker has a W left: it takes that
 * of several at one moment in this order, then of the first worker. An instruction's times are known when it begins,
 * and every instruction that may begin earlier has begun by then, so no event is ever undone. Times are those of
 * unroll_time.h.
 */
#include "base/grown.h"
#include "timing/timed.h"

#include <math.h>
#include <stdlib.h>

#include "ir/op.h"

typedef enum event_kind { CLAIM, BEGIN, STEAL, NOTHING } event_kind;

typedef struct mr_hand {
	uint32_t next, end;  /* its next node, and the first after its list */
	uint32_t hand;       /* a W that it has taken, or MR_NO_NODE */
	double free_at;
	uint32_t length, from; /* of its body; begin of its tail there */
	uint32_t left;       /* W of its tail that no worker has taken */
	uint32_t iteration;  /* the iteration of that tail, once it is open */
	bool opened;
} mr_hand;

typedef struct mr_thieves {
	mr_unroll *g;
	const mr_cost *cost;
	const mr_time_hooks *hooks;
	uint16_t n_workers;
	mr_hand *of;       /* [n_workers] */
	bool *done, *taken; /* [n_all] its times are known; [n_nodes] a worker has taken it */
	double *begin, *end; /* [n_all] */
	mr_steal *log;     /* [n] */
	size_t n;
} mr_thieves;

/* --- what is known --- */

/* Joins cost nothing: a join is done when all its sources are. */
static bool is_done(mr_thieves *t, uint32_t node)
{
	const mr_unroll *g = t->g;

	if (t->done[node] || node < g->n_nodes)
		return t->done[node];
	for (uint32_t e = g->edge_first[node]; e < g->edge_first[node + 1]; e++)
		if (!t->done[g->edge[e]])
			return false;
	t->begin[node] = t->end[node] =
		mr_unroll_ready(g, t->cost, t->hooks, node, t->begin, t->end, (mr_ready){.last = MR_NO_NODE}).at;
	t->done[node] = true;
	return true;
}

/* When worker @w may begin @node; INFINITY: not known yet. */
static mr_ready ready(mr_thieves *t, uint16_t w, uint32_t node)
{
	const mr_unroll *g = t->g;
	mr_ready r = {.at = t->of[w].free_at, .last = MR_NO_NODE};

	for (uint32_t e = g->edge_first[node]; e < g->edge_first[node + 1]; e++)
		if (!is_done(t, g->edge[e]))
			return (mr_ready){.at = INFINITY};
	if (g->storage[node] != MR_NO_NODE && !t->done[g->storage[node]])
		return (mr_ready){.at = INFINITY};
	return mr_unroll_ready(g, t->cost, t->hooks, node, t->begin, t->end, r);
}

static bool is_any(const mr_thieves *t, uint32_t node)
{
	return t->g->at[node].in->flags & MR_INSTR_ANY;
}

/* The iteration in whose tail @w is; false: it is in none. */
static bool at_end(const mr_thieves *t, uint16_t w, uint32_t *n, uint32_t *to)
{
	const mr_hand *h = &t->of[w];
	uint32_t i = h->next - t->g->first[w];

	if (!h->length || i == 0 || (i % h->length && i % h->length < h->from))
		return false;
	*n = i % h->length ? i / h->length : i / h->length - 1;
	*to = i % h->length ? i % h->length : h->length;
	return true;
}

/* --- what happens next --- */

static void skip_taken(mr_thieves *t, uint16_t w)
{
	mr_hand *h = &t->of[w];

	while (h->next < h->end && t->taken[h->next])
		h->next++;
}

/* The worker that has most W of iteration @n left; n_workers: none has any. */
static uint16_t victim(const mr_thieves *t, uint32_t n)
{
	uint16_t best = t->n_workers;

	for (uint16_t i = 0; i < t->n_workers; i++)
		if (t->of[i].opened && t->of[i].iteration == n && t->of[i].left &&
		    (best == t->n_workers || t->of[i].left > t->of[best].left))
			best = i;
	return best;
}

/* The next event of @w, and its time, which is not before @now. */
static event_kind next_of(mr_thieves *t, uint16_t w, double now, double *when)
{
	mr_hand *h = &t->of[w];
	uint32_t n, to;

	*when = INFINITY;
	if (h->hand != MR_NO_NODE) {
		*when = ready(t, w, h->hand).at;
		return BEGIN;
	}
	skip_taken(t, w);
	if (h->next < h->end && is_any(t, h->next)) {
		*when = h->free_at;
		return CLAIM;
	}
	if (h->next < h->end)
		*when = ready(t, w, h->next).at;
	now = now > h->free_at ? now : h->free_at;
	if (*when <= now || !at_end(t, w, &n, &to) || victim(t, n) == t->n_workers)
		return *when < INFINITY ? BEGIN : NOTHING;
	*when = now;
	return STEAL;
}

static void claim(mr_thieves *t, uint16_t w)
{
	mr_hand *h = &t->of[w];
	uint32_t n = (h->next - t->g->first[w]) / h->length;

	if (!h->opened || h->iteration != n) {
		h->opened = true;
		h->iteration = n;
		h->left = 0;
		for (uint32_t i = t->g->first[w] + n * h->length; i < t->g->first[w] + (n + 1) * h->length; i++)
			h->left += is_any(t, i);
	}
	h->left--;
	h->hand = h->next;
	t->taken[h->next] = true;
}

static void begin(mr_thieves *t, uint16_t w)
{
	mr_hand *h = &t->of[w];
	uint32_t node = h->hand != MR_NO_NODE ? h->hand : h->next;
	mr_ready r = ready(t, w, node);

	t->g->at[node].worker = w; /* the node takes that worker's time */
	t->begin[node] = r.at;
	t->end[node] = h->free_at = mr_unroll_finish(t->g, t->cost, t->hooks, node, &r);
	t->done[node] = true;
	t->taken[node] = true;
	h->hand = MR_NO_NODE;
	skip_taken(t, w);
}

static mr_status steal(mr_thieves *t, uint16_t w, double when)
{
	uint32_t n, to, node;
	mr_steal *log;
	uint16_t from;

	if (!at_end(t, w, &n, &to))
		return MR_OK;
	from = victim(t, n);
	node = t->g->first[from] + n * t->of[from].length;
	while (!is_any(t, node) || t->taken[node])
		node++;
	log = mr_grown(t->log, t->n, sizeof(*log));
	if (!log)
		return mr_fail(MR_ERESOURCE, "no memory for %zu moves", t->n + 1);
	t->log = log;
	t->log[t->n++] = (mr_steal){.n = n, .owner = from, .thief = w, .to = to,
				    .from = node - t->g->first[from] - n * t->of[from].length};
	t->of[from].left--;
	t->of[w].hand = node;
	t->of[w].free_at = when; /* not before the event */
	t->taken[node] = true;
	return MR_OK;
}

static mr_status go(mr_thieves *t)
{
	double now = 0;

	for (;;) {
		event_kind what = NOTHING;
		uint16_t who = 0;
		double at = INFINITY;

		for (uint16_t w = 0; w < t->n_workers; w++) {
			double when;
			event_kind act = next_of(t, w, now, &when);

			if (act != NOTHING && when < INFINITY && (when < at || (when <= at && act < what))) {
				what = act;
				who = w;
				at = when;
			}
		}
		if (what == NOTHING)
			return MR_OK;
		now = at > now ? at : now;
		if (what == CLAIM)
			claim(t, who);
		else if (what == BEGIN)
			begin(t, who);
		else
			MR_TRY(steal(t, who, at));
	}
}

/* --- all of it --- */

static mr_status set_up(mr_thieves *t, const mr_plan *p)
{
	uint32_t n = t->g->n_all;

	t->n_workers = p->n_workers;
	t->of = calloc(p->n_workers, sizeof(*t->of));
	t->done = calloc(2 * (size_t)n + 1, sizeof(*t->done));
	t->begin = calloc(2 * (size_t)n + 1, sizeof(*t->begin));
	if (!t->of || !t->done || !t->begin)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u instructions", n);
	t->taken = t->done + n;
	t->end = t->begin + n;
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);
		mr_hand *h = &t->of[w];

		*h = (mr_hand){.next = t->g->first[w], .end = t->g->first[w + 1], .hand = MR_NO_NODE, .length = l->n};
		for (uint32_t i = 0; i < l->n; i++)
			if (mr_op_is_compute(l->at[i].op) && !(l->at[i].flags & MR_INSTR_ANY))
				h->from = i + 1;
	}
	return MR_OK;
}

static mr_status simulate(mr_thieves *t, const mr_plan *p)
{
	MR_TRY(set_up(t, p));
	MR_TRY(go(t));
	for (uint32_t i = 0; i < t->g->n_nodes; i++)
		if (!t->done[i])
			return mr_fail(MR_ECONFIG, "the plan is stuck: worker %u cannot go on", t->g->at[i].worker);
	return MR_OK;
}

mr_status mr_steals_find(const mr_walked *of, uint32_t n_bodies, mr_steal **out, size_t *n)
{
	mr_thieves t = {.cost = of->cost, .hooks = of->hooks};
	mr_status st;

	*out = NULL;
	*n = 0;
	if (!of->plan->lowered || !of->plan->contract.steal)
		return mr_fail(MR_EINVAL, "only in a lowered plan whose contract says steal W are taken");
	st = mr_unroll_create(of->plan, n_bodies, &(mr_unroll_opts){.no_storage = of->opts->unlimited}, &t.g);
	if (st == MR_OK)
		st = simulate(&t, of->plan);
	mr_unroll_destroy(t.g);
	free(t.of);
	free(t.done);
	free(t.begin);
	if (st == MR_OK) {
		*out = t.log;
		*n = t.n;
	} else {
		free(t.log);
	}
	return st;
}

mr_status mr_walk_steals(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *opts,
			 mr_steal **out, size_t *n)
{
	mr_bend bend;
	mr_status st = mr_bend_init(&bend, plan, cost, opts);
	mr_walked of = {.plan = plan, .cost = cost, .opts = opts, .hooks = &bend.hooks};

	*out = NULL;
	*n = 0;
	if (st == MR_OK)
		st = mr_steals_find(&of, n_bodies, out, n);
	mr_bend_fini(&bend);
	return st;
}
