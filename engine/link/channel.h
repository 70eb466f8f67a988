/*
 * channel.h - one direction between two workers that share no memory, and the registered kinds of link.
 *
 * Each message between two workers belongs to an edge of the plan. A kind of link carries an edge; one line in
 * link_kinds.def registers a kind. When a run is built, mr_link_kind_of takes for each edge the first kind that can.
 *
 *	edge       number     its bytes                          from                       to
 *	FORWARD    a buffer   the activation                     stage s - 1                stage s
 *	BACKWARD   a buffer   the gradient of stage s's output   stage s + 1                stage s
 *	GRADIENTS  a commit   a shard's sum, in a range          each shard of a stage      the range's owner
 *	                      or a stage's, of whole steps       the pipe that steps        each other copy (exec/run.h)
 *	WEIGHTS    a version  the range that its owner stepped   the range's owner          each shard
 *	EVENT      a count    none                               the worker that raises it  one that waits for it
 *	MEETING    a meeting  what a share shows                 a share of a worker        the others (exec/shares.h)
 *
 * FORWARD and BACKWARD have a second channel the other way, without bytes: the buffers that are free again (link.h).
 *
 * Two sorts of kinds. Where the ends share memory (the ring: `open` is NULL) nothing is copied: a boundary is two rings
 * of numbers (host/ring.h), a count is an event (host/event.h), a range is read and written where it lies, and there
 * are no channels. Any other kind fills all functions below. Its channel moves `bytes` bytes at a time from the
 * producer's memory into the consumer's:
 *
 *	number i lies at from + i % n * from_stride and arrives at to + i % n * to_stride
 *
 * Channels that are armed on demand may share their memory `to`: the consumer arms one when it is done with what came
 * through another, and the producer posts only behind that.
 *
 * The plan proves that the consumer is done with the data at `to` before a message of the same i % n is posted, so a
 * kind needs room for `n` messages, and posting never waits. Messages arrive in the order in which they are posted. One
 * exception: a number may replace one that is still under way with the same i % n; only channels of counts, versions or
 * commits do that, and their consumer needs the highest number alone.
 *
 * Thread: `post` is called by the producer, `poll` by the consumer, at any time and at once; the other functions while
 * neither is running. No function may wait. The kind wakes `consumer` when there may be something to poll: a consumer
 * that has raised its parker and then polls in vain must be woken by a later post (host/pause.h).
 */
#ifndef MR_LINK_CHANNEL_H
#define MR_LINK_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/size.h"
#include "base/status.h"
#include "host/pause.h"

typedef enum mr_edge_kind {
	MR_EDGE_FORWARD,
	MR_EDGE_BACKWARD,
	MR_EDGE_GRADIENTS,
	MR_EDGE_WEIGHTS,
	MR_EDGE_EVENT,
	MR_EDGE_MEETING,
	MR_N_EDGE_KINDS
} mr_edge_kind;

typedef struct mr_edge {
	mr_edge_kind kind;
	uint16_t from, to; /* workers; never the same. Of a meeting: through all shares (mr_share_links) */
	uint16_t stage;    /* the stage that a boundary enters, or whose weights a range or an event is about */
	uint8_t pipe;      /* of a boundary; else 0 */
} mr_edge;

typedef struct mr_channel mr_channel;
typedef struct mr_link_kind mr_link_kind;

struct mr_link_kind {
	const char *name;
	uint32_t first;  /* the number of worker 0 of its run among those of all shares (mr_share_links) */
	const void *arg; /* the kind's own */
	/** Whether @k, this kind, can carry @e. NULL: it can carry every edge. */
	bool (*carries)(const mr_link_kind *k, const mr_edge *e);
	/**
	 * Make @c->state, with nothing under way; all other members of @c are set. NULL: the ends share memory, and the
	 * kind has none of the functions below. Errors: MR_ERESOURCE.
	 */
	mr_status (*open)(mr_channel *c) MR_MUST_USE;
	/** Free @c->state, which may be NULL. */
	void (*close)(mr_channel *c);
	/** Return to the state after `open`: messages under way are dropped. */
	void (*reset)(mr_channel *c);
	/**
	 * Send @number and its bytes. The bytes of a boundary stay as they are until the number comes back, and those
	 * of a channel whose bytes stay until they have arrived; all others may be overwritten when this returns.
	 */
	void (*post)(mr_channel *c, uint64_t number);
	/** The next number that has arrived, with its bytes in place. False: there is none yet. */
	bool (*poll)(mr_channel *c, uint64_t *number);
	/** Consumer, of a channel that is armed on demand: let one message come. NULL: there is nothing to do. */
	void (*arm)(mr_channel *c);
	/** Bytes of this process in which an open @c keeps what it sends; before `open`, too. NULL: none. */
	uint64_t (*kept)(const mr_channel *c);
};

