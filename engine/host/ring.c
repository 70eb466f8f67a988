#include "host/ring.h"

#include <assert.h>
#include <stddef.h>

_Static_assert(offsetof(mr_ring, head) - offsetof(mr_ring, tail) >= 64, "producer and consumer on one line");
_Static_assert(offsetof(mr_ring, slot) - offsetof(mr_ring, head) >= 64, "constants on the consumer's line");

/* The two plain accesses that the edges protect. The explorer in tests/host defines these to look for races. */
#ifndef MR_RING_SLOT_GET
#define MR_RING_SLOT_GET(p) (*(p))
#define MR_RING_SLOT_SET(p, v) (*(p) = (v))
#endif

uint32_t mr_ring_slots(uint32_t capacity)
{
	uint32_t n = 1;

	if (capacity == 0 || capacity > MR_RING_MAX_CAPACITY)
		return 0;
	while (n < capacity)
		n *= 2;
	return n;
}

mr_status mr_ring_init(mr_ring *r, uint32_t capacity, uint32_t *slot, mr_parker *producer, mr_parker *consumer)
{
	uint32_t n_slots = mr_ring_slots(capacity);

	if (!n_slots)
		return mr_fail(MR_EINVAL, "ring capacity %u is not within 1..%u", capacity, MR_RING_MAX_CAPACITY);
	atomic_init(&r->tail, 0);
	atomic_init(&r->head, 0);
	r->head_seen = 0;
	r->tail_seen = 0;
	r->slot = n_slots <= MR_RING_NEAR ? r->near : slot;
	r->mask = n_slots - 1;
	r->capacity = capacity;
	r->hush = 0;
	r->producer = producer;
	r->consumer = consumer;
	return MR_OK;
}

void mr_ring_wake_every(mr_ring *r, uint32_t every)
{
	assert(every && (every & (every - 1)) == 0);
	r->hush = every - 1;
}

bool mr_ring_try_push(mr_ring *r, uint32_t value)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail - r->head_seen == r->capacity) {
		/* R1: the slot that this push overwrites has been read; pairs with W1. */
		r->head_seen = atomic_load_explicit(&r->head, memory_order_seq_cst);
		if (tail - r->head_seen == r->capacity)
			return false;
	}
	MR_RING_SLOT_SET(&r->slot[tail & r->mask], value);
	/* W0: publishes the slot and what the producer wrote before; pairs with R0. */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_seq_cst);
	if (((tail + 1) & r->hush) == 0)
		mr_parker_wake(r->consumer);
	return true;
}

bool mr_ring_try_pop(mr_ring *r, uint32_t *value)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head == r->tail_seen) {
		/* R0: the slots up to this tail are written; pairs with W0. */
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_seq_cst);
		if (head == r->tail_seen)
			return false;
	}
	*value = MR_RING_SLOT_GET(&r->slot[head & r->mask]);
	if (!r->producer) {
		/* W1: gives the slot back; pairs with R1. No producer sleeps until then. */
		atomic_store_explicit(&r->head, head + 1, memory_order_release);
		return true;
	}
	/* W1: gives the slot back; pairs with R1. */
	atomic_store_explicit(&r->head, head + 1, memory_order_seq_cst);
	mr_parker_wake(r->producer);
	return true;
}
