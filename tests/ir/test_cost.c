/* Costs as users write them. */
#include "ir/cost.h"

#include "check.h"

static void cost_reads_three_or_four(void)
{
	mr_stage_cost c = {.u = 9};

	MR_CHECK_OK(mr_cost_read("1,2.5,0", &c));
	CU_ASSERT(c.f == 1 && c.i == 2.5 && c.w == 0 && c.u == 0 && c.c == 0);
	MR_CHECK_OK(mr_cost_read("0,1e3,2,0.25", &c));
	CU_ASSERT(c.f == 0 && c.i == 1000 && c.w == 2 && c.c == 0.25);
}

static void cost_refuses_the_rest(void)
{
	static const char *const bad[] = {"", "1", "1,2", "1,2,", "1,2,3,", "1,2,3,4,5", "1,2,3,4,", "0,0,0", "0,0,0,1", "-1,2,3",
					  "1,nan,3", "1,inf,3", "1,2,2e9", "1,2,3x", "a,b,c", "1;2;3", ",1,2"};
	mr_stage_cost c = {.f = 7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MR_CHECK_FAIL(mr_cost_read(bad[i], &c), MR_ECONFIG, "expected f,i,w or f,i,w,c");
	CU_ASSERT(c.f == 7);
}

void mr_suite_cost(void); /* the runner declares it too */

void mr_suite_cost(void)
{
	MR_SUITE("cost");
	MR_TEST(cost_reads_three_or_four);
	MR_TEST(cost_refuses_the_rest);
}
