#include "ranks/traffic.h"

#include <math.h>

#include "exec/exec.h"
#include "exec/shares.h"
#include "ir/stage_ops.h"
#include "weights/layer_states.h"
#include "weights/replica_links.h"
#include "weights/tied_links.h"
#include "weights/tied_sum.h"

/* What is being counted. */
typedef struct count {
	const mr_run *run;
	double *out;
	const bool *far; /* copies; NULL: traffic */
	uint64_t most, copies;
} count;

/* Channel @c carries @bytes a step. */
static void add_bytes(const count *x, const mr_channel *c, double bytes)
{
	const mr_ranks *r = x->run->c.ranks;
	const uint32_t *of = r->of_worker + c->kind->first;

	x->out[of[c->edge.from] * r->n + of[c->edge.to]] += bytes;
}

/* Bytes of a message of @c of which there is a copy. */
static size_t copied(const count *x, const mr_channel *c)
{
	return c->bytes < x->most ? c->bytes : (size_t)x->most;
}

/* @n messages of channel @c may be under way. */
static void add_copies(count *x, const mr_channel *c, double n)
{
	const mr_ranks *r = x->run->c.ranks;
	uint32_t from = r->of_worker[c->kind->first + c->edge.from], to = r->of_worker[c->kind->first + c->edge.to];

	if ((from == r->self && x->far[to]) || (to == r->self && x->far[from]))
		x->copies += (uint64_t)n * copied(x, c);
}

/* Channel @c carries @times messages a step. */
static void add(count *x, const mr_channel *c, double times)
{
	if (!c->kind || mr_link_kind_shares(c->kind))
		return;
	if (x->far)
		add_copies(x, c, fmin(c->on_demand ? 1 : c->n, ceil(times)));
	else
		add_bytes(x, c, (double)c->bytes * times);
}

/* Boundary @h, whose messages instructions of stage @s with @ops send to stage @to. */
static void add_boundary(count *x, const mr_link *h, uint8_t pipe, uint16_t s, uint16_t to, unsigned ops)
{
	const mr_plan *p = x->run->c.plan;
	mr_channel c = {.kind = h->kind, .n = h->n, .bytes = h->bytes,
			.edge = {.from = mr_plan_worker(p, pipe, s), .to = mr_plan_worker(p, pipe, to)}};

	if (h->n)
		add(x, &c, (double)mr_stage_count(p, c.edge.from, pipe, s, ops, false) / mr_plan_stride(p));
}

static void add_boundaries(count *x, uint8_t pipe, uint16_t s)
{
	const mr_links_stage *st = mr_links_at(&x->run->train, pipe, s);

	if (s)
		add_boundary(x, &st->in, pipe, (uint16_t)(s - 1), s, 1u << MR_OP_F);
	if (s + 1 < x->run->n_stages)
		add_boundary(x, &st->grad, pipe, (uint16_t)(s + 1), s, 1u << MR_OP_B | 1u << MR_OP_I);
}

static const mr_channel *range_of(const mr_ranges *r, uint32_t i, uint32_t j, bool weights)
{
	return &(weights ? r->weights : r->gradients)[i * r->n + j].channel;
}

/* Messages of stage @s from shard @i to @j a step. */
static double range_times(const count *x, uint16_t s, uint32_t i, uint32_t j, bool weights)
{
	const mr_stage_weights *b = &x->run->weights[s];

	if (!weights)
		return b->shard[i].need ? b->in_step : 0;
	return b->sharded && mr_weights_group(b, i, j) ? mr_exec_fetches(x->run, (uint8_t)j, s) : b->in_step;
}

/* The stage whose memory the ranges of @b come to, of one stage after the other: fetched weights to rooms, released
 * sums to two buffers. New weights behind released sums leave when shard @j has sent its own, which it does when it has
 * the weights of the last stage with that buffer. NULL: they wait for no other stage. */
static const mr_stage_weights *turns_of(const mr_stage_weights *b, uint32_t i, uint32_t j, bool weights)
{
	if (weights && b->sharded)
		return !mr_weights_group(b, i, j) ? NULL : b->room_of ? b->room_of : b;
	if (!b->ranges->released || (weights && !b->shard[j].need))
		return NULL;
	return b->lender ? b->lender : b;
}

/* Is a message of stage @s from shard @i to @j under way in the place of a larger one, or of one that counts? */
static bool counts_elsewhere(const count *x, uint16_t s, uint32_t i, uint32_t j, bool weights)
{
	const mr_stage_weights *b = x->run->weights, *turns = turns_of(&b[s], i, j, weights);
	size_t own = copied(x, range_of(b[s].ranges, i, j, weights));

	for (uint16_t t = 0; turns && t < x->run->n_stages; t++) {
		const mr_channel *c = b[t].ranges ? range_of(b[t].ranges, i, j, weights) : NULL;

		if (c && turns_of(&b[t], i, j, weights) == turns && range_times(x, t, i, j, weights) > 0 &&
		    (copied(x, c) > own || (copied(x, c) == own && t < s)))
			return true;
	}
	return false;
}

