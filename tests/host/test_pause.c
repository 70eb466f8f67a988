/* Waits with real threads: sleeping, waking, stopping, events with several waiters. */
#include "host/pause.h"

#include <pthread.h>
#include <string.h>

#include "check.h"
#include "host/clock.h"
#include "host/event.h"
#include "host/ring_wait.h"

enum { N_WAITERS = 3, N_COUNTS = 20000, FIRST_ERROR = 4711 };

typedef struct world {
	mr_parker parker[N_WAITERS];
	mr_parker *all[N_WAITERS];
	mr_stop stop;
	mr_event event;
	uint64_t payload[N_COUNTS + 1];
	uint32_t first_error;
	uint32_t spin;
} world;

typedef struct waiting_thread {
	world *w;
	uint32_t id;
	mr_status status;
	uint64_t n_bad, n_sleeps;
} waiting_thread;

static world the_world;

static world *make_world(uint32_t spin)
{
	world *w = &the_world;

	memset(w->payload, 0, sizeof(w->payload));
	w->first_error = 0;
	w->spin = spin;
	for (uint32_t i = 0; i < N_WAITERS; i++) {
		mr_parker_init(&w->parker[i]);
		w->all[i] = &w->parker[i];
	}
	mr_stop_init(&w->stop, w->all, N_WAITERS);
	mr_event_init(&w->event, UINT32_MAX - 99, w->all, N_WAITERS); /* the count passes the wrap */
	return w;
}

static void *wait_for_counts(void *arg)
{
	waiting_thread *t = arg;
	mr_waiter waiter;

	mr_waiter_init(&waiter, &t->w->parker[t->id], &t->w->stop, t->w->spin);
	/* Each waiter takes strides of its own. */
	for (uint32_t i = 0; i < N_COUNTS && t->status == MR_OK; i += t->id + 1) {
		t->status = mr_event_wait(&t->w->event, UINT32_MAX - 98 + i, &waiter);
		t->n_bad += t->status == MR_OK && t->w->payload[i] != i + 1;
	}
	if (t->status == MR_ESTOPPED)
		t->n_bad += t->w->first_error != FIRST_ERROR;
	t->n_sleeps = waiter.n_sleeps;
	return NULL;
}

static void start(world *w, waiting_thread *t, pthread_t *thread)
{
	for (uint32_t i = 0; i < N_WAITERS; i++) {
		t[i] = (waiting_thread){.w = w, .id = i};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, wait_for_counts, &t[i]), 0);
	}
}

static void publish(world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		w->payload[i] = i + 1;
		mr_event_publish(&w->event, UINT32_MAX - 98 + i);
	}
}

static void test_event_many_waiters(void)
{
	static const uint32_t spins[] = {0, 20};

	for (size_t k = 0; k < 2; k++) {
		world *w = make_world(spins[k]);
		waiting_thread t[N_WAITERS];
		pthread_t thread[N_WAITERS];

		start(w, t, thread);
		publish(w, N_COUNTS);
		for (uint32_t i = 0; i < N_WAITERS; i++) {
			pthread_join(thread[i], NULL);
			CU_ASSERT_EQUAL(t[i].status, MR_OK);
			CU_ASSERT_EQUAL(t[i].n_bad, 0);
		}
	}
}

/* Raise the flag while they spin, arm, sleep or run: all must come home, with the first error seen. */
static void test_stop_wakes_all(void)
{
	for (uint32_t round = 0; round < 60; round++) {
		world *w = make_world(round % 3 * 100);
		waiting_thread t[N_WAITERS];
		pthread_t thread[N_WAITERS];

		start(w, t, thread);
		publish(w, round * 10);
		mr_clock_sleep(round % 4 * 100000);
		CU_ASSERT_FALSE(mr_stop_raised(&w->stop));
		w->first_error = FIRST_ERROR;
		mr_stop_raise(&w->stop);
		for (uint32_t i = 0; i < N_WAITERS; i++) {
			pthread_join(thread[i], NULL);
			CU_ASSERT_EQUAL(t[i].status, MR_ESTOPPED);
			CU_ASSERT_EQUAL(t[i].n_bad, 0);
		}
		CU_ASSERT_TRUE(mr_stop_raised(&w->stop));
		mr_stop_clear(&w->stop);
		CU_ASSERT_FALSE(mr_stop_raised(&w->stop));
	}
}

