/*
 * test_version_waits.c - what holds versions together where several workers or micro-batches share one, each against a
 * run that does not share: copies after a restoration, a part that is late with its step, the norm of a sum, the age of
 * one.
 */
#include <string.h>
#include <time.h>

#include "check.h"
#include "rig.h"

static void open_case(rig *r, const char *sets)
{
	rig_init(r);
	rig_sets(r, sets);
	rig_open(r);
}

static void run_to(const char *sets, uint64_t steps, rig_result *out)
{
	rig r;

	open_case(&r, sets);
	rig_train(&r, steps, true, out);
	rig_fini(&r);
}

/* Each pipe has a copy of the weights: all of them are those that were restored, not only the first. */
static void copies_are_restored(void)
{
	static const char *const cases[] = {
		"system.name=chimera system.weights=private machine.workers=2",
		"system.name=data_parallel system.weights=private machine.workers=3 train.batch=12 "
		"train.microbatches=6",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_result want = {0}, saved = {0}, got = {0};
		mr_state st;
		rig r;

		run_to(cases[i], 6, &want);
		run_to(cases[i], 3, &saved);
		open_case(&r, cases[i]);
		rig_start(&r);
		rig_run(&r, 1, NULL);
		MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, 3));
		MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
		CU_ASSERT_FATAL(rig_fill(&st, &saved));
		mr_state_fini(&st);
		rig_run(&r, 6, NULL);
		rig_collect(&r, true, &got);
		CU_ASSERT_TRUE(rig_equal_weights(&got, &want, cases[i]));
		CU_ASSERT_EQUAL(got.eval, want.eval);
		rig_fini(&r);
		rig_result_fini(&want);
		rig_result_fini(&saved);
		rig_result_fini(&got);
	}
}

/* The last part of a stage to reduce dawdles before it steps. */
static void dawdle(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	const uint8_t *slow = arg;

	(void)run, (void)micro, (void)version;
	if (in->op == MR_OP_AR && in->pipe == *slow)
		nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
}

/* While the pipeline drains one B follows the other: it must not sum over what another part has yet to step with. */
static void parts_wait_for_each_other(void)
{
	static const char sets[] =
		"system.name=pipedream system.replicas=[2,1] system.drain=8 machine.workers=3 train.microbatches=2 "
		"train.steps=40";

	for (uint8_t slow = 0; slow < 2; slow++) {
		mr_session_opts opts = {.observer = dawdle, .observer_arg = &slow};
		rig_result want = {0}, got = {0};
		rig r;

		open_case(&r, sets);
		rig_replay(&r, 8, MR_REPLAY_ROUND_ROBIN, 0, &want);
		MR_CHECK_OK(mr_session_start(&r.s, &opts));
		rig_run(&r, 8, &got);
		rig_collect(&r, false, &got);
		CU_ASSERT_TRUE(rig_equal(&got, &want, true, "a part that is late with its step"));
		rig_fini(&r);
		rig_result_fini(&want);
		rig_result_fini(&got);
	}
}

/* A stage's own norm is that of the mean gradient: with one stage it is the global one. */
static void norms_are_of_the_mean(void)
{
	rig_result want = {0}, got = {0};

	run_to("system.name=sequential machine.workers=1 train.microbatches=4 train.clip=0.3", 6, &want);
	run_to("system.name=ampnet machine.workers=1 train.microbatches=4 train.clip=0.3", 6, &got);
	CU_ASSERT_TRUE(rig_equal_weights(&got, &want, "one stage that clips by its own norm"));
	rig_result_fini(&want);
	rig_result_fini(&got);
}

void mr_suite_version_waits(void);
void mr_suite_version_waits(void)
{
	MR_SUITE("version_waits");
	MR_TEST(copies_are_restored);
	MR_TEST(parts_wait_for_each_other);
	MR_TEST(norms_are_of_the_mean);
}
