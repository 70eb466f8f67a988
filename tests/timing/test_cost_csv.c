#include "timing/cost_csv.h"

#include <string.h>

#include "check.h"

static void reads(void)
{
	mr_stage_cost *c;
	uint16_t n;

	MR_CHECK_OK(mr_cost_csv_read("stage,f,i,w,u,c\n0,1,2,3,0.5,0.25\n1,4,5,6e-1,0,0\n", &c, &n));
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_TRUE(c[0].f == 1 && c[0].i == 2 && c[0].w == 3 && c[0].u == 0.5 && c[0].c == 0.25);
	CU_ASSERT_TRUE(c[1].f == 4 && c[1].i == 5 && c[1].w == 0.6 && c[1].u == 0 && c[1].c == 0);
	free(c);
	MR_CHECK_OK(mr_cost_csv_read("stage,f,i,w,u,c,r,n,s,a,v\n0,1,2,3,0.5,0.25,6,7,0.125,9,10\n", &c, &n));
	CU_ASSERT_TRUE(c[0].r == 6 && c[0].n == 7 && c[0].s == 0.125 && c[0].a == 9 && c[0].v == 10);
	free(c);
	MR_CHECK_OK(mr_cost_csv_read("# seconds\n\nstage,f,i,w\r\n0,1,2,3\r\n\n1,1,2,3\n# end\n2,1,2,4", &c, &n));
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_TRUE(c[2].w == 4 && c[2].u == 0 && c[2].c == 0);
	free(c);
}

static void refusals(void)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{"", "no row of costs"},
		{"stage,f,i,w,u,c\n", "no row of costs"},
		{"f,i,w\n1,1,1\n", "line 1: expected the head \"stage,f,i,w,u,c,r,n,s,a,v\", got \"f,i,w\""},
		{"stage,f,i,w\n0,1,1\n", "line 2: expected 4 numbers, as in \"stage,f,i,w\", got \"0,1,1\""},
		{"stage,f,i,w\n0,1,1,1,1\n", "line 2: expected 4 numbers"},
		{"stage,f,i,w\n0,1,1,\n1,1,1,1\n", "line 2: expected 4 numbers"},
		{"stage,f,i,w\n0,1,x,1\n", "got \"0,1,x,1\""},
		{"stage,f,i,w\n\n0,1,1,1\n2,1,1,1\n", "line 4: expected the row of stage 1, got 2"},
		{"stage,f,i,w\n0,1,-1,1\n", "line 2: times are numbers from 0 to 1e+09, got -1"},
		{"stage,f,i,w\n0,1,nan,1\n", "got nan"},
		{"stage,f,i,w\n0,1,1e10,1\n", "got 1e10"},
		{"stage,f,i,w,u,c,r,n,s\n0,1,1,1,1,0,0,0,1.5\n",
		 "line 2: a step inside a B or W takes at most u = 1 less than one alone, got s = 1.5"},
		{"stage,f,i,w,u\n0,0,0,0,1\n", "all times of f, i and w are 0"},
	};
	mr_stage_cost *c;
	uint16_t n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MR_CHECK_FAIL(mr_cost_csv_read(cases[i].text, &c, &n), MR_ECONFIG, cases[i].part);
		CU_ASSERT_PTR_NULL(c);
	}
}

void mr_suite_cost_csv(void);
void mr_suite_cost_csv(void)
{
	MR_SUITE("costs of stages as CSV");
	MR_TEST(reads);
	MR_TEST(refusals);
}
