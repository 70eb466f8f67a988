#include "timing/sharing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "timing/unroll_time.h"

#define LEAST_SPEED 0.02 /* of a worker whose core messages take */
#define NOTHING 1e-9     /* what rounding leaves of a part of a core */

/* What a worker carries out now. */
typedef struct running {
	uint32_t node;     /* MR_NO_NODE: it waits */
	double left;       /* the part that is not done, 1 to 0 */
	double duration;   /* alone */
	double bytes[2];   /* of memory and link, in all */
	double speed;      /* 1: as if alone */
	double end;        /* at this speed */
} running;

/* The workers of one node. */
typedef struct place {
	uint32_t first, n; /* in `worker` */
	double at;         /* time until which their work is counted */
	double end;        /* of the first that ends */
} place;

typedef struct start {
	double at;
	uint32_t node;
} start;

/* From @at on the messages take @part more of the core of @worker. */
typedef struct change {
	double at, part;
	uint16_t worker;
} change;

typedef struct mr_shared_times {
	const mr_cost *cost;
	const mr_time_hooks *hooks;    /* NULL: none */
	const mr_sharing *sharing;
	const mr_unroll *g;
	uint32_t *waits;               /* [n_all] sources that have not ended */
	uint32_t *out_first, *out;     /* edges by their sources, those of storage and of the lists included */
	double *ready;                 /* [n_all] */
	double *begin, *end;           /* [n_all], of the caller, as is the next */
	uint32_t *binding;             /* [n_all] the source that each node waited for last, or MR_NO_NODE */
	uint32_t *done;                /* [n_workers] the first node that has not ended */
	start *heap;                   /* of those that may begin, earliest first */
	uint32_t n_heap;
	running *now;                  /* [n_workers] */
	uint16_t *worker;              /* [n_workers] by their nodes */
	place *place;                  /* [n_nodes] */
	mr_messages *messages;         /* between hosts; NULL: there is one */
	double *stolen;                /* [n_workers] the part of its core that messages take now */
	change *change;                /* [n_changes] the first one last */
	uint32_t n_changes;
	mr_shared_use use;
	double alone, taken;           /* sums of durations: of the table, and in this run */
	uint32_t n_begun;
	uint32_t by;                   /* iterations by which the graph moves now */
} shared;

/* --- the graph by its sources --- */

static void each_source(const shared *s, uint32_t to, void (*one)(shared *s, uint32_t from, uint32_t to), shared *arg)
{
	const mr_unroll *g = s->g;

	if (to < g->n_nodes && to > g->first[g->at[to].worker])
		one(arg, to - 1, to);
	for (uint32_t e = g->edge_first[to]; e < g->edge_first[to + 1]; e++)
		one(arg, g->edge[e], to);
	if (to < g->n_nodes && g->storage[to] != MR_NO_NODE)
		one(arg, g->storage[to], to);
}

static void count_edge(shared *s, uint32_t from, uint32_t to)
{
	s->waits[to]++;
	s->out_first[from]++;
}

static void add_edge(shared *s, uint32_t from, uint32_t to)
{
	s->out[--s->out_first[from]] = to;
}

static mr_status turn_edges(shared *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->g->n_all; i++)
		each_source(s, i, count_edge, s);
	for (uint32_t i = 0; i <= s->g->n_all; i++) {
		n += s->out_first[i];
		s->out_first[i] = n; /* the end of each range; filling it from the end moves it to the begin */
	}
	s->out = malloc(((size_t)n + 1) * sizeof(*s->out));
	if (!s->out)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u instructions", s->g->n_all);
	for (uint32_t i = s->g->n_all; i-- > 0;)
		each_source(s, i, add_edge, s);
	return MR_OK;
}

/* --- instructions that may begin --- */

static bool earlier(const start *a, const start *b)
{
	return a->at < b->at || (a->at == b->at && a->node < b->node);
}

