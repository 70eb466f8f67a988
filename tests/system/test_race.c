/*
 * test_race.c - races against their records, a few; and where races stop: at one step, with an empty pipeline, from
 * where they can go on.
 */
#include <math.h>

#include "check.h"
#include "exec/features/race.h"
#include "race_cases.h"
#include "replay/record.h"

#define RUNS 5

static void mlp(void)
{
	races_mlp(RUNS);
}

static void gpt(void)
{
	races_gpt(RUNS);
}

#define LONG 900

/* Called about ten times a second. */
static bool any_pause(void *arg, const mr_step_rec *rec)
{
	rig_progress(arg, rec);
	return rec != NULL;
}

/* Asked to pause anywhere, all workers stop at one step with an empty pipeline, no step is lost, and the record holds.
 */
static void asked_for(void)
{
	rig_result got = {0}, again = {0};
	uint32_t pauses = 0;
	mr_plan *record;
	rig r;

	race_open(&r, false, "system.in_flight=6 train.microbatches=1 train.batch=2", 3, LONG);
	rig_delays(400, 1);
	for (uint64_t at = 0; at < LONG; pauses++) {
		mr_run *run = mr_executor_run_of(&r.s.executor);

		MR_CHECK_OK(mr_executor_run(&r.s.executor, LONG, any_pause, &got, &at));
		for (uint16_t w = 0; w < 3; w++) {
			CU_ASSERT_EQUAL(run->worker[w].race->n_f, at);
			CU_ASSERT_EQUAL(run->worker[w].race->n_b, at);
			CU_ASSERT_EQUAL(run->weights[w].latest, at);
		}
	}
	rig_delays(0, 0);
#ifdef MR_FAULTS
	CU_ASSERT_TRUE(pauses > 1);
#endif
	CU_ASSERT_EQUAL(got.n_steps, LONG);
	rig_collect(&r, false, &got);
	MR_CHECK_OK(mr_record_plan(mr_executor_run_of(&r.s.executor), &record));
	race_replay(&r, record, LONG, 0, &again);
	CU_ASSERT_TRUE(rig_equal(&again, &got, true, "race with pauses"));
	mr_plan_destroy(record);
	rig_result_fini(&got);
	rig_result_fini(&again);
	rig_fini(&r);
}

/* A state saved at a pause is weights alone; who goes on from it races on, and has no record of the whole. */
static void restored(void)
{
	const char *sets = "system.in_flight=4 train.microbatches=2 train.batch=4";
	rig_result saved = {0}, end = {0};
	mr_plan *record;
	mr_state st;
	rig r;

	race_open(&r, false, sets, 3, RACE_MICRO);
	rig_run(&r, 5, &saved);
	rig_collect(&r, false, &saved);
	rig_fini(&r);
	race_open(&r, false, sets, 3, RACE_MICRO);
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, 5));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, &saved));
	mr_state_fini(&st);
	rig_run(&r, 9, &end);
	rig_collect(&r, true, &end);
	CU_ASSERT_EQUAL(end.n_steps, 4);
	CU_ASSERT_EQUAL(end.step[3].step, 9);
	CU_ASSERT_TRUE(isfinite(end.eval));
	MR_CHECK_FAIL(mr_record_plan(mr_executor_run_of(&r.s.executor), &record), MR_EINVAL, "from the start");
	rig_result_fini(&saved);
	rig_result_fini(&end);
	rig_fini(&r);
}

void mr_suite_race(void)
{
	MR_SUITE("race");
	MR_TEST(mlp);
	MR_TEST(gpt);
	MR_TEST(asked_for);
	MR_TEST(restored);
}
