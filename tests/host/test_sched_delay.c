/*
 * test_sched_delay.c - the delay of a thread that shares its core grows with the time that the other has, sleeping adds
 * nothing, and a kernel that does not count is noticed.
 */
#include "host/sched_delay.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "host/clock.h"
#include "host/pin.h"

enum { DELAY_NS = 20000000, SLEEP_NS = 50000000, SLACK_NS = 1000000 };
#define MOST_NS (60 * (uint64_t)1000000000)

typedef struct hog {
	uint32_t cpu;
	_Atomic int runs, stop;
} hog;

static void *hog_main(void *arg)
{
	hog *h = arg;

	CU_ASSERT_EQUAL(mr_pin(&h->cpu, 1), 0);
	atomic_store(&h->runs, 1);
	while (!atomic_load_explicit(&h->stop, memory_order_relaxed))
		continue;
	return NULL;
}

static void grows_on_a_shared_core(void)
{
	hog h = {.cpu = (uint32_t)sched_getcpu()};
	mr_sched_delay d;
	cpu_set_t before;
	pthread_t thread;
	uint64_t begin, delay, grown;

	sched_getaffinity(0, sizeof(before), &before);
	if (!mr_sched_delay_open(&d, NULL))
		return; /* the test below holds for such kernels */
	CU_ASSERT_TRUE(mr_sched_delay_known(&d));
	CU_ASSERT_EQUAL_FATAL(mr_pin(&h.cpu, 1), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, hog_main, &h), 0);
	while (!atomic_load(&h.runs))
		sched_yield();
	delay = mr_sched_delay_ns(&d);
	begin = mr_clock_ns();
	do
		grown = mr_sched_delay_ns(&d) - delay;
	while (grown <= DELAY_NS && mr_clock_ns() - begin < MOST_NS);
	atomic_store(&h.stop, 1);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	/* Half of the time by a fair scheduler, unless the whole machine stands. */
	CU_ASSERT_TRUE(grown > DELAY_NS && grown < MOST_NS);
	mr_sched_delay_close(&d);
	CU_ASSERT_FALSE(mr_sched_delay_known(&d));
	CU_ASSERT_EQUAL(mr_sched_delay_ns(&d), 0);
}

static void sleeping_is_no_delay(void)
{
	mr_sched_delay d;
	uint64_t begin, delay, late;

	if (!mr_sched_delay_open(&d, NULL))
		return;
	begin = mr_clock_ns();
	delay = mr_sched_delay_ns(&d);
	mr_clock_sleep(SLEEP_NS);
	delay = mr_sched_delay_ns(&d) - delay;
	late = mr_clock_ns() - begin - SLEEP_NS;
	if (delay > late + SLACK_NS)
		fprintf(stderr, "\n%llu ns of delay in a sleep that ended %llu ns late\n", (unsigned long long)delay,
			(unsigned long long)late);
	CU_ASSERT_TRUE(delay <= late + SLACK_NS);
	mr_sched_delay_close(&d);
}

static void kernels_that_do_not_count(void)
{
	static const struct {
		const char *text;
		bool known;
	} c[] = {{"5 7 1\n", true}, {"0 0 0\n", false}, {"", false}, {"5 7\n", false}, {"what?\n", false}};
	char path[] = "/tmp/mr-schedstat-XXXXXX";
	int fd = mkstemp(path);
	mr_sched_delay d;

	CU_ASSERT_FATAL(fd >= 0);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		FILE *f = fopen(path, "w");

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		fputs(c[i].text, f);
		fclose(f);
		CU_ASSERT_EQUAL(mr_sched_delay_open(&d, path), c[i].known);
		CU_ASSERT_EQUAL(mr_sched_delay_ns(&d), c[i].known ? 7 : 0);
		mr_sched_delay_close(&d);
	}
	close(fd);
	unlink(path);
	CU_ASSERT_FALSE(mr_sched_delay_open(&d, path));
	CU_ASSERT_EQUAL(mr_sched_delay_ns(&d), 0);
	mr_sched_delay_close(&d);
}

void mr_suite_sched_delay(void); /* the runner declares it too */

void mr_suite_sched_delay(void)
{
	MR_SUITE("sched_delay");
	MR_TEST(grows_on_a_shared_core);
	MR_TEST(sleeping_is_no_delay);
	MR_TEST(kernels_that_do_not_count);
}
