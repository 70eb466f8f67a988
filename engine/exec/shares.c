#include "exec/shares.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/zeroed.h"
#include "host/clock.h"

#define NAP_NS 20000 /* between two looks for a message to a place where any worker may wait */

static mr_shares_side *side_of(const mr_shares *s, uint32_t at, uint32_t group, uint32_t q)
{
	return &s->side[((size_t)at * s->n + group) * s->n + q];
}

static uint32_t group_of(const mr_shares *s, uint32_t at, uint32_t q)
{
	return s->first[(size_t)at * s->n + q];
}

/* By which share @q shows @group of place @at. */
static mr_channel *channel_of(const mr_shares *s, uint32_t at, uint32_t q, uint32_t group)
{
	return &s->channel[((size_t)at * s->n + q) * s->n + group];
}

/* The edge from share @q to share @to at @at: at a place of a stage between workers of its first pipe, of which one is
 * in each process that has part in it. */
static mr_edge edge_of(const mr_shares *s, const mr_plan *plan, uint32_t at, uint32_t q, uint32_t to)
{
	uint16_t stage = (uint16_t)(at < s->n_workers ? 0 : at - s->n_workers);
	uint32_t w = at < s->n_workers ? at : mr_plan_worker(plan, 0, stage);

	return (mr_edge){.kind = MR_EDGE_MEETING, .stage = stage, .from = (uint16_t)(q * s->n_workers + w),
			 .to = (uint16_t)(to * s->n_workers + w)};
}

/* Find the groups of each place; *@some: there are several at some. */
static mr_status find_groups(mr_shares *s, const mr_run_config *c, bool *some)
{
	*some = false;
	for (uint32_t at = 0; at < s->n_places; at++)
		for (uint32_t q = 0; q < s->n; q++) {
			uint32_t first = 0;

			for (; first < q; first++) {
				mr_edge e = edge_of(s, c->plan, at, first, q);
				const mr_link_kind *kind;

				MR_TRY(mr_link_kind_of(c->links, &e, &kind));
				if (mr_link_kind_shares(kind))
					break;
			}
			s->first[(size_t)at * s->n + q] = (uint8_t)first;
			*some |= first > 0;
		}
	return MR_OK;
}

/* Choose the channels between groups. */
static mr_status choose(mr_shares *s, const mr_run_config *c)
{
	s->channel = mr_zeroed((size_t)s->n_places * s->n * s->n * sizeof(*s->channel));
	if (!s->channel)
		return mr_fail(MR_ERESOURCE, "no memory for the meetings of %u shares", s->n);
	for (uint32_t at = 0; at < s->n_places; at++)
		for (uint32_t q = 0; q < s->n; q++)
			for (uint32_t to = 0; to < s->n; to++) {
				mr_channel *x = channel_of(s, at, q, to);

				if (group_of(s, at, to) != to || group_of(s, at, q) == to)
					continue;
				x->edge = edge_of(s, c->plan, at, q, to);
				MR_TRY(mr_link_kind_of(c->links, &x->edge, &x->kind));
			}
	return MR_OK;
}

static size_t rooms_of(const mr_run_config *c)
{
	return mr_align_up(mr_graph_largest_exchanged(c->graph, c->samples, &c->kernels->types), MR_CACHE_LINE);
}

uint64_t mr_shares_room_bytes(const mr_run_config *c, uint32_t others)
{
	return 2 * (uint64_t)(1 + others) * rooms_of(c);
}

/* Rooms for the norms of the stages. */
static bool make_norms(mr_shares *s, const mr_graph *g)
{
	size_t room = g->n_params + 1u, n = 0;
	mr_shares_side *x;

	for (int pass = 0; pass < 2; pass++) {
		s->norms = pass ? calloc(n * room, sizeof(*s->norms)) : NULL;
		if (pass && !s->norms)
			return false;
		n = 0;
		for (uint32_t at = s->n_workers; at < s->n_places; at++)
			for (uint32_t i = 0; i < s->n * s->n; i++) {
				uint32_t group = i / s->n, q = i % s->n;

				x = side_of(s, at, group, q);
				if (group_of(s, at, group) != group)
					continue;
				for (int k = 0; k < 2; k++, n++)
					x->room[k] = pass ? (uint8_t *)(s->norms + n * room) : NULL;
			}
	}
	return true;
}

