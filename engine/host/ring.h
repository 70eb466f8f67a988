/*
 * ring.h - a bounded queue of 32-bit messages from one thread to one other thread.
 *
 * One producer, one consumer, the caller's memory, no locks. Any capacity from 1 to 2^30 works and is exact; the slot
 * array has mr_ring_slots(capacity) entries, the next power of two, so that a free-running index becomes a slot with
 * one mask. The ring carries numbers of buffers: whatever the producer wrote before a push is visible to the consumer
 * after the pop, and whatever the consumer read before a pop on this ring has been read when the producer finds the
 * room (so a buffer number may also travel back on a second ring).
 *
 *	producer's line    tail       messages pushed so far; head_seen = the last head that it loaded
 *	consumer's line    head       messages popped so far; tail_seen likewise
 *
 * tail - head (unsigned, wraps) is the number of messages inside, 0..capacity. Each side loads the other's index only
 * when its copy says full or empty, so a ring that is neither costs no cache miss beyond the message's own.
 *
 *	edge   writer                       reader                        what becomes visible
 *	W0/R0  producer stores tail         consumer loads tail           the slot, and what the producer wrote before
 *	W1/R1  consumer stores head         producer loads head           that the slot (and the buffer) has been read
 *
 * All four are seq_cst: the release/acquire in them carries the data, the single order carries the sleep protocol
 * (pause.h has the proof), since each store is followed by a look at the other side's parker and each load may be the
 * last look before sleeping. Where the producer has no parker W1 is a release store, which spares the consumer a full
 * barrier. Own indices are loaded relaxed: no other thread writes them.
 *
 * A message is popped even when the stop flag is up; the flag only ends waits.
 *
 * Waking. A push wakes the consumer, or only every n-th push does (mr_ring_wake_every), for a consumer that need
 * not hurry: a call of the kernel and a sleeper's start are then paid once for many messages. A sleeping consumer has
 * missed no push that wakes (each of these is followed by the look at the parker, so the proof in pause.h holds for
 * it), and so has missed fewer than that many messages.
 */
#ifndef MR_HOST_RING_H
#define MR_HOST_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "host/pause.h"

#define MR_RING_MAX_CAPACITY (1u << 30)

/* Rings up to this capacity keep their messages beside `tail`, so that a message moves one cache line, not two. */
#define MR_RING_NEAR 8

/* Transparent because the caller lays it out; only ring.c looks inside. On a 64-byte boundary, not moved after init. */
typedef struct mr_ring {
	_Alignas(64) _Atomic uint32_t tail; /* the producer's line */
	uint32_t head_seen;
	uint32_t near[MR_RING_NEAR];
	_Alignas(64) _Atomic uint32_t head; /* the consumer's line */
	uint32_t tail_seen;
	_Alignas(64) uint32_t *slot;        /* constant after init: shared by both caches; may be `near` */
	uint32_t mask;
	uint32_t capacity;
	uint32_t hush; /* a push wakes when its number, from 1, has none of these bits set */
	mr_parker *producer;
	mr_parker *consumer;
} mr_ring;

/**
 * Entries that the slot array of a ring of @capacity needs: the next power of two. 0 if the capacity is out of range.
 */
uint32_t mr_ring_slots(uint32_t capacity);

/**
 * Begin an empty ring of @capacity messages on @slot, which lends mr_ring_slots(capacity) entries for the ring's
 * life, best on cache lines of their own. Up to MR_RING_NEAR messages lie in *@r itself; @slot is not used then and
 * may be NULL.
 * @producer and @consumer are the parkers of the two threads; NULL: that side never sleeps on this ring.
 * Errors: MR_EINVAL capacity 0 or above MR_RING_MAX_CAPACITY. There is no fini: the memory is the caller's.
 */
mr_status mr_ring_init(mr_ring *r, uint32_t capacity, uint32_t *slot, mr_parker *producer,
		       mr_parker *consumer) MR_MUST_USE;

/**
 * Let only each @every-th push (a power of two, at least 1: from mr_ring_init) wake the consumer. A sleeping consumer
 * may then leave up to @every - 1 messages unread: a thread that waits for it to take messages must be able to push
 * @every of them before. Call it only while neither side uses the ring.
 */
void mr_ring_wake_every(mr_ring *r, uint32_t every);

/** Push @value and wake the consumer (see mr_ring_wake_every); false when full. Thread: the producer. */
bool mr_ring_try_push(mr_ring *r, uint32_t value);

/** Pop the oldest message into *@value and wake the producer; false when empty. Thread: the consumer. */
bool mr_ring_try_pop(mr_ring *r, uint32_t *value);

#endif