static void add_ranges(count *x, uint16_t s)
{
	const mr_stage_weights *b = &x->run->weights[s];
	const mr_ranges *r = b->ranges;

	for (uint32_t i = 0; r && i < r->n; i++) {
		for (uint32_t j = 0; j < 2 * r->n; j++) {
			uint32_t to = j / 2;
			bool weights = j % 2;

			if (!x->far || !counts_elsewhere(x, s, i, to, weights))
				add(x, range_of(r, i, to, weights), range_times(x, s, i, to, weights));
		}
		for (uint32_t j = 0; j < r->n_whole; j++)
			add(x, &r->totals[i * r->n_whole + j].channel, b->in_step);
	}
}

static void add_layer_states(count *x, const mr_stage_weights *b)
{
	const mr_layer_states *l = b->layer_states;

	for (uint32_t i = 0; l && l->lists && i < b->n_shards * b->n_shards; i++)
		add(x, &l->lists[i].channel, b->shard[i / b->n_shards].need ? b->in_step : 0);
}

static void add_replicas(count *x, const mr_replicas *g)
{
	for (int a = 0; g->links && a < MR_REPLICA_ARRAYS; a++)
		for (uint32_t i = 0; i < g->n * g->n; i++) {
			add(x, &g->links->up[a][i].channel, 1.0 / g->average->every);
			add(x, &g->links->down[a][i].channel, 1.0 / g->average->every);
		}
}

static void add_sum(void *arg, const mr_channel *c, double times)
{
	add(arg, c, times);
}

static void add_tied(count *x, const mr_stage_weights *b)
{
	const mr_tied_links *t = b->tied ? b->tied->links : NULL;

	for (uint32_t i = 0; t && i < t->n_owners * t->n_users; i++) {
		add(x, &t->weights[i].channel, b->in_step);
		add(x, &t->gradients[i].channel, b->tied->user->shard[i / t->n_owners].need ? b->in_step : 0);
	}
}

static void add_norms(count *x, const mr_stage_weights *b)
{
	const mr_stage_norms *n = b->norms;

	for (uint16_t w = 0; n && n->known.end && x->run->c.plan->contract.clip && w < n->known.n_workers; w++)
		add(x, &n->known.end[w].in[n->by], b->in_step);
}

/* What a share of stage @s sends to @members of the others in @pass of a micro-batch. */
static double shown(const mr_run *run, uint16_t s, int pass, uint32_t members)
{
	double n = 0;

	for (uint32_t i = run->c.partition->first[s]; i < run->c.partition->first[s + 1]; i++)
		n += (double)mr_graph_sends(run->c.graph, i, pass, run->c.samples, &run->c.kernels->types,
					    run->c.shares->n, members);
	return n;
}

/* The same of worker @w in a step. */
static double shown_by(const mr_run *run, uint16_t w, uint32_t members)
{
	const mr_plan *p = run->c.plan;
	double n = 0;

	for (uint16_t s = 0; s < run->n_stages; s++)
		for (int k = 0; k < MR_PASSES; k++) {
			uint32_t times = mr_stage_count(p, w, UINT32_MAX, s, mr_pass_ops[k], true);

			n += times ? shown(run, s, k, members) * times / mr_plan_stride(p) : 0;
		}
	return n;
}

/* And for the norms of the gradients of stage @s. */
static double shown_norms(const mr_run *run, uint16_t s)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_run_norms *x = run->norms;
	uint32_t first, end;
	double times = !x ? 0 : run->c.clip > 0 ? b->in_step : !b->apart && x->every ? 1.0 / (double)x->every : 0;

	mr_stage_params(b->stage, &first, &end);
	return times * (end - first) * sizeof(double);
}

/* What shares of different groups show each other. */
static void add_meetings(const count *x)
{
	const mr_shares *s = x->run->c.shares;

	for (uint32_t i = 0; s->channel && i < s->n_places * s->n * s->n; i++) {
		uint32_t at = i / (s->n * s->n), members = mr_shares_members(s, at, i % s->n);

		if (s->channel[i].kind)
			add_bytes(x, &s->channel[i],
				  at < s->n_workers ? shown_by(x->run, (uint16_t)at, members)
						    : shown_norms(x->run, (uint16_t)(at - s->n_workers)));
	}
}

static void add_run(count *x)
{
	const mr_run *run = x->run;

	mr_exec_each_sum(run, add_sum, x);
	for (uint16_t s = 0; s < run->n_stages; s++) {
		for (unsigned p = 0; p < run->n_pipes; p++)
			add_boundaries(x, (uint8_t)p, s);
		add_ranges(x, s);
		add_layer_states(x, &run->weights[s]);
		if (run->replicas)
			add_replicas(x, &run->replicas[s]);
		add_tied(x, &run->weights[s]);
		add_norms(x, &run->weights[s]);
	}
}

void mr_rank_traffic(const mr_run *run, double *out)
{
	const mr_shares *s = run->c.shares;

	add_run(&(count){.run = run, .out = out});
	for (uint32_t q = 1; s && q < s->n; q++)
		add_run(&(count){.run = s->run[q], .out = out});
	if (s)
		add_meetings(&(count){.run = run, .out = out});
}

uint64_t mr_rank_copies(const mr_run *run, const bool *far, uint64_t most)
{
	count x = {.run = run, .far = far, .most = most};

	add_run(&x);
	return x.copies;
}
