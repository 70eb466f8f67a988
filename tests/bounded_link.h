/*
 * bounded_link.h - a kind of link whose ends share no memory as far as the engine can see: for tests.
 *
 * Posting copies a message into the channel's own memory, unless its bytes stay: those are read where they lie, piece
 * by piece, so a run that overwrites them too early trains on torn data. Each poll moves at most BOUNDED_WIRE bytes
 * through a small buffer into the consumer's memory, and some polls move nothing: so messages take several polls, and
 * the number differs between messages. A channel keeps at most its `n` messages.
 */
#ifndef MR_TESTS_BOUNDED_LINK_H
#define MR_TESTS_BOUNDED_LINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "link/channel.h"

enum { BOUNDED_WIRE = 160, BOUNDED_IDLE_POLLS = 4 };

typedef struct bounded_state {
	pthread_mutex_t lock;
	uint8_t *bytes;   /* [n][channel's bytes] posted and not yet there */
	uint64_t *number; /* [n] of those */
	uint32_t *queue;  /* [n] their places, in the order in which they were posted */
	uint32_t head, n_queued;
	size_t moved;     /* bytes of the first one */
	uint32_t n_looks; /* polls of it so far */
	uint64_t n_done;  /* messages that have arrived */
	uint8_t wire[BOUNDED_WIRE];
} bounded_state;

/* Messages that have arrived, by kind of edge, in all channels. */
static _Atomic uint64_t bounded_arrived[MR_N_EDGE_KINDS];

static inline void bounded_close(mr_channel *c)
{
	bounded_state *s = c->state;

	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s->bytes);
	free(s->number);
	free(s->queue);
	free(s);
	c->state = NULL;
}

static inline mr_status bounded_open(mr_channel *c)
{
	bounded_state *s = calloc(1, sizeof(*s));

	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory for a channel");
	c->state = s;
	pthread_mutex_init(&s->lock, NULL);
	s->bytes = malloc(c->n * c->bytes + 1);
	s->number = calloc(c->n, sizeof(*s->number));
	s->queue = calloc(c->n, sizeof(*s->queue));
	return s->bytes && s->number && s->queue ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a channel");
}

static inline void bounded_reset(mr_channel *c)
{
	bounded_state *s = c->state;

	s->head = s->n_queued = s->n_looks = 0;
	s->moved = 0;
}

static inline void bounded_post(mr_channel *c, uint64_t number)
{
	bounded_state *s = c->state;
	uint32_t place = (uint32_t)(number % c->n), k = 0;

	pthread_mutex_lock(&s->lock);
	while (k < s->n_queued && s->queue[(s->head + k) % c->n] != place)
		k++;
	if (k == s->n_queued)
		s->queue[(s->head + s->n_queued++) % c->n] = place;
	else if (k == 0)
		s->moved = 0; /* it is replaced: copy it from the beginning */
	s->number[place] = number;
	if (c->bytes && !c->stays)
		memcpy(s->bytes + place * c->bytes, c->from + place * c->from_stride, c->bytes);
	pthread_mutex_unlock(&s->lock);
	mr_channel_wake(c);
}

/* One look at the first message, which is there. */
static inline bool bounded_move(mr_channel *c, bounded_state *s)
{
	uint32_t place = s->queue[s->head];
	size_t all = c->varies ? s->number[place] >> 32 : c->bytes, left = all - s->moved;
	size_t n = left < sizeof(s->wire) ? left : sizeof(s->wire), begin = c->varies ? c->begin[place % 2] : 0;

	if (s->n_looks++ < (s->number[place] * 7 + s->n_done * 3 + c->edge.to) % BOUNDED_IDLE_POLLS)
		return false;
	memcpy(s->wire, (c->stays ? c->from + place * c->from_stride + begin : s->bytes + place * c->bytes) + s->moved,
	       n);
	if (n)
		memcpy(c->to + place * c->to_stride + s->moved, s->wire, n);
	s->moved += n;
	return s->moved == all;
}

static inline bool bounded_poll(mr_channel *c, uint64_t *number)
{
	bounded_state *s = c->state;
	bool some, there;

	pthread_mutex_lock(&s->lock);
	some = s->n_queued > 0;
	there = some && bounded_move(c, s);
	if (there) {
		*number = s->number[s->queue[s->head]];
		s->head = (s->head + 1) % c->n;
		s->n_queued--;
		s->n_done++;
		s->n_looks = 0;
		s->moved = 0;
		atomic_fetch_add_explicit(&bounded_arrived[c->edge.kind], 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
	if (some && !there)
		mr_channel_wake(c); /* no post will: it must not sleep on what is left */
	return there;
}

static inline bool bounded_carries(const mr_link_kind *k, const mr_edge *e)
{
	(void)k;
	(void)e;
	return true;
}

static const mr_link_kind bounded_link = {
	.name = "bounded",
	.carries = bounded_carries,
	.open = bounded_open,
	.close = bounded_close,
	.reset = bounded_reset,
	.post = bounded_post,
	.poll = bounded_poll,
};

#endif