struct mr_channel {
	const mr_link_kind *kind;
	void *state; /* the kind's own */
	mr_edge edge;
	uint32_t n;           /* messages under way at most, of numbers that differ modulo n */
	size_t bytes;         /* of one message */
	bool on_demand;       /* nothing may come before the consumer has armed the channel, for each message */
	bool varies;          /* messages may be shorter: the upper 32 bits of a number are the length of its message */
	bool stays;           /* the plan proves that the bytes of a message stay as they are until they have arrived */
	size_t begin[2];      /* of one that varies, by number modulo 2: how far behind its place a message begins */
	size_t from_stride, to_stride; /* from one to the next, in the memory of each end */
	const uint8_t *from;  /* [n] in the producer's memory; NULL where bytes is 0 */
	uint8_t *to;          /* [n] in the consumer's memory; likewise */
	mr_parker *consumer;  /* NULL: it never sleeps */
	mr_parker *const *beside; /* [n_beside] of workers that share memory with it and poll in its place, one at a
	                             time. Borrowed */
	uint32_t n_beside;
	uint64_t n_posted;    /* messages since the reset; the producer's */
	uint64_t n_polled;    /* the consumer's */
};

/** The kinds of link of link_kinds.def, in its order; NULL after the last. */
const mr_link_kind *mr_link_kind_at(uint32_t i);

/**
 * The kind that carries @e: the first of @kinds (NULL after the last) that can; of link_kinds.def if @kinds is NULL.
 * Errors: MR_ECONFIG: none can.
 */
mr_status mr_link_kind_of(const mr_link_kind *const *kinds, const mr_edge *e, const mr_link_kind **out) MR_MUST_USE;

/** Whether all edges get a kind that shares memory: the first of @kinds (as above) does, and carries every edge. */
bool mr_link_kinds_share(const mr_link_kind *const *kinds);

/* Kinds as those of @kinds, [3] with NULL after the last (NULL: link_kinds.def's), for a share whose worker 0 is number
 * @first among the workers of all shares. Points into itself, so it stays where it is. */
typedef struct mr_share_links {
	mr_link_kind kind;
	const mr_link_kind *kinds[3];
} mr_share_links;

void mr_share_links_init(mr_share_links *l, const mr_link_kind *const *kinds, uint32_t first);

/* Whether both ends of a link of this kind use the same memory. */
static inline bool mr_link_kind_shares(const mr_link_kind *k)
{
	return !k->open;
}

/** Producer: send @number and its bytes. */
static inline void mr_channel_post(mr_channel *c, uint64_t number)
{
	c->n_posted++;
	c->kind->post(c, number);
}

/** Consumer: as the kind's poll. */
static inline bool mr_channel_poll(mr_channel *c, uint64_t *number)
{
	if (!c->kind->poll(c, number))
		return false;
	c->n_polled++;
	return true;
}

/** Consumer of a channel that is armed on demand: let one message come, unless it may already. */
void mr_channel_arm(mr_channel *c);

/* For kinds: wake who waits for messages of @c. */
static inline void mr_channel_wake(const mr_channel *c)
{
	mr_parker_wake(c->consumer);
	for (uint32_t i = 0; i < c->n_beside; i++)
		mr_parker_wake(c->beside[i]);
}

/* For kinds: is @consumer, or a worker beside it, asleep or about to be? */
static inline bool mr_channel_sleeps(const mr_channel *c, const mr_parker *consumer)
{
	bool asleep = consumer && atomic_load(&consumer->asleep);

	for (uint32_t i = 0; i < c->n_beside && !asleep; i++)
		asleep = atomic_load(&c->beside[i]->asleep);
	return asleep;
}

/** Open @c, whose members except state and counters are set. Errors: as the kind's. */
mr_status mr_channel_open(mr_channel *c) MR_MUST_USE;

/* Between processes, does the producer go on before a message of @c has left its place? Then it is sent from one of two
 * copies for each number modulo n. */
static inline bool mr_channel_sends_copies(const mr_channel *c)
{
	return !c->stays && c->edge.kind != MR_EDGE_FORWARD && c->edge.kind != MR_EDGE_BACKWARD;
}

static inline uint64_t mr_channel_copies_bytes(const mr_channel *c)
{
	return mr_channel_sends_copies(c) ? 2 * c->n * mr_align_up(c->bytes, MR_CACHE_LINE) : 0;
}

/** Bytes of this process in which @c, open or not yet, keeps what it sends. */
uint64_t mr_channel_kept_bytes(const mr_channel *c);

/** Return to the state after opening, with messages that wake @consumer. Call while the workers are idle. */
void mr_channel_reset(mr_channel *c, mr_parker *consumer);

/** Free what open made. Accepts a channel that was never opened. */
void mr_channel_close(mr_channel *c);

#endif