static void push(shared *s, uint32_t node)
{
	start new = {s->ready[node], node};
	uint32_t at = s->n_heap++;

	for (; at && earlier(&new, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = new;
}

static uint32_t pop(shared *s)
{
	uint32_t node = s->heap[0].node, at = 0;
	start last = s->heap[--s->n_heap];

	for (uint32_t child; (child = 2 * at + 1) < s->n_heap; at = child) {
		child += child + 1 < s->n_heap && earlier(&s->heap[child + 1], &s->heap[child]);
		if (!earlier(&s->heap[child], &last))
			break;
		s->heap[at] = s->heap[child];
	}
	s->heap[at] = last;
	return node;
}

/* --- rates --- */

static double factor(double demand, double rate)
{
	return rate > 0 && demand > rate ? rate / demand : 1;
}

static void note_use(double *most, double demand, double rate)
{
	if (rate > 0)
		*most = fmax(*most, fmin(demand, rate) / rate);
}

/* Count the work of a node's workers until @t. */
static void count_work(shared *s, place *p, double t)
{
	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		running *r = &s->now[s->worker[i]];

		if (r->node != MR_NO_NODE && r->speed < 1)
			r->left -= (t - p->at) * r->speed / r->duration;
	}
	p->at = t;
}

/* Share memory and link of a node among its workers. One at full speed keeps the end that it began with. */
static void share(shared *s, place *p)
{
	double demand[2] = {0}, part[2];

	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		const running *r = &s->now[s->worker[i]];

		for (int k = 0; k < 2 && r->node != MR_NO_NODE && r->duration > 0; k++)
			demand[k] += r->bytes[k] / r->duration;
	}
	note_use(&s->use.memory, demand[0], s->sharing->memory_rate);
	note_use(&s->use.link, demand[1], s->sharing->link_rate);
	part[0] = factor(demand[0], s->sharing->memory_rate);
	part[1] = factor(demand[1], s->sharing->link_rate);
	p->end = INFINITY;
	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		running *r = &s->now[s->worker[i]];
		double speed;

		if (r->node == MR_NO_NODE)
			continue;
		speed = fmin(r->bytes[0] > 0 ? part[0] : 1, r->bytes[1] > 0 ? part[1] : 1);
		if (s->stolen[s->worker[i]] > 0)
			speed *= fmax(LEAST_SPEED, 1 - s->stolen[s->worker[i]]);
		if (speed != r->speed) {
			if (!(r->speed < 1)) /* it ran at full speed until now */
				r->left = r->duration > 0 ? (r->end - p->at) / r->duration : 0;
			r->speed = speed;
			r->end = p->at + fmax(0, r->left) * r->duration / speed;
		}
		p->end = fmin(p->end, r->end);
	}
}

/* --- what messages take of cores --- */

static void add_change(shared *s, double at, uint16_t worker, double part)
{
	change *more = mr_grown(s->change, s->n_changes, sizeof(*more));
	uint32_t i;

	if (!more)
		return; /* a shorter step is predicted */
	s->change = more;
	for (i = s->n_changes++; i && s->change[i - 1].at < at; i--)
		s->change[i] = s->change[i - 1];
	s->change[i] = (change){at, part, worker};
}

static void note_thefts(shared *s)
{
	mr_theft t;

	while (mr_message_theft(s->messages, &t)) {
		add_change(s, t.from, t.worker, t.part);
		add_change(s, t.to, t.worker, -t.part);
	}
}

/* The first change comes to pass. */
static void change_first(shared *s)
{
	change c = s->change[--s->n_changes];
	place *p = &s->place[s->sharing->node[c.worker]];

	count_work(s, p, c.at);
	s->stolen[c.worker] += c.part;
	if (s->stolen[c.worker] < NOTHING)
		s->stolen[c.worker] = 0;
	share(s, p);
}

/* --- events --- */

static void finish(shared *s, uint32_t node, double t);

static double handover(const shared *s, uint32_t from, uint32_t to)
{
	const mr_unroll_node *a = &s->g->at[from];
	double c = mr_cost_handover(&s->cost->stage[a->in->stage], a->op != MR_OP_F);

	if (!s->hooks || !s->hooks->handoff)
		return c;
	return s->hooks->handoff(s->hooks->arg, a->worker, s->g->at[to].worker, c);
}

/* Of sources that are there at once the one before in the list counts as the last, else the first that ended. */
static void raise_ready(shared *s, uint32_t from, uint32_t to, double at)
{
	bool is_before = to < s->g->n_nodes && from + 1 == to && to > s->g->first[s->g->at[to].worker];

	if (at > s->ready[to] || (is_before && at == s->ready[to]))
		s->binding[to] = from;
	s->ready[to] = fmax(s->ready[to], at);
}

/* @node's sources have all ended. A join takes no time. */
static void arrive(shared *s, uint32_t from, uint32_t to, double t)
{
	const mr_unroll *g = s->g;
	double at = t;

	if (s->messages && mr_message_goes(s->messages, from, to)) {
		at = mr_message_arrival(s->messages, from, to, t);
		note_thefts(s);
	} else if (to < g->n_nodes && mr_unroll_hands_over(g, from, to)) {
		at += handover(s, from, to);
	}
	raise_ready(s, from, to, at);
	if (--s->waits[to])
		return;
	if (to < g->n_nodes)
		push(s, to);
	else
		finish(s, to, s->ready[to]);
}

static bool is_behind(const mr_unroll *g, uint32_t from, uint32_t to)
{
	return from < g->n_nodes && to < g->n_nodes && g->at[to].worker > g->at[from].worker;
}

