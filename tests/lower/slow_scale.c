/* Plans of 64 workers and 512 micro-batches, and one of a million instructions, lower, check and walk in seconds. */
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "timing/walk.h"
#include "small_plans.h"

static void figures(mr_plan *p, uint64_t *visits, double makespan, double period)
{
	static mr_stage_cost stage[512];
	mr_cost cost;
	mr_walk *k;

	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.visits = visits}));
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
	figures(small_1f1b(64, 512), NULL, 3 * (512 + 63), 3 * (512 + 63));
	figures(small_gpipe(64, 512, true), NULL, 3 * (512 + 63), 3 * (512 + 63));
}

/* ZB-H1: makespan T(f+b) + (D-1) max(f, i, f+i-w). */
static void split(void)
{
	figures(small_split(64, 512), NULL, 3 * 512 + 63, 3 * 512 + 63);
}

/* Looks at instructions while 1f1b of @workers workers and 1,024 micro-batches is lowered, for each of them. */
static double looks(uint16_t workers)
{
	double span = 3 * (1024 + workers - 1);
	uint64_t visits = 0;

	figures(small_1f1b(workers, 1024), &visits, span, span);
	return (double)visits / (2.0 * workers * 1024);
}

/* 512 workers, 1,024 micro-batches: as many looks at each of a million instructions as with half of the workers. */
static void million(void)
{
	double half = looks(256), all = looks(512);

	printf("1024 micro-batches, looks at an instruction: 256 workers %.2f, 512 workers %.2f\n", half, all);
	CU_ASSERT(all < 1.1 * half);
	CU_ASSERT(all < 20);
}

static void endless(void)
{
	figures(small_pipedream(64, false, true), NULL, 3.0 * (1 + 2 * 63), 3);
	figures(small_pipedream(64, true, false), NULL, 3 * 64, 3);
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