mr_status mr_shares_create(uint32_t n, const mr_run_config *c, mr_shares **out)
{
	mr_shares *s = calloc(1, sizeof(*s));
	bool some;

	*out = s;
	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory for %u shares", n);
	*s = (mr_shares){.n = n, .n_workers = c->plan->n_workers, .n_stages = c->plan->n_stages};
	s->n_places = (uint32_t)s->n_workers + s->n_stages;
	if (c->links && n * (uint32_t)s->n_workers > UINT16_MAX)
		return mr_fail(MR_ECONFIG, "%u shares of %u workers: between processes there are at most %d", n,
			       s->n_workers, UINT16_MAX);
	s->run = calloc(n, sizeof(mr_run *));
	s->links = calloc(n, sizeof(*s->links));
	s->first = calloc((size_t)s->n_places * n, sizeof(*s->first));
	s->side = mr_zeroed((size_t)s->n_places * n * n * sizeof(*s->side));
	if (!s->run || !s->links || !s->first || !s->side)
		return mr_fail(MR_ERESOURCE, "no memory for %u shares of %u workers", n, s->n_workers);
	for (uint32_t q = 0; q < n; q++)
		mr_share_links_init(&s->links[q], c->links, q * s->n_workers);
	MR_TRY(find_groups(s, c, &some));
	if (some)
		MR_TRY(choose(s, c));
	return make_norms(s, c->graph) ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the norms of %u shares", n);
}

void mr_shares_close(mr_shares *s)
{
	for (size_t i = 0; s->channel && i < (size_t)s->n_places * s->n * s->n; i++)
		mr_channel_close(&s->channel[i]);
	free(s->channel);
	s->channel = NULL;
}

void mr_shares_destroy(mr_shares *s)
{
	if (s) {
		mr_shares_close(s);
		free(s->links);
		free(s->first);
		free(s->run);
		free(s->side);
		free(s->norms);
	}
	free(s);
}

void mr_shares_layout(const mr_worker *w, mr_arena *a)
{
	const mr_shares *s = w->run->c.shares;
	uint32_t self = w->shares.self, group = group_of(s, w->id, self);

	for (uint32_t q = 0; q < s->n; q++) {
		bool comes = group == self && group_of(s, w->id, q) != group;

		for (int i = 0; i < 2 && (q == self || comes); i++)
			side_of(s, w->id, group, q)->room[i] = mr_arena_take(a, rooms_of(&w->run->c), MR_CACHE_LINE);
	}
}

/* The room from which share @q shows, and into which it comes to @group. */
static mr_status open_channel(mr_shares *s, uint32_t at, uint32_t q, uint32_t group)
{
	mr_channel *x = channel_of(s, at, q, group);
	const mr_shares_side *from = side_of(s, at, group_of(s, at, q), q), *to = side_of(s, at, group, q);

	if (!x->kind)
		return MR_OK;
	if (rooms_of(&s->run[q]->c) > UINT32_MAX)
		return mr_fail(MR_ECONFIG, "shares show each other %zu bytes at once, and between processes 4 GiB at "
					   "most", rooms_of(&s->run[q]->c));
	x->n = 2;
	x->varies = x->stays = true;
	x->bytes = at < s->n_workers ? rooms_of(&s->run[q]->c) : (size_t)(from->room[1] - from->room[0]);
	x->from = from->room[0];
	x->to = to->room[0];
	x->from_stride = (size_t)(from->room[1] - from->room[0]);
	x->to_stride = (size_t)(to->room[1] - to->room[0]);
	return mr_channel_open(x);
}

