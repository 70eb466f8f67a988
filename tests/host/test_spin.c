/* test_spin.c - the limit of spins: full on a quiet host and after short disturbances, short while others have the
 * cores, and back. */
#include "host/spin.h"

#include "check.h"

#define MOST_NS 200000u
#define MS 1000000u

/* Looks every millisecond from *@now on for @ms milliseconds, each of which finds @lost_ns. */
static void pass(mr_spin *s, mr_spin_interval *w, uint64_t *now, unsigned ms, uint64_t lost_ns)
{
	for (unsigned i = 0; i < ms; i++) {
		*now += MS;
		mr_spin_delayed(s, w, *now, lost_ns);
	}
}

static void quiet(void)
{
	mr_spin s;
	mr_spin_interval w = {0};
	uint64_t now = 5 * MS;

	mr_spin_init(&s);
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, MOST_NS), MOST_NS);
	pass(&s, &w, &now, 100, 0);
	pass(&s, &w, &now, 1000, MS / 20); /* wake-ups, the system's work */
	mr_spin_delayed(&s, &w, now, 2 * MS); /* one turn of another program */
	pass(&s, &w, &now, 100, 0);
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, MOST_NS), MOST_NS);
}

static void busy_and_quiet_again(void)
{
	mr_spin s;
	mr_spin_interval a = {0}, b = {0};
	uint64_t now = 5 * MS, before;

	mr_spin_init(&s);
	pass(&s, &a, &now, 50, MS / 2);
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, MOST_NS), MR_SPIN_LEAST_NS);
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, 1000), 1000);  /* never longer than the place or the user allows */
	pass(&s, &b, &now, 40, 0); /* one that has its core keeps to what another has found, for a while */
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, MOST_NS), MR_SPIN_LEAST_NS);
	before = mr_spin_ns(&s, now, MOST_NS);
	for (int i = 0; i < 30; i++) { /* recovers slowly */
		uint64_t ns;

		pass(&s, &b, &now, 10, 0);
		ns = mr_spin_ns(&s, now, MOST_NS);
		CU_ASSERT(ns >= before && ns <= before + 10 * MS / MR_SPIN_GROWS_BY);
		before = ns;
	}
	CU_ASSERT_EQUAL(before, MOST_NS);
	pass(&s, &b, &now, 50, MS / 2); /* shrinks at once */
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, MOST_NS), MR_SPIN_LEAST_NS);
}

/* Asleep for long between looks: a late wake-up is no busy host. */
static void long_sleeps(void)
{
	mr_spin s;
	mr_spin_interval w = {0};
	uint64_t now = 5 * MS;

	mr_spin_init(&s);
	for (int i = 0; i < 100; i++) {
		now += 30 * MS;
		mr_spin_delayed(&s, &w, now, MS);
	}
	CU_ASSERT_EQUAL(mr_spin_ns(&s, now, MOST_NS), MOST_NS);
}

void mr_suite_spin(void); /* the runner declares it too */

void mr_suite_spin(void)
{
	MR_SUITE("spin");
	MR_TEST(quiet);
	MR_TEST(busy_and_quiet_again);
	MR_TEST(long_sleeps);
}
