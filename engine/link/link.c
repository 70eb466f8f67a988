#include "link/link.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static bool is_remote(const mr_link *h)
{
	return h->kind && !mr_link_kind_shares(h->kind);
}

mr_status mr_link_open(mr_link *h, const mr_edge *e)
{
	mr_link_remote *f;
	mr_edge back = *e;

	if (!is_remote(h) || h->n == 0)
		return MR_OK;
	f = h->remote = calloc(1, sizeof(*f));
	if (!f || !(f->out = aligned_alloc(MR_CACHE_LINE, h->n * h->bytes)))
		return mr_fail(MR_ERESOURCE, "no memory for %u boundary buffers of %zu bytes", h->n, h->bytes);
	back.from = e->to;
	back.to = e->from;
	f->full = (mr_channel){.kind = h->kind,
			       .edge = *e,
			       .n = h->n,
			       .bytes = h->bytes,
			       .from_stride = h->bytes,
			       .to_stride = h->bytes,
			       .from = f->out,
			       .to = h->buffer};
	MR_TRY(mr_channel_open(&f->full));
	f->empty = (mr_channel){.kind = h->kind, .edge = back, .n = h->n};
	return mr_channel_open(&f->empty);
}

void mr_link_close(mr_link *h)
{
	if (!h->remote)
		return;
	mr_channel_close(&h->remote->full);
	mr_channel_close(&h->remote->empty);
	free(h->remote->out);
	free(h->remote);
	h->remote = NULL;
}

mr_status mr_link_reset(mr_link *h, mr_parker *producer, mr_parker *consumer)
{
	if (h->n == 0)
		return MR_OK;
	h->local = producer == consumer;
	h->n_used = 0;
	for (uint32_t i = 0; i < h->n; i++)
		h->state[i] = MR_BUFFER_IDLE;
	if (h->arrived)
		memset(h->arrived, 0, h->n);
	if (h->remote) {
		mr_channel_reset(&h->remote->full, consumer);
		mr_channel_reset(&h->remote->empty, producer);
		return MR_OK;
	}
	/* No ring is ever full, so no thread waits for room: a pop need not look for a sleeper, nor wake one for
	 * nothing.
	 */
	MR_TRY(mr_ring_init(&h->full, h->n, h->slots, NULL, consumer));
	MR_TRY(mr_ring_init(&h->empty, h->n, h->slots + mr_ring_slots(h->n), NULL, producer));
	mr_ring_wake_every(&h->empty, h->every);
	return MR_OK;
}

/* The next buffer that has arrived, for a link with `arrived`. */
static bool next_full(mr_link *h, uint32_t *buffer)
{
	uint64_t number;

	if (!h->remote)
		return mr_ring_try_pop(&h->full, buffer);
	if (!mr_channel_poll(&h->remote->full, &number))
		return false;
	*buffer = (uint32_t)number;
	return true;
}

static bool next_empty(mr_link *h, uint32_t *buffer)
{
	uint64_t number;

	if (!h->remote)
		return mr_ring_try_pop(&h->empty, buffer);
	if (!mr_channel_poll(&h->remote->empty, &number))
		return false;
	*buffer = (uint32_t)number;
	return true;
}

bool mr_link_find(mr_link *h, uint32_t want)
{
	uint32_t full;

	while (!h->arrived[want] && next_full(h, &full))
		h->arrived[full] = 1;
	if (!h->arrived[want])
		return false;
	h->arrived[want] = 0;
	return true;
}

bool mr_link_take(mr_link *h, uint32_t i)
{
	uint32_t back;

	while (h->state[i] != MR_BUFFER_IDLE && !h->local && next_empty(h, &back))
		h->state[back] = MR_BUFFER_IDLE;
	if (h->state[i] != MR_BUFFER_IDLE)
		return false;
	mr_link_hold(h, i);
	return true;
}

void mr_link_settle(mr_link *h)
{
	uint32_t i;

	if (h->n == 0 || h->local)
		return;
	while (h->remote && h->remote->full.n_polled < h->remote->full.n_posted)
		if (next_full(h, &i))
			h->arrived[i] = 1;
	do
		while (next_empty(h, &i))
			h->state[i] = MR_BUFFER_IDLE;
	while (h->remote && h->remote->empty.n_polled < h->remote->empty.n_posted);
}

void mr_link_restore(mr_link *h, uint32_t i)
{
	mr_link_hold(h, i);
	if (h->remote)
		h->arrived[i] = 1;
	else
		mr_link_put(h, i);
}

uint64_t mr_link_bytes(const mr_link *h)
{
	return (uint64_t)h->n * h->bytes * (h->remote ? 2 : 1);
}