mr_status mr_shares_open(mr_shares *s)
{
	for (uint32_t at = 0; s->channel && at < s->n_places; at++)
		for (uint32_t i = 0; i < s->n * s->n; i++)
			MR_TRY(open_channel(s, at, i / s->n, i % s->n));
	return MR_OK;
}

void mr_shares_reset(mr_shares *s)
{
	for (size_t i = 0; i < (size_t)s->n_places * s->n * s->n; i++) {
		uint32_t at = (uint32_t)(i / ((size_t)s->n * s->n)), group = (uint32_t)(i % s->n);

		atomic_store_explicit(&s->side[i].n, 0, memory_order_relaxed);
		if (s->channel && s->channel[i].kind)
			mr_channel_reset(&s->channel[i],
					 at < s->n_workers ? &s->run[group]->worker[at].parker : NULL);
	}
}

mr_status mr_shares_refuse(const mr_run_config *c)
{
	const mr_contract *k = &c->plan->contract;

	if (k->racing || k->flush == MR_FLUSH_VALIDATED)
		return mr_fail(MR_ECONFIG, "timing decides in which order a worker %s, and all shares of "
					   "it need the same one",
			       k->racing ? "takes what is ready" : "repeats forward passes");
	if (mr_contract_replicates(k))
		return mr_fail(MR_ECONFIG, "%s averages replicas, and not those of shares",
			       c->plan->system);
	if (!mr_optim_elementwise(c->optim))
		return mr_fail(MR_ECONFIG, "%s needs the whole matrix of a weight, and a share has a part",
			       c->optim->ops->name);
	if (c->optim->form && c->optim->form->scaled)
		return mr_fail(MR_ECONFIG, "a state in %s has scales of whole weights, and a share has a part: take "
					   "optimizer.state = \"bf16\"",
			       c->optim->form->name);
	return MR_OK;
}

/* Share @q has shown @bytes to @group as meeting @n of @at. */
static void publish(mr_shares_side *side, uint32_t n, uint64_t bytes)
{
	side->bytes[n & 1] = bytes;
	atomic_store_explicit(&side->n, n + 1, memory_order_seq_cst);
}

/* Has @side come to meeting @n? */
static bool has_come(const mr_shares_side *side, uint32_t n)
{
	return (int32_t)(atomic_load_explicit(&side->n, memory_order_seq_cst) - n) > 0;
}

/* Wake the worker of @run that may wait at @at; at a place of a stage any of them may. */
static void wake(mr_run *run, uint32_t at)
{
	for (uint32_t w = 0; w < run->n_workers; w++)
		if (w == at || at >= run->n_workers)
			mr_parker_wake(&run->worker[w].parker);
}

/* The others of @group look again. */
static void wake_group(const mr_shares *s, uint32_t at, uint32_t group, uint32_t self)
{
	for (uint32_t q = 0; q < s->n; q++)
		if (q != self && group_of(s, at, q) == group)
			wake(s->run[q], at);
}

/* As has_come; where share @q shows by messages, and this is the first share of @group, it takes them. */
static bool comes(const mr_shares *s, uint32_t at, uint32_t group, uint32_t self, uint32_t q, uint32_t n)
{
	mr_shares_side *side = side_of(s, at, group, q);
	uint64_t number;

	if (group_of(s, at, q) == group || self != group)
		return has_come(side, n);
	if (!mr_channel_poll(channel_of(s, at, q, group), &number))
		return false;
	publish(side, n, number >> 32);
	wake_group(s, at, group, self);
	return true;
}

/* One step of the wait at @at. Messages to a place where any worker may wait wake none. */
static mr_status step(const mr_shares *s, mr_worker *w, uint32_t at, uint32_t group, uint32_t q)
{
	if (at < s->n_workers || w->shares.self != group || group_of(s, at, q) == group)
		return mr_waiter_step(&w->waiter);
	if (mr_stop_raised(&w->run->stop))
		return mr_fail(MR_ESTOPPED, "stopped");
	nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	return MR_OK;
}

