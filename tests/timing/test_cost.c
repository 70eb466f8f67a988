/* Costs as users write them. */
#include "ir/cost.h"

#include "ir/op.h"
#include "timing/walk.h"

#include "check.h"

static void cost_reads_three_or_four(void)
{
	mr_stage_cost c = {.u = 9};

	MR_CHECK_OK(mr_cost_read("1,2.5,0", &c));
	CU_ASSERT(c.f == 1 && c.i == 2.5 && c.w == 0 && c.u == 0 && c.c == 0);
	MR_CHECK_OK(mr_cost_read("0,1e3,2,0.25", &c));
	CU_ASSERT(c.f == 0 && c.i == 1000 && c.w == 2 && c.c == 0.25);
}

/* Every member there is, also one that is added later. */
static void costs_add_up_and_scale(void)
{
	enum { N = sizeof(mr_stage_cost) / sizeof(double) };
	mr_stage_cost sum = {0}, one, c = {.f = 1, .i = 2, .w = 3, .u = 4, .c = 5, .g = 6};

	for (int k = 0; k < N; k++)
		((double *)&one)[k] = k + 1;
	mr_cost_add(&sum, &one);
	mr_cost_add(&sum, &one);
	for (int k = 0; k < N; k++)
		CU_ASSERT(((double *)&sum)[k] == 2 * (k + 1));
	mr_cost_scale(&c, &(mr_stage_cost){.f = 10, .i = 20, .w = 30, .u = 40});
	CU_ASSERT(c.f == 10 && c.i == 40 && c.w == 90 && c.u == 160 && c.c == 5 && c.g == 180);
}

static void cost_refuses_the_rest(void)
{
	static const char *const bad[] = {"",         "1",      "1,2",     "1,2,",   "1,2,3,",  "1,2,3,4,5",
					  "1,2,3,4,", "0,0,0",  "0,0,0,1", "-1,2,3", "1,nan,3", "1,inf,3",
					  "1,2,2e9",  "1,2,3x", "a,b,c",   "1;2;3",  ",1,2"};
	mr_stage_cost c = {.f = 7};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MR_CHECK_FAIL(mr_cost_read(bad[i], &c), MR_ECONFIG, "expected f,i,w or f,i,w,c");
	CU_ASSERT(c.f == 7);
}

/* Of two pipes, on the same weights and as replicas. */
static void instructions_cost_what_the_table_says(void)
{
	static const struct {
		uint8_t op, flags, span;
		double shared, replicas;
	} cases[] = {
		{MR_OP_F, 0, 1, 1, 1},
		{MR_OP_R, 0, 1, 1, 1},
		{MR_OP_I, 0, 1, 2, 2},
		{MR_OP_W, 0, 1, 4, 4},
		{MR_OP_W, 0, 3, 10, 10},
		{MR_OP_B, 0, 1, 6, 6},
		{MR_OP_B, MR_INSTR_UPDATE, 1, 11, 11},
		{MR_OP_W, MR_INSTR_UPDATE, 1, 9, 9},
		{MR_OP_U, 0, 1, 4, 8},
		{MR_OP_AR, 0, 1, 16, 16},
		{MR_OP_N, 0, 1, 64, 64},
		{MR_OP_AVG, 0, 1, 128, 128},
		{MR_OP_V, 0, 1, 512, 512},
	};
	mr_stage_cost stage = {.f = 1, .i = 2, .w = 4, .g = 1, .u = 8, .s = 3, .r = 32, .n = 64, .a = 256, .v = 512};
	mr_cost cost = {1, &stage};
	uint8_t none = 0;
	mr_plan shared = {.n_pipes = 2, .stage_replicas = &none};
	mr_plan replicas = {.n_pipes = 2, .stage_replicas = &none, .contract.average.rule = MR_AVERAGE_MEAN};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_instr in = {.op = cases[i].op, .flags = cases[i].flags, .span = cases[i].span};

		CU_ASSERT_EQUAL(mr_instr_cost(&shared, &in, &cost), cases[i].shared);
		CU_ASSERT_EQUAL(mr_instr_cost(&replicas, &in, &cost), cases[i].replicas);
	}
}

void mr_suite_cost(void); /* the runner declares it too */

void mr_suite_cost(void)
{
	MR_SUITE("cost");
	MR_TEST(cost_reads_three_or_four);
	MR_TEST(costs_add_up_and_scale);
	MR_TEST(cost_refuses_the_rest);
	MR_TEST(instructions_cost_what_the_table_says);
}
