/*
 * test_watchdog.c - what counts as a stall: no progress while we were there to see it, and nothing else.
 *
 * A look back in time stands for waiting: seen_ns is moved into the past by hand.
 */
#include "exec/watchdog.h"

#include <string.h>

#include "check.h"
#include "host/clock.h"

#define SECOND ((uint64_t)1000000000)

static mr_run run;
static mr_worker worker[2];

static void prepare(mr_watchdog *d, double seconds)
{
	memset(&run, 0, sizeof(run));
	memset(worker, 0, sizeof(worker));
	run.n_workers = 2;
	run.worker = worker;
	mr_watchdog_init(d, seconds);
}

/* The next look, @ns after the last one. */
static mr_status look(mr_watchdog *d, uint64_t ns)
{
	d->seen_ns = mr_clock_ns() - ns;
	return mr_watchdog_look(d, &run);
}

static void names_everybody(void)
{
	mr_watchdog d;

	prepare(&d, 2);
	atomic_store(&worker[0].doing, mr_doing_pack(MR_OP_F, 0, 12));
	atomic_store(&worker[1].doing, mr_doing_pack(MR_OP_B, 1, 7));
	atomic_store(&worker[1].waiter.why, MR_WAIT_UPSTREAM);
	for (int i = 0; i < 19; i++)
		MR_CHECK_OK(look(&d, SECOND / 10));
	MR_CHECK_FAIL(look(&d, SECOND / 5), MR_ESTALLED, "seconds: w0 F m12 s0 computes; w1 B m7 s1 waits for its input");
}

static void progress_starts_anew(void)
{
	mr_watchdog d;

	prepare(&d, 2);
	for (int i = 0; i < 100; i++) {
		if (i % 10 == 9)
			atomic_fetch_add(&worker[i % 2].beat, 1);
		MR_CHECK_OK(look(&d, SECOND / 10));
	}
}

/* Whoever was stopped himself has seen nothing: one look counts a quarter of the limit at most, and a second. */
static void stopped_with_the_rest(void)
{
	mr_watchdog d;

	prepare(&d, 0.5);
	for (int i = 0; i < 3; i++)
		MR_CHECK_OK(look(&d, 3600 * SECOND));
	prepare(&d, 30);
	for (int i = 0; i < 29; i++)
		MR_CHECK_OK(look(&d, 3600 * SECOND));
	CU_ASSERT_EQUAL(look(&d, 3600 * SECOND), MR_ESTALLED);
}

static void zero_is_never(void)
{
	mr_watchdog d;

	prepare(&d, 0);
	for (int i = 0; i < 100; i++)
		MR_CHECK_OK(look(&d, 3600 * SECOND));
}

void mr_suite_watchdog(void)
{
	MR_SUITE("watchdog");
	MR_TEST(names_everybody);
	MR_TEST(progress_starts_anew);
	MR_TEST(stopped_with_the_rest);
	MR_TEST(zero_is_never);
}