static mr_status wait_for_all(const mr_shares *s, mr_worker *w, uint32_t at, uint32_t group, uint32_t n)
{
	uint64_t since = 0;

	for (uint32_t q = 0; q < s->n; q++) {
		while (!comes(s, at, group, w->shares.self, q, n)) {
			if (!since)
				since = mr_clock_ns();
			mr_waiter_note(&w->waiter, MR_WAIT_UPSTREAM, n);
			MR_TRY(step(s, w, at, group, q));
		}
		mr_waiter_done(&w->waiter);
	}
	if (since) {
		w->met_ns += mr_clock_ns() - since;
		mr_waiter_note(&w->waiter, MR_WAIT_NONE, 0);
	}
	return MR_OK;
}

/* What is shown at a meeting: @bytes at @mine, which all read, or of each of @pieces pieces of @piece bytes for each
 * share, in their order, each its own. */
typedef struct shown {
	const uint8_t *mine;
	size_t bytes, pieces, piece; /* pieces 0: all read all */
} shown;

uint32_t mr_shares_members(const mr_shares *s, uint32_t at, uint32_t group)
{
	uint32_t n = 0;

	for (uint32_t q = 0; q < s->n; q++)
		n += group_of(s, at, q) == group;
	return n;
}

/* Where the pieces for @group begin in a room; *@bytes: of all of them. */
static size_t begin_of(const mr_shares *s, uint32_t at, const shown *x, uint32_t group, size_t *bytes)
{
	size_t each = x->pieces * x->piece, before = 0;

	*bytes = x->pieces ? mr_shares_members(s, at, group) * each : x->bytes;
	for (uint32_t q = 0; x->pieces && q < s->n; q++)
		before += group_of(s, at, q) < group ? each : 0;
	return before;
}

/* Where share @q's first piece lies among those for its group; *@step: from one to the next. */
static size_t piece_of(const mr_shares *s, uint32_t at, const shown *x, uint32_t q, size_t *step)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < q; i++)
		before += group_of(s, at, i) == group_of(s, at, q);
	*step = mr_shares_members(s, at, group_of(s, at, q)) * x->piece;
	return before * x->piece;
}

/* Copy @x to @room; pieces for one group lie together there. */
static void put(const mr_shares *s, uint32_t at, const shown *x, uint8_t *room)
{
	if (!x->pieces)
		memcpy(room, x->mine, x->bytes);
	for (uint32_t q = 0; x->pieces && q < s->n; q++) {
		size_t step, bytes, begin = begin_of(s, at, x, group_of(s, at, q), &bytes);
		uint8_t *to = room + begin + piece_of(s, at, x, q, &step);

		for (size_t i = 0; i < x->pieces; i++)
			memcpy(to + i * step, x->mine + (i * s->n + q) * x->piece, x->piece);
	}
}

/* Share @self shows @x as meeting @n of @at. */
static void show(mr_shares *s, uint32_t at, uint32_t self, uint32_t n, const shown *x)
{
	uint32_t group = group_of(s, at, self);
	mr_shares_side *own = side_of(s, at, group, self);

	put(s, at, x, own->room[n & 1]);
	publish(own, n, x->bytes);
	wake_group(s, at, group, self);
	for (uint32_t to = 0; s->channel && to < s->n; to++) {
		mr_channel *c = channel_of(s, at, self, to);
		size_t bytes, begin = begin_of(s, at, x, to, &bytes);

		if (!c->kind)
			continue;
		c->begin[n & 1] = begin;
		mr_channel_post(c, (uint64_t)bytes << 32 | n);
	}
}

