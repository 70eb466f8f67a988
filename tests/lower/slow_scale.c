/* Plans of 64 workers and 512 micro-batches, and one of a million instructions, lower, check and walk in seconds. */
#include <time.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "timing/walk.h"
#include "small_plans.h"

static void figures(mr_plan *p, double makespan, double period)
{
	static mr_stage_cost stage[512];
	mr_cost cost;
	mr_walk *k;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	mr_cost_share(p, 1, 1, 1, stage, &cost);
	MR_CHECK_OK(mr_plan_walk(p, &cost, 1, NULL, &k));
	CU_ASSERT_DOUBLE_EQUAL(k->makespan, makespan, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(k->period, period, 1e-6);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

static void flushing(void)
{
	figures(small_1f1b(64, 512), 3 * (512 + 63), 3 * (512 + 63));
	figures(small_gpipe(64, 512, true), 3 * (512 + 63), 3 * (512 + 63));
}

/* ZB-H1: makespan T(f+b) + (D-1) max(f, i, f+i-w). */
static void split(void)
{
	figures(small_split(64, 512), 3 * 512 + 63, 3 * 512 + 63);
}

/* Seconds of a core for 1f1b of @workers workers and 1,024 micro-batches. */
static double seconds(uint16_t workers)
{
	clock_t begin = clock();
	double span = 3 * (1024 + workers - 1);

	figures(small_1f1b(workers, 1024), span, span);
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* 512 workers, 1,024 micro-batches: two seconds of a core, twice what half of the workers take, and not four times;
 * sanitizers take longer. */
static void million(void)
{
	double half = seconds(256), all = seconds(512);

	printf("1024 micro-batches, 256 workers: %.2f s, 512 workers: %.2f s\n", half, all);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CU_ASSERT(all < 5);
	CU_ASSERT(all < 3.2 * half);
#endif
}

static void endless(void)
{
	figures(small_pipedream(64, false, true), 3.0 * (1 + 2 * 63), 3);
	figures(small_pipedream(64, true, false), 3 * 64, 3);
}

void mr_suite_scale(void);
void mr_suite_scale(void)
{
	MR_SUITE("scale");
	MR_TEST(flushing);
	MR_TEST(split);
	MR_TEST(million);
	MR_TEST(endless);
}