/* With the flag up a wait ends at once, but what is there is still delivered. */
static void test_stopped_ring_still_delivers(void)
{
	world *w = make_world(10);
	uint32_t slot[2], got = 0;
	mr_waiter waiter;
	mr_ring r;

	mr_waiter_init(&waiter, &w->parker[0], &w->stop, w->spin);
	MR_CHECK_OK(mr_ring_init(&r, 1, slot, NULL, NULL));
	MR_CHECK_OK(ring_push(&r, 5, &waiter));
	mr_stop_raise(&w->stop);
	MR_CHECK_FAIL(ring_push(&r, 6, &waiter), MR_ESTOPPED, "stopped");
	MR_CHECK_OK(ring_pop(&r, &waiter, &got));
	CU_ASSERT_EQUAL(got, 5);
	MR_CHECK_FAIL(ring_pop(&r, &waiter, &got), MR_ESTOPPED, "stopped");
	CU_ASSERT_EQUAL(waiter.n_sleeps, 0);
}

/* The order of a wait: `spin` pauses, then arm, then sleep; done lowers the parker's word. */
static void test_steps(void)
{
	world *w = make_world(3);
	mr_waiter waiter;

	mr_waiter_init(&waiter, &w->parker[0], &w->stop, 3);
	for (uint32_t i = 0; i < 3; i++) {
		MR_CHECK_OK(mr_waiter_step(&waiter));
		CU_ASSERT_FALSE(waiter.armed);
	}
	CU_ASSERT_EQUAL(waiter.n_pauses, 3);
	MR_CHECK_OK(mr_waiter_step(&waiter));
	CU_ASSERT_TRUE(waiter.armed);
	CU_ASSERT_EQUAL(atomic_load_explicit(&w->parker[0].asleep, memory_order_relaxed), 1);
	mr_parker_wake(&w->parker[0]); /* now the sleep ends at once */
	CU_ASSERT_EQUAL(atomic_load_explicit(&w->parker[0].asleep, memory_order_relaxed), 0);
	MR_CHECK_OK(mr_waiter_step(&waiter));
	CU_ASSERT_EQUAL(waiter.n_sleeps, 1);
	for (uint32_t i = 0; i < 4; i++)
		MR_CHECK_OK(mr_waiter_step(&waiter));
	CU_ASSERT_TRUE(waiter.armed);
	mr_waiter_done(&waiter);
	CU_ASSERT_EQUAL(atomic_load_explicit(&w->parker[0].asleep, memory_order_relaxed), 0);
	CU_ASSERT_EQUAL(waiter.n_spun, 0);
	mr_parker_wake(NULL);
}

/* A waiter without a parker gives up its CPU and goes on; its note can be read. */
static void test_without_parker(void)
{
	mr_waiter waiter;

	mr_waiter_init(&waiter, NULL, NULL, 1);
	for (uint32_t i = 0; i < 5; i++)
		MR_CHECK_OK(mr_waiter_step(&waiter));
	CU_ASSERT_EQUAL(waiter.n_pauses, 1);
	CU_ASSERT_EQUAL(waiter.n_sleeps, 4);
	mr_waiter_note(&waiter, 2, 77);
	CU_ASSERT_EQUAL(atomic_load_explicit(&waiter.why, memory_order_relaxed), 2);
	CU_ASSERT_EQUAL(atomic_load_explicit(&waiter.subject, memory_order_relaxed), 77);
}

static void test_event_wraps(void)
{
	mr_event e;

	mr_event_init(&e, UINT32_MAX, NULL, 0);
	CU_ASSERT_TRUE(mr_event_reached(&e, UINT32_MAX));
	CU_ASSERT_TRUE(mr_event_reached(&e, UINT32_MAX - 5));
	CU_ASSERT_FALSE(mr_event_reached(&e, 0));
	mr_event_publish(&e, 2);
	CU_ASSERT_TRUE(mr_event_reached(&e, UINT32_MAX));
	CU_ASSERT_TRUE(mr_event_reached(&e, 2));
	CU_ASSERT_FALSE(mr_event_reached(&e, 3));
}

static void test_spins(void)
{
	uint32_t one = mr_pause_spins(1), many = mr_pause_spins(1000000);
	uint64_t begin = mr_clock_ns();

	CU_ASSERT(one >= 1);
	CU_ASSERT(many > 1000 && many < 1000000); /* a pause takes between 1 ns and 1 us */
	CU_ASSERT_EQUAL(mr_pause_spins(0), 0);
	CU_ASSERT_EQUAL(mr_pause_spins(UINT64_MAX), UINT32_MAX);
	mr_clock_sleep(2000000);
	CU_ASSERT(mr_clock_ns() - begin >= 2000000);
}

void mr_suite_pause(void); /* the runner declares it too */

void mr_suite_pause(void)
{
	MR_SUITE("pause");
	MR_TEST(test_steps);
	MR_TEST(test_without_parker);
	MR_TEST(test_event_wraps);
	MR_TEST(test_event_many_waiters);
	MR_TEST(test_stop_wakes_all);
	MR_TEST(test_stopped_ring_still_delivers);
	MR_TEST(test_spins);
}