static void finish(shared *s, uint32_t node, double t)
{
	const mr_unroll *g = s->g;

	s->end[node] = t;
	if (s->messages && node < g->n_nodes) {
		mr_message_tell(s->messages, node, t);
		note_thefts(s);
	}
	/* messages first to the workers behind this one, then to those before it: not all send to one at once */
	for (uint32_t e = s->out_first[node]; s->messages && e < s->out_first[node + 1]; e++)
		if (is_behind(g, node, s->out[e]))
			arrive(s, node, s->out[e], t);
	for (uint32_t e = s->out_first[node]; e < s->out_first[node + 1]; e++)
		if (!s->messages || !is_behind(g, node, s->out[e]))
			arrive(s, node, s->out[e], t);
}

static void begin(shared *s, uint32_t node)
{
	const mr_unroll_node *n = &s->g->at[node];
	running *r = &s->now[n->worker];
	place *p = &s->place[s->sharing->node[n->worker]];
	double t = s->ready[node], d = mr_instr_cost(s->g->plan, n->in, s->cost);

	s->begin[node] = t;
	s->n_begun++;
	if (s->hooks && s->hooks->finish)
		d = s->hooks->finish(s->hooks->arg, s->g, node, t, d) - t;
	s->alone += d;
	count_work(s, p, t);
	*r = (running){.node = node, .left = 1, .duration = d, .speed = 1, .end = t + d};
	r->bytes[0] = mr_instr_cost(s->g->plan, n->in, &s->sharing->memory);
	r->bytes[1] = mr_instr_cost(s->g->plan, n->in, &s->sharing->link);
	share(s, p);
}

/* End all of @p that end now. */
static void end_first(shared *s, place *p)
{
	double t = p->end;

	count_work(s, p, t);
	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		running *r = &s->now[s->worker[i]];
		uint32_t node = r->node;

		if (node == MR_NO_NODE || r->end > t)
			continue;
		r->node = MR_NO_NODE;
		s->done[s->g->at[node].worker] = node + 1;
		s->taken += t - s->begin[node];
		finish(s, node, t);
	}
	share(s, p);
}

/* The last iteration of what ends next at @p. */
static uint32_t iteration_of(const shared *s, const place *p)
{
	uint32_t last = 0;

	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		const running *r = &s->now[s->worker[i]];

		if (r->node != MR_NO_NODE && r->end <= p->end && s->g->at[r->node].n > last)
			last = s->g->at[r->node].n;
	}
	return last;
}

mr_status mr_shared_times_play(mr_shared_times *s, uint32_t until)
{
	for (;;) {
		place *first = &s->place[0];

		for (uint16_t k = 1; k < s->sharing->n_nodes; k++)
			if (s->place[k].end < first->end)
				first = &s->place[k];
		if (s->n_changes && s->change[s->n_changes - 1].at <= fmin(first->end, s->n_heap ? s->heap[0].at
												: INFINITY)) {
			if (!s->n_heap && !(first->end < INFINITY))
				break; /* nothing runs any more */
			change_first(s);
		} else if (s->n_heap && s->heap[0].at < first->end) {
			begin(s, pop(s));
		} else if (first->end < INFINITY) {
			if (iteration_of(s, first) >= until)
				return MR_OK;
			end_first(s, first);
		} else {
			break;
		}
	}
	if (s->n_begun < s->g->n_nodes)
		return mr_fail(MR_ECONFIG, "the plan cannot finish: %u of %u instructions begin", s->n_begun,
			       s->g->n_nodes);
	return MR_OK;
}

uint32_t mr_shared_times_begun(const mr_shared_times *s, uint16_t worker)
{
	return s->done[worker] + (s->now[worker].node != MR_NO_NODE);
}

uint32_t mr_shared_times_ended(const mr_shared_times *s, uint16_t worker)
{
	return s->done[worker];
}

/* --- the graph moves --- */

static void count_source(shared *s, uint32_t from, uint32_t to)
{
	(void)from;
	s->waits[to]++;
}

/* Nodes from @from on: @kept of them are those @shift further on; behind them are @fresh, of which nothing is known. */
static void move_nodes(shared *s, uint32_t from, uint32_t shift, uint32_t kept, uint32_t fresh)
{
	memmove(s->waits + from, s->waits + from + shift, kept * sizeof(*s->waits));
	memmove(s->ready + from, s->ready + from + shift, kept * sizeof(*s->ready));
	for (uint32_t i = from; i < from + kept; i++)
		s->binding[i] = mr_unroll_moved(s->g, s->binding[i + shift], s->by);
	for (uint32_t i = from + kept; i < from + kept + fresh; i++) {
		s->waits[i] = 0;
		s->ready[i] = 0;
		s->binding[i] = MR_NO_NODE;
		each_source(s, i, count_source, s);
	}
}

