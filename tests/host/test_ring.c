/* One thread against a model queue, then two threads that pass two million messages and compare their hashes. */
#include "host/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "host/ring_torture.h"

static void test_slots(void)
{
	mr_ring r;
	uint32_t slot[1];

	CU_ASSERT_EQUAL(mr_ring_slots(0), 0);
	CU_ASSERT_EQUAL(mr_ring_slots(1), 1);
	CU_ASSERT_EQUAL(mr_ring_slots(3), 4);
	CU_ASSERT_EQUAL(mr_ring_slots(4), 4);
	CU_ASSERT_EQUAL(mr_ring_slots(5), 8);
	CU_ASSERT_EQUAL(mr_ring_slots(MR_RING_MAX_CAPACITY), MR_RING_MAX_CAPACITY);
	CU_ASSERT_EQUAL(mr_ring_slots(MR_RING_MAX_CAPACITY + 1), 0);
	MR_CHECK_FAIL(mr_ring_init(&r, 0, slot, NULL, NULL), MR_EINVAL, "capacity 0");
}

/* Random pushes and pops against an array of everything pushed: order, room and count are exact for every capacity. */
static void test_model(void)
{
	enum { N_STEPS = 4000, MAX_CAPACITY = 9 };
	static uint32_t pushed[N_STEPS];

	for (uint32_t capacity = 1; capacity <= MAX_CAPACITY; capacity++) {
		uint32_t slot[16], n_pushed = 0, n_popped = 0, got;
		mr_ring r;

		MR_CHECK_OK(mr_ring_init(&r, capacity, slot, NULL, NULL));
		for (uint32_t i = 0; i < N_STEPS; i++) {
			uint32_t random = mr_rng_u32(7, MR_RNG_TEST, capacity, 0, i);

			/* Runs of one kind, so that the ring is often full and often empty. */
			if (random >> 16 & 1 ? random % 4 : random % 4 == 0) {
				bool room = n_pushed - n_popped < capacity;

				CU_ASSERT_EQUAL_FATAL(mr_ring_try_push(&r, random), room);
				if (room)
					pushed[n_pushed++] = random;
			} else {
				bool any = n_pushed != n_popped;

				CU_ASSERT_EQUAL_FATAL(mr_ring_try_pop(&r, &got), any);
				if (any)
					CU_ASSERT_EQUAL_FATAL(got, pushed[n_popped++]);
			}
		}
		CU_ASSERT(n_pushed > N_STEPS / 8);
	}
}

/* The indices run freely: start just before they wrap. */
static void test_wrap(void)
{
	uint32_t slot[4], got;
	mr_ring r;

	MR_CHECK_OK(mr_ring_init(&r, 3, slot, NULL, NULL));
	atomic_store_explicit(&r.tail, UINT32_MAX - 1, memory_order_relaxed);
	atomic_store_explicit(&r.head, UINT32_MAX - 1, memory_order_relaxed);
	r.head_seen = r.tail_seen = UINT32_MAX - 1;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 3; i++)
			CU_ASSERT_TRUE(mr_ring_try_push(&r, 10 * round + i));
		CU_ASSERT_FALSE(mr_ring_try_push(&r, 99));
		for (uint32_t i = 0; i < 3; i++) {
			CU_ASSERT_TRUE(mr_ring_try_pop(&r, &got));
			CU_ASSERT_EQUAL(got, 10 * round + i);
		}
		CU_ASSERT_FALSE(mr_ring_try_pop(&r, &got));
	}
}

/* A consumer that is woken at every fourth push, of all that there have been. */
static void test_wake_every(void)
{
	uint32_t slot[8], got, n_woken = 0;
	mr_parker c;
	mr_ring r;

	mr_parker_init(&c);
	MR_CHECK_OK(mr_ring_init(&r, 8, slot, NULL, &c));
	mr_ring_wake_every(&r, 4);
	for (uint32_t i = 1; i <= 24; i++) {
		atomic_store_explicit(&c.asleep, 1, memory_order_relaxed);
		CU_ASSERT_TRUE(mr_ring_try_push(&r, i));
		n_woken += atomic_load_explicit(&c.asleep, memory_order_relaxed) == 0;
		CU_ASSERT_EQUAL(n_woken, i / 4);
		CU_ASSERT_TRUE(i % 3 ||
			       (mr_ring_try_pop(&r, &got) && mr_ring_try_pop(&r, &got) && mr_ring_try_pop(&r, &got)));
	}
}

/* Two threads: capacities around the powers of two, a pure sleeper (spin 0) and a spinner. */
static void test_torture(void)
{
	static const struct {
		uint32_t capacity, spin, n;
	} c[] = {{1, 0, 20000}, {1, 200, 30000}, {2, 0, 50000}, {3, 50, 100000}, {64, 0, 800000}, {1000, 200, 1000000}};
	uint32_t total = 0;

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		mr_torture_result result;

		MR_CHECK_OK(mr_torture_ring(c[i].capacity, c[i].spin, c[i].n, i, false, &result));
		CU_ASSERT_EQUAL(result.n_bad, 0);
		CU_ASSERT_EQUAL(result.sent_hash, result.received_hash);
		CU_ASSERT_EQUAL(result.n_received, c[i].n);
		total += c[i].n;
	}
	CU_ASSERT(total >= 2000000);
}

void mr_suite_ring(void); /* the runner declares it too */

void mr_suite_ring(void)
{
	MR_SUITE("ring");
	MR_TEST(test_slots);
	MR_TEST(test_model);
	MR_TEST(test_wrap);
	MR_TEST(test_wake_every);
	MR_TEST(test_torture);
}
