#include "session/probed_links.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "host/clock.h"

enum {
	SMALL = 8,           /* bytes */
	LARGE = 4 << 20,     /* bytes */
	MANY = 64,           /* small messages sent one after the other */
	TURNS = 100,         /* of small messages a round */
	ROUNDS = 5,
	MOST_ROUNDS = 15,    /* where they differ */
	CHECK = 1 << 16,     /* looks for a message between two looks for lost ranks */
};
#define DISTURBED 0.1    /* distance of the quartiles from the median beyond which rounds differ */
#define IDLE_RATE 1e15   /* bandwidth inside a host with one rank: nothing goes there */

/* Two channels between a pair of ranks, of as many messages and bytes. */
typedef struct lane {
	mr_ranks *r;
	mr_channel there, back;
	uint64_t number[2]; /* of the next message that this rank sends, or gets */
	bool first;         /* this rank begins */
} lane;

/* --- a pair of channels --- */

static mr_status open_one(mr_ranks *r, uint16_t from, uint16_t to, uint32_t n, size_t bytes, uint8_t *at, mr_channel *c)
{
	*c = (mr_channel){.kind = r->by->kind,
			  .edge = {.kind = MR_EDGE_FORWARD, .from = from, .to = to, .stage = 1},
			  .n = n,
			  .bytes = bytes,
			  .from_stride = bytes,
			  .to_stride = bytes,
			  .from = at,
			  .to = at};
	return mr_channel_open(c);
}

static void put(mr_channel *c, uint64_t *number)
{
	mr_channel_post(c, (*number)++);
}

static mr_status get(lane *l, mr_channel *c)
{
	uint64_t number;

	for (uint32_t looks = 1; !mr_channel_poll(c, &number); looks++) {
		if (looks % CHECK == 0)
			MR_TRY(mr_ranks_check(l->r));
		sched_yield();
	}
	return MR_OK;
}

/* --- what is timed --- */

/* @n messages there, and one back. */
static mr_status turn(lane *l, uint32_t n)
{
	if (!l->first)
		for (uint32_t i = 0; i < n; i++)
			MR_TRY(get(l, &l->there));
	if (!l->first)
		put(&l->back, &l->number[1]);
	if (l->first)
		for (uint32_t i = 0; i < n; i++)
			put(&l->there, &l->number[0]);
	return l->first ? get(l, &l->back) : MR_OK;
}

/* The median time of @turns turns of @n messages. */
static mr_status round_of(lane *l, uint32_t turns, uint32_t n, double *out)
{
	double t[TURNS];

	for (uint32_t i = 0; i < turns; i++) {
		uint64_t begin = mr_clock_ns();

		MR_TRY(turn(l, n));
		t[i] = (double)(mr_clock_ns() - begin) / 1e9;
	}
	*out = mr_median(t, turns);
	return MR_OK;
}

/* The median of rounds; more of them where they differ, which the first rank decides and tells the other. */
static mr_status rounds_of(lane *l, uint32_t peer, uint32_t turns, uint32_t n, double *out, double *spread)
{
	double all[MOST_ROUNDS], sorted[MOST_ROUNDS];
	uint32_t k = 0;
	uint8_t more = 1;

	while (more) {
		MR_TRY(round_of(l, turns, n, &all[k++]));
		memcpy(sorted, all, k * sizeof(*all));
		mr_sort_f64(sorted, k);
		*out = mr_quantile(sorted, k, 0.5);
		*spread = (*out - mr_quantile(sorted, k, 0.25)) / *out;
		more = k < ROUNDS || (k < MOST_ROUNDS && *spread > DISTURBED);
		MR_TRY(l->first ? l->r->by->send(peer, &more, 1) : l->r->by->receive(peer, &more, 1));
	}
	return MR_OK;
}

/* Open a lane of @n messages of @bytes between @a and @b, time turns of as many, and close it. All ranks open the
 * channels, and the two play. */