/* What share @q shows share @self at meeting @n of @at. */
static mr_status find_part(const mr_shares *s, uint32_t at, uint32_t self, uint32_t q, uint32_t n, const shown *x,
			   mr_shares_part *part)
{
	uint32_t group = group_of(s, at, self);
	const mr_shares_side *side = side_of(s, at, group, q);
	bool near = group_of(s, at, q) == group;
	size_t want, begin = begin_of(s, at, x, group, &want), step = 0;

	if (near)
		want = x->bytes;
	if (side->bytes[n & 1] != want)
		return mr_fail(MR_EINVAL, "share %u shows %llu bytes where share %u expects %zu", q,
			       (unsigned long long)side->bytes[n & 1], self, want);
	*part = (mr_shares_part){.at = side->room[n & 1] + (near ? begin : 0)};
	part->at += x->pieces ? piece_of(s, at, x, self, &step) : 0;
	part->step = step;
	return MR_OK;
}

/* @w, of share @self, meets the others at place @at. */
static mr_status meet(mr_shares *s, mr_worker *w, uint32_t at, const shown *x, mr_shares_part part[MR_SHARES_MOST])
{
	uint32_t self = w->shares.self, group = group_of(s, at, self);
	uint32_t n = atomic_load_explicit(&side_of(s, at, group, self)->n, memory_order_relaxed);

	for (uint32_t q = 0; q < s->n; q++)
		part[q] = (mr_shares_part){x->mine + (x->pieces ? self * x->piece : 0), s->n * x->piece};
	if (s->apart)
		return MR_OK;
	show(s, at, self, n, x);
	MR_TRY(wait_for_all(s, w, at, group, n));
	for (uint32_t q = 0; q < s->n; q++)
		MR_TRY(find_part(s, at, self, q, n, x, &part[q]));
	return MR_OK;
}

/* All of what each shows. */
static mr_status meet_whole(mr_worker *w, uint32_t at, const void *mine, size_t bytes,
			    const void *part[MR_SHARES_MOST])
{
	mr_shares_part parts[MR_SHARES_MOST];

	MR_TRY(meet(w->run->c.shares, w, at, &(shown){.mine = mine, .bytes = bytes}, parts));
	for (uint32_t q = 0; q < w->shares.n; q++)
		part[q] = parts[q].at;
	return MR_OK;
}

mr_status mr_shares_meet(void *worker, const void *mine, size_t bytes, const void *part[MR_SHARES_MOST])
{
	mr_worker *w = worker;

	w->met_bytes += (w->shares.n - 1) * bytes;
	return meet_whole(w, w->id, mine, bytes, part);
}

mr_status mr_shares_meet_own(void *worker, const void *mine, size_t pieces, size_t piece,
			     mr_shares_part part[MR_SHARES_MOST])
{
	mr_worker *w = worker;
	shown x = {mine, w->shares.n * pieces * piece, pieces, piece};

	w->met_bytes += (w->shares.n - 1) * pieces * piece;
	return meet(w->run->c.shares, w, w->id, &x, part);
}

mr_status mr_shares_add_norms(mr_worker *w, mr_stage_weights *b, uint64_t version)
{
	mr_run *run = w->run;
	const mr_graph *g = run->c.graph;
	double *sumsq = mr_norms_sumsq(b, version);
	const void *part[MR_SHARES_MOST];
	uint32_t first, end;

	if (!run->c.shares)
		return MR_OK;
	mr_stage_params(b->stage, &first, &end);
	MR_TRY(meet_whole(w, run->n_workers + (uint32_t)(b - run->weights), sumsq, (end - first) * sizeof(*sumsq),
			  part));
	for (uint32_t p = first; p < end; p++) {
		if (!g->params[p].cut.of)
			continue;
		sumsq[p - first] = 0;
		for (uint32_t q = 0; q < w->shares.n; q += w->shares.n / g->params[p].cut.of) /* each part once */
			sumsq[p - first] += ((const double *)part[q])[p - first];
	}
	return MR_OK;
}
