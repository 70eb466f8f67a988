/* test_backtrace.c - where threads stand: the frames of one that computes and of one that sleeps, by the name of both.
 */
#include "host/backtrace.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host/clock.h"
#include "host/group.h"

static _Atomic int begun, stop;

static void stand(void *arg)
{
	atomic_fetch_add(&begun, 1);
	while (!atomic_load(&stop))
		if (arg)
			mr_clock_sleep(1000000);
}

typedef struct lines {
	unsigned n, threads, frames, refused;
	char first[128];
} lines;

static void count(void *arg, const char *text)
{
	lines *l = arg;

	if (!l->n++)
		snprintf(l->first, sizeof(l->first), "%s", text);
	l->threads += strstr(text, "mr-stands (thread ") == text;
	l->frames += strstr(text, "    ") == text && strstr(text, "+0x") != NULL;
	l->refused += strstr(text, "does not answer") != NULL;
}

static void by_name(void)
{
	static const mr_place_worker w = {.n_threads = 1};
	mr_group *g[2];
	lines l = {0};

	mr_backtrace_arm();
	atomic_store(&begun, 0);
	atomic_store(&stop, 0);
	for (size_t i = 0; i < 2; i++)
		MR_CHECK_OK(mr_group_start(&w, "mr-stands", stand, i ? &l : NULL, &g[i]));
	while (atomic_load(&begun) < 2)
		mr_clock_sleep(1000000);
	for (int i = 0; i < 20; i++) { /* on a busy machine one may have no core for as long as it is waited for */
		l = (lines){0};
		mr_backtrace_threads("mr-stands", count, &l);
		if (!l.refused)
			break;
	}
	mr_backtrace_threads("mr-nobody", count, &l);
	atomic_store(&stop, 1);
	for (size_t i = 0; i < 2; i++)
		mr_group_join(g[i]);
#ifdef __GLIBC__
	CU_ASSERT_EQUAL(l.threads, 2);
	CU_ASSERT_EQUAL(l.refused, 0);
	CU_ASSERT(l.frames >= 4); /* at least the function and the thread's beginning, of each */
#endif
}

void mr_suite_backtrace(void); /* the runner declares it too */

void mr_suite_backtrace(void)
{
	MR_SUITE("backtrace");
	MR_TEST(by_name);
}