static mr_status play(mr_ranks *r, uint16_t a, uint16_t b, size_t bytes, uint32_t n, double *out, double *spread)
{
	uint8_t *at = calloc(n, bytes);
	lane l = {.r = r, .first = r->self == a};
	double own = 0;
	mr_status st;

	*out = 0;
	if (!at)
		return mr_fail(MR_ERESOURCE, "no memory for messages of %zu bytes", bytes);
	st = open_one(r, a, b, n, bytes, at, &l.there);
	if (st == MR_OK)
		st = open_one(r, b, a, 1, bytes, at, &l.back);
	if (st == MR_OK && (r->self == a || r->self == b))
		st = rounds_of(&l, l.first ? b : a, bytes > SMALL ? ROUNDS : TURNS, n, out, &own);
	*spread = fmax(*spread, own);
	mr_channel_close(&l.there);
	mr_channel_close(&l.back);
	free(at);
	return st;
}

/* --- all pairs --- */

/* Nobody goes on before all are here. */
static mr_status meet(mr_ranks *r)
{
	uint8_t byte = 0;

	for (uint32_t i = 1; i < r->n && !r->self; i++)
		MR_TRY(r->by->receive(i, &byte, 1));
	for (uint32_t i = 1; i < r->n && !r->self; i++)
		MR_TRY(r->by->send(i, &byte, 1));
	if (r->self)
		MR_TRY(r->by->send(0, &byte, 1));
	return r->self ? r->by->receive(0, &byte, 1) : MR_OK;
}

typedef struct figures {
	mr_link_cost cost;
	double spread;
} figures;

static mr_status measure(mr_ranks *r, uint16_t a, uint16_t b, figures *f)
{
	double small, many, large;

	*f = (figures){0};
	MR_TRY(play(r, a, b, SMALL, 1, &small, &f->spread));
	MR_TRY(play(r, a, b, SMALL, MANY, &many, &f->spread));
	MR_TRY(play(r, a, b, LARGE, 1, &large, &f->spread));
	f->cost.message = fmin(fmax((many - small) / (MANY - 1), 0), small / 2);
	f->cost.latency = small / 2 - f->cost.message;
	f->cost.byte_s = fmax((large - small) / 2 / LARGE, 1 / IDLE_RATE);
	MR_TRY(meet(r));
	if (a && r->self == a)
		MR_TRY(r->by->send(0, f, sizeof(*f)));
	return a && !r->self ? r->by->receive(a, f, sizeof(*f)) : MR_OK;
}

/* The @nth rank of @host, from 0; MR_LINKS_MOST: it has fewer ranks. */
static uint16_t rank_on(const mr_link_costs *l, uint16_t host, uint16_t nth)
{
	for (uint16_t i = 0; i < l->n_ranks; i++)
		if (l->host[i] == host && !nth--)
			return i;
	return MR_LINKS_MOST;
}

static mr_status find_hosts(const mr_ranks *r, mr_link_costs *out)
{
	uint16_t host[MR_LINKS_MOST], n = 0;
	mr_strbuf names;

	if (r->n > MR_LINKS_MOST)
		return mr_fail(MR_EUSAGE, "links between at most %d ranks are measured, and there are %u",
			       MR_LINKS_MOST, r->n);
	mr_strbuf_init(&names);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t k = 0;

		while (strcmp(r->at[k].host, r->at[i].host) != 0)
			k++;
		host[i] = k < i ? host[k] : n++;
		if (k == i)
			mr_strbuf_printf(&names, "%s%s", i ? " " : "", r->at[i].host);
	}
	MR_TRY(mr_link_costs_alloc(n, (uint16_t)r->n, out));
	memcpy(out->host, host, r->n * sizeof(*host));
	free(out->names);
	out->names = mr_strbuf_take(&names);
	return out->names ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the names of hosts");
}

mr_status mr_links_probe(mr_ranks *r, mr_link_costs *out)
{
	*out = (mr_link_costs){0};
	MR_TRY(mr_ranks_own(r, (uint16_t)r->n, ""));
	MR_TRY(find_hosts(r, out));
	for (uint16_t i = 0; i < out->n_hosts; i++)
		for (uint16_t j = i; j < out->n_hosts; j++) {
			uint16_t a = rank_on(out, i, 0), b = rank_on(out, j, i == j);
			figures f = {.cost = {.byte_s = 1 / IDLE_RATE}};

			if (b != MR_LINKS_MOST)
				MR_TRY(measure(r, a, b, &f));
			out->link[i * out->n_hosts + j] = out->link[j * out->n_hosts + i] = f.cost;
			out->spread = fmax(out->spread, f.spread);
		}
	return MR_OK;
}