void mr_shared_times_move(mr_shared_times *s, uint32_t by)
{
	const mr_unroll *g = s->g;
	uint32_t versions = (uint32_t)g->n_versions, commits = by * g->plan->commits;

	s->by = by;
	for (uint16_t w = 0; w < g->plan->n_workers; w++) {
		uint32_t body = mr_plan_list(g->plan, w, MR_BODY)->n, shift = by * body;

		move_nodes(s, g->first[w] + mr_plan_list(g->plan, w, MR_PROLOGUE)->n, shift,
			   (g->n_bodies - by) * body, shift);
		s->n_begun -= shift;
		s->done[w] -= shift;
		if (s->now[w].node != MR_NO_NODE)
			s->now[w].node -= shift;
	}
	for (uint32_t k = 0; k < 2; k++)
		move_nodes(s, g->n_nodes + k * versions, commits, versions - commits, commits);
	for (uint32_t i = 0; i < s->n_heap; i++)
		s->heap[i].node = mr_unroll_moved(g, s->heap[i].node, by);
	if (s->messages)
		mr_messages_move(s->messages, by);
}

/* --- one run --- */

void mr_shared_times_destroy(mr_shared_times *s)
{
	if (!s)
		return;
	mr_messages_destroy(s->messages);
	free(s->waits);
	free(s->out);
	free(s->ready);
	free(s->heap);
	free(s->now);
	free(s->worker);
	free(s->place);
	free(s->stolen);
	free(s->change);
	free(s->done);
	free(s);
}

static mr_status allocate(shared *s)
{
	size_t all = (size_t)s->g->n_all + 1, workers = s->g->plan->n_workers;

	s->waits = calloc(2 * all, sizeof(*s->waits));
	s->ready = calloc(all, sizeof(*s->ready));
	s->heap = malloc((workers + 1) * sizeof(*s->heap));
	s->now = calloc(workers, sizeof(*s->now));
	s->worker = malloc(workers * sizeof(*s->worker));
	s->place = calloc(s->sharing->n_nodes, sizeof(*s->place));
	s->stolen = calloc(workers, sizeof(*s->stolen));
	s->done = calloc(workers, sizeof(*s->done));
	if (!s->done || !s->stolen || !s->waits || !s->ready || !s->heap || !s->now || !s->worker ||
	    !s->place)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u instructions", s->g->n_all);
	s->out_first = s->waits + all;
	return MR_OK;
}

static void place_workers(shared *s)
{
	uint32_t at = 0;

	for (uint16_t k = 0; k < s->sharing->n_nodes; k++) {
		s->place[k] = (place){.first = at, .end = INFINITY};
		for (uint16_t w = 0; w < s->g->plan->n_workers; w++)
			if (s->sharing->node[w] == k)
				s->worker[at++] = w;
		s->place[k].n = at - s->place[k].first;
	}
	for (uint16_t w = 0; w < s->g->plan->n_workers; w++) {
		s->now[w].node = MR_NO_NODE;
		s->done[w] = s->g->first[w];
		if (s->messages)
			s->stolen[w] = mr_message_look(s->sharing->hosts, s->g->plan, w);
	}
}

static mr_status prepare(shared *s)
{
	MR_TRY(allocate(s));
	if (s->sharing->hosts)
		MR_TRY(mr_messages_create(s->g, s->sharing->hosts, &s->messages));
	place_workers(s);
	MR_TRY(turn_edges(s));
	for (uint32_t i = 0; i < s->g->n_all; i++)
		s->binding[i] = MR_NO_NODE;
	for (uint32_t i = s->g->n_nodes; i-- > 0;)
		if (!s->waits[i])
			push(s, i);
	return MR_OK;
}

mr_status mr_shared_times_create(const mr_shared_times_of *of, double *begin, double *end, uint32_t *binding,
				 mr_shared_times **out)
{
	shared *s = calloc(1, sizeof(*s));
	mr_status st;

	*out = s;
	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u instructions", of->g->n_all);
	*s = (shared){.g = of->g, .cost = of->cost, .hooks = of->hooks, .sharing = of->sharing, .begin = begin,
		      .end = end, .binding = binding};
	st = prepare(s);
	if (st != MR_OK) {
		mr_shared_times_destroy(s);
		*out = NULL;
	}
	return st;
}

mr_shared_use mr_shared_times_use(const mr_shared_times *s)
{
	mr_shared_use use = s->use;

	use.slowed = s->taken > s->alone ? 1 - s->alone / s->taken : 0;
	return use;
}

bool mr_sharing_has_bytes(const mr_sharing *h)
{
	for (uint16_t i = 0; i < h->memory.n_stages; i++) {
		const mr_stage_cost *m = &h->memory.stage[i], *l = &h->link.stage[i];

		if (m->f + m->i + m->w + m->u + m->r + m->n + m->a + l->f + l->i + l->w + l->u + l->r + l->n + l->a > 0)
			return true;
	}
	return false;
}
