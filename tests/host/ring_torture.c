#include "host/ring_torture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "host/ring_wait.h"

typedef struct torture {
	mr_ring ring;
	mr_parker parker[2];
	mr_waiter waiter[2];
	uint64_t *payload; /* [capacity + 2] */
	uint64_t n, seed, n_buffers;
	mr_torture_result result;
	mr_status status[2];
	bool apart;
} torture;

/* splitmix64: a fast mixer for messages, delays and hashes. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Now and then a side is late: mostly a little, rarely enough for the other one to fall asleep. */
static void delay(uint64_t random)
{
	if (random % 64 == 0)
		for (volatile uint32_t i = 0; i < random / 64 % 256; i++)
			continue;
	if (random % 16384 == 0)
		for (volatile uint32_t i = 0; i < 20000; i++)
			continue;
}

/* Put the calling thread on the @i-th CPU that it may use, if there are that many. */
static void pin(uint32_t i)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && i-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static void *produce(void *arg)
{
	torture *t = arg;
	uint64_t hash = 0;

	if (t->apart)
		pin(0);
	for (uint64_t i = 0; i < t->n; i++) {
		uint32_t message = (uint32_t)mix(t->seed ^ i);

		t->payload[i % t->n_buffers] = mix(i) ^ t->seed;
		delay(mix(i ^ 0xabcdef));
		t->status[0] = ring_push(&t->ring, message, &t->waiter[0]);
		if (t->status[0] != MR_OK)
			break;
		hash = mix(hash ^ message);
	}
	t->result.sent_hash = hash;
	return NULL;
}

static void *consume(void *arg)
{
	torture *t = arg;
	uint64_t hash = 0, n_bad = 0, i;
	uint32_t message;

	if (t->apart)
		pin(1);
	for (i = 0; i < t->n; i++) {
		t->status[1] = ring_pop(&t->ring, &t->waiter[1], &message);
		if (t->status[1] != MR_OK)
			break;
		n_bad += message != (uint32_t)mix(t->seed ^ i);
		n_bad += t->payload[i % t->n_buffers] != (mix(i) ^ t->seed);
		delay(mix(i ^ 0x123456));
		hash = mix(hash ^ message);
	}
	t->result.received_hash = hash;
	t->result.n_received = i;
	t->result.n_bad = n_bad;
	return NULL;
}

mr_status mr_torture_ring(uint32_t capacity, uint32_t spin, uint64_t n, uint64_t seed, bool apart,
			  mr_torture_result *result)
{
	torture *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	uint32_t *slot = calloc(mr_ring_slots(capacity), sizeof(*slot));
	uint64_t *payload = calloc(capacity + 2, sizeof(*payload));
	pthread_t thread[2];
	mr_status status = MR_ERESOURCE;

	if (!t || !slot || !payload)
		goto out;
	*t = (torture){.payload = payload, .n = n, .seed = mix(seed), .n_buffers = capacity + 2, .apart = apart};
	for (int i = 0; i < 2; i++) {
		mr_parker_init(&t->parker[i]);
		mr_waiter_init(&t->waiter[i], &t->parker[i], NULL, spin);
	}
	status = mr_ring_init(&t->ring, capacity, slot, &t->parker[0], &t->parker[1]);
	if (status != MR_OK)
		goto out;
	if (pthread_create(&thread[0], NULL, produce, t) || pthread_create(&thread[1], NULL, consume, t))
		abort(); /* a test machine without threads */
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	status = t->status[0] != MR_OK ? t->status[0] : t->status[1];
	*result = t->result;
	result->n_sleeps = t->waiter[0].n_sleeps + t->waiter[1].n_sleeps;
out:
	free(payload);
	free(slot);
	free(t);
	return status;
}
