/* The processor's counters, by a source of their own: groups, turns, refusals, and the kernel's where it has some. */
#include <CUnit/CUnit.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "host/perf_events.h"
#include "host/clock.h"

/* Of event i the count 1000 * (i + 1), taken in half of the time for the hardware's; `missing` events do not exist. */
static int missing, why, n_open;
static int group_of[MR_N_PERF_EVENTS]; /* leader of each event */
static uint64_t running;

static int fake_open(mr_perf_event event, int leader)
{
	if (missing & 1 << event)
		return -why;
	group_of[event] = leader < 0 ? (int)event + 100 : leader;
	n_open++;
	return (int)event + 100;
}

static bool fake_read(int leader, uint64_t *to, uint32_t n)
{
	uint32_t k = 0;

	to[0] = n;
	to[1] = 2000;
	to[2] = leader - 100 >= MR_PERF_CYCLES ? running : 2000;
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		if (!(missing & 1 << i) && group_of[i] == leader)
			to[3 + k++] = 1000u * (unsigned)(i + 1);
	CU_ASSERT_EQUAL(k, n);
	return true;
}

static void fake_close(int event)
{
	CU_ASSERT(event >= 100);
	n_open--;
}

static const mr_perf_source fake = {fake_open, fake_read, fake_close};

static void begin(int gone, int error)
{
	missing = gone;
	why = error;
	n_open = 0;
	running = 1000;
}

static void test_all(void)
{
	mr_perf_events e;
	mr_perf_counts c, sum = {{0}}, before = {{0}};
	char text[256];

	begin(0, 0);
	mr_perf_events_open(&e, &fake, 1);
	CU_ASSERT_EQUAL(n_open, MR_N_PERF_EVENTS);
	CU_ASSERT_STRING_EQUAL(mr_perf_events_missing(&e, text, sizeof(text)), "");
	mr_perf_events_read(&e, &c);
	CU_ASSERT_EQUAL(c.at[MR_PERF_TASK_CLOCK], 1000);
	CU_ASSERT_EQUAL(c.at[MR_PERF_MIGRATIONS], 4000);
	CU_ASSERT_EQUAL(c.at[MR_PERF_CYCLES], 10000); /* in turns: scaled to the whole time */
	CU_ASSERT_EQUAL(c.at[MR_PERF_INSTRUCTIONS], 12000);
	CU_ASSERT_EQUAL(c.at[MR_PERF_REMOTE], 20000);
	CU_ASSERT_EQUAL(group_of[MR_PERF_INSTRUCTIONS], MR_PERF_CYCLES + 100);
	CU_ASSERT_EQUAL(group_of[MR_PERF_LLC_MISSES], MR_PERF_LLC_MISSES + 100);
	mr_perf_counts_add(&sum, &before, &c);
	mr_perf_counts_add(&sum, &before, &c);
	CU_ASSERT_EQUAL(sum.at[MR_PERF_CYCLES], 20000);
	running = 0; /* never on a core: unknown, not 0 */
	mr_perf_events_read(&e, &c);
	CU_ASSERT(isnan(c.at[MR_PERF_CYCLES]));
	CU_ASSERT_EQUAL(c.at[MR_PERF_FAULTS], 2000);
	mr_perf_events_close(&e);
	CU_ASSERT_EQUAL(n_open, 0);
}

static void test_some(void)
{
	mr_perf_events e;
	mr_perf_counts c;
	char text[256];

	begin(1 << MR_PERF_CYCLES | 1 << MR_PERF_STALLED, ENOENT);
	mr_perf_events_open(&e, &fake, 1);
	mr_perf_events_missing(&e, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "cycles, stalled cycles are not counted: this machine has no such counters, or "
				     "its hypervisor hides them");
	CU_ASSERT_EQUAL(group_of[MR_PERF_INSTRUCTIONS], MR_PERF_INSTRUCTIONS + 100); /* leads in its place */
	mr_perf_events_read(&e, &c);
	CU_ASSERT(isnan(c.at[MR_PERF_CYCLES]));
	CU_ASSERT(isnan(c.at[MR_PERF_STALLED]));
	CU_ASSERT_EQUAL(c.at[MR_PERF_INSTRUCTIONS], 12000);
	mr_perf_events_close(&e);
	begin((1 << MR_N_PERF_EVENTS) - 1, EACCES);
	mr_perf_events_open(&e, &fake, 1);
	mr_perf_events_missing(&e, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "perf_event_paranoid"));
	mr_perf_events_read(&e, &c);
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		CU_ASSERT(isnan(c.at[i]));
	mr_perf_events_close(&e);
	CU_ASSERT_EQUAL(n_open, 0);
}

/* The task clock of a thread that computes is close to the time that it took, unless it lost its core. */
static void test_kernel(void)
{
	mr_perf_events e;
	mr_perf_counts a, b;
	uint64_t begin_ns = mr_clock_ns();
	double took;

	mr_perf_events_open(&e, &mr_perf_kernel, 1);
	mr_perf_events_read(&e, &a);
	while (mr_clock_ns() - begin_ns < 2000000)
		;
	mr_perf_events_read(&e, &b);
	took = b.at[MR_PERF_TASK_CLOCK] - a.at[MR_PERF_TASK_CLOCK];
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		CU_ASSERT(e.known[i] ? !isnan(a.at[i]) || i >= MR_PERF_CYCLES : isnan(a.at[i]) && e.error[i] > 0);
	if (e.known[MR_PERF_TASK_CLOCK])
		CU_ASSERT(took > 1000 && took < 1.5 * (double)(mr_clock_ns() - begin_ns));
	mr_perf_events_close(&e);
}

void mr_suite_perf_events(void)
{
	CU_pSuite s = CU_add_suite("perf_events", NULL, NULL);

	CU_add_test(s, "all events", test_all);
	CU_add_test(s, "some, or none", test_some);
	CU_add_test(s, "the kernel's", test_kernel);
}
