/* Pause points inside a prologue, and plans that could not stop at one. */
#include "ir/pause.h"

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "small_plans.h"

static void found_in_prologues(void)
{
	mr_plan *p = small_irregular(3, 3, 1);
	uint32_t at[4] = {0};

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	/* w0: F0 F1 F2 B0 U F3 B1 U F4 B2 U */
	CU_ASSERT_EQUAL(mr_pauses_of(p, 0, at, 4), 3);
	CU_ASSERT_TRUE(at[0] == 5 && at[1] == 8 && at[2] == 11);
	/* w1: F0 F1 B0 U F2 B1 U F3 B2 U, one forward early */
	CU_ASSERT_EQUAL(mr_pauses_of(p, 1, at, 2), 3);
	CU_ASSERT_TRUE(at[0] == 4 && at[1] == 7);
	CU_ASSERT_EQUAL(mr_pauses_of(p, 2, NULL, 0), 3);
	mr_plan_destroy(p);
	p = small_pipedream(3, false, false);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	for (uint16_t w = 0; w < 3; w++)
		CU_ASSERT_EQUAL(mr_pauses_of(p, w, at, 4), 0);
	mr_plan_destroy(p);
}

/* The stages of one worker must take turns: one that is a version ahead leaves no place where both have the same. */
static void stages_take_turns(void)
{
	static const struct {
		mr_section section;
		uint8_t op;
		uint16_t stage;
		uint32_t micro;
	} list[] = {
		{MR_PROLOGUE, MR_OP_F, 0, 0}, {MR_PROLOGUE, MR_OP_F, 1, 0}, {MR_PROLOGUE, MR_OP_B, 1, 0},
		{MR_BODY, MR_OP_F, 0, 1},     {MR_BODY, MR_OP_F, 1, 1},     {MR_BODY, MR_OP_B, 1, 1},
		{MR_BODY, MR_OP_B, 0, 0},
	};
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(2, 1, 1, &p));
	p->worker_of[0] = p->worker_of[1] = 0;
	p->n_micro = p->commits = 1;
	p->contract = (mr_contract){.need = 1,
				    .flush = MR_FLUSH_NONE,
				    .read_f = MR_READ_LATEST,
				    .same_version_b = true,
				    .max_staleness = 2};
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		MR_CHECK_OK(mr_plan_append(
			p, 0, list[i].section,
			(mr_instr){.op = list[i].op, .span = 1, .stage = list[i].stage, .micro = list[i].micro}));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w0 U m1 s1 p0: makes version 2 while another stage of worker 0 has yet to make 1");
	mr_plan_destroy(p);
}

void mr_suite_pause(void);
void mr_suite_pause(void)
{
	MR_SUITE("pause");
	MR_TEST(found_in_prologues);
	MR_TEST(stages_take_turns);
}
