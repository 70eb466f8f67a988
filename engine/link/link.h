/*
 * link.h - carries one boundary: its buffers, and the numbers of full buffers one way and of empty ones the other.
 *
 *	producer --[full]--> consumer     the number of a buffer that holds an activation, or a gradient
 *	         <-[empty]--              the number comes back after the consumer's last use
 *
 * The plan determines which buffer a micro-batch uses, so a message tells only that the buffer is full; the consumer
 * compares the number with the plan. Numbers may come back in another order than they left (GPipe's last-in-first-out
 * backward), so the producer keeps them in `state`. If a plan takes messages in another order than they are sent,
 * and for remote links, the consumer keeps the buffers that have come in `arrived`.
 *
 * There are three sorts of links, with the same functions for their users:
 *
 *	local   Both ends are one worker: nothing is sent. Whichever comes later in the worker's list finds the buffer
 *	        in the state in which the earlier one left it. The plan may use such a boundary in any order.
 *	ring    The ends share memory: two rings of numbers. Nothing is copied; the producer writes into the
 *	        consumer's memory, and the consumer reads in place. A ring can hold all its buffers' numbers:
 *	        pushing never waits.
 *	remote  The ends share no memory: two channels of a kind of link (channel.h). The producer writes into a
 *	        buffer of its own; `full` moves its bytes.
 *
 * Thread: "Producer" and "Consumer" below are the workers at the two ends; call all other functions while both idle.
 */
#ifndef MR_LINK_LINK_H
#define MR_LINK_LINK_H

#include "host/ring.h"
#include "link/channel.h"

/* State of a boundary buffer. Between workers the producer sees only IDLE and TAKEN: FULL is under way. */
typedef enum mr_buffer_state { MR_BUFFER_TAKEN, MR_BUFFER_IDLE, MR_BUFFER_FULL } mr_buffer_state;

/* The two channels of a remote link, and the memory that the producer writes into. */
typedef struct mr_link_remote {
	mr_channel full, empty;
	uint8_t *out; /* [n][bytes], owned */
} mr_link_remote;

typedef struct mr_link {
	mr_ring full, empty;
	uint32_t n;      /* buffers */
	uint32_t n_used; /* buffers written since the reset: the highest number, plus 1; written by the producer
	                    */
	size_t bytes;    /* of each */
	uint32_t every;  /* one wake-up of the producer for this many buffers that come back */
	uint8_t *buffer; /* [n][bytes], in the consumer's memory */
	uint8_t *state;  /* [n] mr_buffer_state, the producer's; of a local link the worker's */
	uint32_t *slots; /* the two rings' messages */
	uint8_t *arrived; /* [n] written by the consumer: full buffers that have come and are not taken yet; NULL: it
	                     takes them in the order in which they are sent */
	bool local;      /* both ends are one worker: no rings, only the states */
	mr_link_remote *remote; /* owned; NULL: local, or a ring */
	const mr_link_kind *kind; /* the kind that carries it; NULL: not chosen, which means local, or a ring */
} mr_link;

/** Give a remote link the channels of edge @e; any other link needs none. @h has its memory. Errors: MR_ERESOURCE. */
mr_status mr_link_open(mr_link *h, const mr_edge *e) MR_MUST_USE;

/** Free what open made. */
void mr_link_close(mr_link *h);

/**
 * Prepare link @h between these threads' parkers: all buffers idle, nothing under way. Also returns a used link to that
 * state. Errors: those of mr_ring_init.
 */
mr_status mr_link_reset(mr_link *h, mr_parker *producer, mr_parker *consumer) MR_MUST_USE;

/* Consumer: where buffer @i lies when it is full. */
static inline void *mr_link_buffer(const mr_link *h, uint32_t i)
{
	return h->buffer + (size_t)i * h->bytes;
}

/* Producer: where to write buffer @i. */
static inline void *mr_link_out(const mr_link *h, uint32_t i)
{
	return (h->remote ? h->remote->out : h->buffer) + (size_t)i * h->bytes;
}

/* Producer: take buffer @i, which is idle. */
static inline void mr_link_hold(mr_link *h, uint32_t i)
{
	h->state[i] = MR_BUFFER_TAKEN;
	if (i >= h->n_used)
		h->n_used = i + 1;
}

/** Producer: receive the buffers that came back; if buffer @i is idle then, take it and return true. */
bool mr_link_take(mr_link *h, uint32_t i);

/** Producer: mark buffer @i full and send its number. */
static inline void mr_link_put(mr_link *h, uint32_t i)
{
	bool room = true;

	if (h->local)
		h->state[i] = MR_BUFFER_FULL;
	else if (h->remote)
		mr_channel_post(&h->remote->full, i);
	else
		room = mr_ring_try_push(&h->full, i);
	(void)room; /* the ring holds all numbers */
}

/** Consumer: take buffer @want of a link with `arrived`. False: it is not full yet. */
bool mr_link_find(mr_link *h, uint32_t want);

/** Consumer: take the next full buffer; of a local link, or one with `arrived`, buffer @want. False: not there yet. */
static inline bool mr_link_get(mr_link *h, uint32_t want, uint32_t *got)
{
	if (!h->local && h->arrived) {
		*got = want;
		return mr_link_find(h, want);
	}
	if (!h->local)
		return mr_ring_try_pop(&h->full, got);
	if (h->state[want] != MR_BUFFER_FULL)
		return false;
	h->state[want] = MR_BUFFER_TAKEN;
	*got = want;
	return true;
}

/** Consumer: buffer @i will not be used again; return it to the producer. */
static inline void mr_link_give_back(mr_link *h, uint32_t i)
{
	bool room = true;

	if (h->local)
		h->state[i] = MR_BUFFER_IDLE;
	else if (h->remote)
		mr_channel_post(&h->remote->empty, i);
	else
		room = mr_ring_try_push(&h->empty, i);
	(void)room;
}

/**
 * Receive all messages under way, so that `state` is up to date and remote buffers that were sent lie in the consumer's
 * memory. Both ends are idle.
 */
void mr_link_settle(mr_link *h);

/** Mark buffer @i, which is idle and lies in the consumer's memory, as full. Both ends are idle. */
void mr_link_restore(mr_link *h, uint32_t i);

/** Bytes of the buffers, at both ends. */
uint64_t mr_link_bytes(const mr_link *h);

#endif
