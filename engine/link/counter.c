#include "link/counter.h"

#include <stdlib.h>
#include <string.h>

static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Makes the ends of @c, without channels. */
static mr_status create_ends(mr_counter *c)
{
	uint16_t n = c->n_workers;

	c->end = aligned_alloc(_Alignof(mr_counter_end), n * sizeof(*c->end));
	if (!c->end)
		return mr_fail(MR_ERESOURCE, "no memory for the events of %u workers", n);
	memset(c->end, 0, n * sizeof(*c->end));
	for (uint16_t w = 0; w < n; w++)
		if (!(c->end[w].in = calloc(n, sizeof(mr_channel))))
			return mr_fail(MR_ERESOURCE, "no memory for the events of %u workers", n);
	return MR_OK;
}

mr_status mr_counter_choose_edge(mr_counter *c, uint16_t stage, uint16_t from, uint16_t to, uint16_t n_workers,
				 const mr_link_kind *const *kinds)
{
	mr_edge e = {.kind = MR_EDGE_EVENT, .from = from, .to = to, .stage = stage};
	const mr_link_kind *k;

	c->n_workers = n_workers;
	if (from == to)
		return MR_OK;
	MR_TRY(mr_link_kind_of(kinds, &e, &k));
	if (mr_link_kind_shares(k))
		return MR_OK;
	if (!c->end)
		MR_TRY(create_ends(c));
	c->end[to].in[from] = (mr_channel){.kind = k, .edge = e, .n = 1};
	return MR_OK;
}

mr_status mr_counter_choose(mr_counter *c, uint16_t stage, uint16_t n_workers, const mr_link_kind *const *kinds)
{
	c->n_workers = n_workers;
	if (mr_link_kinds_share(kinds))
		return MR_OK; /* each stage has a counter: asking for every edge takes the cube of the workers */
	for (uint16_t from = 0; from < n_workers; from++)
		for (uint16_t to = 0; to < n_workers; to++)
			MR_TRY(mr_counter_choose_edge(c, stage, from, to, n_workers, kinds));
	return MR_OK;
}

void mr_counter_carry(mr_counter *c, uint16_t from, size_t bytes, const void *data, uint8_t *const *to)
{
	for (uint16_t w = 0; c->end && w < c->n_workers; w++) {
		mr_channel *in = &c->end[w].in[from];

		if (!in->kind)
			continue;
		in->n = 2;
		in->bytes = in->from_stride = in->to_stride = bytes;
		in->from = data;
		in->to = to[w];
	}
}

mr_status mr_counter_open(mr_counter *c)
{
	for (uint16_t to = 0; c->end && to < c->n_workers; to++)
		for (uint16_t from = 0; from < c->n_workers; from++)
			if (c->end[to].in[from].kind)
				MR_TRY(mr_channel_open(&c->end[to].in[from]));
	return MR_OK;
}

void mr_counter_close(mr_counter *c)
{
	for (uint16_t to = 0; c->end && to < c->n_workers; to++) {
		for (uint16_t from = 0; c->end[to].in && from < c->n_workers; from++)
			mr_channel_close(&c->end[to].in[from]);
		free(c->end[to].in);
	}
	free(c->end);
	c->end = NULL;
}

void mr_counter_reset(mr_counter *c, uint32_t count, mr_parker *const *waiter, uint32_t n_waiters,
		      mr_parker *const *parkers)
{
	mr_event_init(&c->event, count, waiter, n_waiters);
	for (uint16_t to = 0; c->end && to < c->n_workers; to++) {
		mr_counter_end *e = &c->end[to];

		mr_event_init(&e->near, count, &parkers[to], 1);
		e->heard = count;
		for (uint16_t from = 0; from < c->n_workers; from++)
			if (e->in[from].kind)
				mr_channel_reset(&e->in[from], parkers[to]);
	}
}

/* One event has several publishers: a worker that has told some of the others may be overtaken here by one that went on
 * from there. So the count only rises; order as in host/event.h, W2. */
static void raise_near(mr_event *e, uint32_t n)
{
	uint32_t count = atomic_load_explicit(&e->count, memory_order_relaxed);

	while (before(count, n) && !atomic_compare_exchange_weak_explicit(&e->count, &count, n, memory_order_seq_cst,
									  memory_order_relaxed))
		;
	for (uint32_t i = 0; before(count, n) && i < e->n_waiters; i++)
		mr_parker_wake(e->waiter[i]);
}

void mr_counter_raise_ends(mr_counter *c, uint16_t from, uint32_t n)
{
	for (uint16_t to = 0; to < c->n_workers; to++)
		if (c->end[to].in[from].kind)
			mr_channel_post(&c->end[to].in[from], n);
		else
			raise_near(&c->end[to].near, n);
}

bool mr_counter_reached_end(const mr_counter *c, uint16_t worker, uint32_t n)
{
	mr_counter_end *e = &c->end[worker];
	uint64_t count;

	for (uint16_t from = 0; from < c->n_workers; from++)
		while (e->in[from].kind && mr_channel_poll(&e->in[from], &count))
			if (before(e->heard, (uint32_t)count))
				e->heard = (uint32_t)count;
	return (!c->by_part && !before(e->heard, n)) || mr_event_reached(&e->near, n);
}
