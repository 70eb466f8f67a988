/*
 * slow_stop.c - a stop that the caller asks for at step k comes at step k + lag, in every system, every time, whatever
 * the timing: under random delays 20 runs end at the same step with the same weights.
 */
#include <string.h>

#include "check.h"
#include "exec/run_plan.h"
#include "rig.h"
#include "schedules/registry.h"

#define RUNS (RIG_SANITIZED ? 4u : 20u)
#define BLOCKS "model.depth=7 model.width=8 precision=f32 train.batch=8 "

typedef struct asked {
	uint64_t at;      /* step for which to stop */
	uint64_t last;    /* of which it was told */
} asked;

static bool ask(void *arg, const mr_step_rec *rec)
{
	asked *a = arg;

	if (!rec)
		return true;
	CU_ASSERT_EQUAL(rec->step, a->last + 1);
	a->last = rec->step;
	return rec->step < a->at;
}

/* Open @system with the first number of workers and micro-batches that it takes. */
static bool open_system(rig *r, const char *system, const char *more)
{
	static const char *const sizes[] = {"machine.workers=4 train.microbatches=4",
					    "machine.workers=2 train.microbatches=4",
					    "machine.workers=2 train.microbatches=1",
					    "machine.workers=3 train.microbatches=1",
					    "machine.workers=4 train.microbatches=8"};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		rig_init(r);
		rig_sets(r, BLOCKS);
		rig_set(r, "system.name=%s", system);
		rig_sets(r, sizes[i]);
		rig_sets(r, more);
		if (rig_try_open(r) == MR_OK)
			return true;
		rig_fini(r);
	}
	return false;
}

static void stop_in(const char *system, const char *more, bool races)
{
	uint32_t runs = *more ? 4 : RUNS;
	uint64_t want = 0, lag, each, end;
	rig_result first = {0}, got = {0};
	char what[200];
	rig r;

	if (!open_system(&r, system, more)) {
		fprintf(stderr, "\n%s%s takes none of the sizes: %s\n", system, more, mr_error_text());
		CU_ASSERT_FATAL(*more != '\0'); /* it may refuse what is asked for besides */
		return;
	}
	rig_start(&r);
	mr_engine_obey(r.s.executor.engine, true);
	lag = mr_engine_lag(r.s.executor.engine);
	each = mr_plan_stride(r.s.plan);
	CU_ASSERT_EQUAL(lag, r.s.plan->contract.flush == MR_FLUSH_NONE && each == 1 ? MR_ENGINE_LAG : 0);
	end = mr_run_last_step(r.s.plan) < 1000 ? mr_run_last_step(r.s.plan) : 1000;
	CU_ASSERT_FATAL(end > 12);
	want = (6 + lag + each - 1) / each * each;
	for (uint32_t i = 0; i < runs; i++) {
		asked a = {.at = 6};
		uint64_t reached;

		snprintf(what, sizeof(what), "%s %s, run %u", system, more, i);
		if (i)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		rig_delays(i % 4 ? 300 : 0, i + 1);
		MR_CHECK_OK(mr_executor_run(&r.s.executor, end / each * each, ask, &a, &reached));
		rig_delays(0, 0);
		if (reached != want || a.last != want)
			fprintf(stderr, "\n%s: it stands at %llu and told of %llu, expected %llu\n", what,
				(unsigned long long)reached, (unsigned long long)a.last, (unsigned long long)want);
		CU_ASSERT_EQUAL(reached, want);
		CU_ASSERT_EQUAL(a.last, want);
		rig_collect(&r, false, i ? &got : &first);
		if (i && !races)
			CU_ASSERT_TRUE(rig_equal(&got, &first, true, what));
	}
	rig_result_fini(&first);
	rig_result_fini(&got);
	rig_fini(&r);
}

/* Every system, and what changes when records are known: clipping, norms, validation. */
static void in_every_system(void)
{
	const mr_sched_ops *ops;
	size_t n = 0;

	for (; (ops = mr_schedule_at(n)); n++) {
		stop_in(ops->name, "", false);
		stop_in(ops->name, " train.clip=0.1", false);
		stop_in(ops->name, " train.norm_every=2", false);
	}
	CU_ASSERT_TRUE(n > 30);
	stop_in("ampnet", " system.order=racing", true);
}

/* The stops of a run that goes on in parts, each one step further, are those of the steps themselves; asked for at the
 * last step it ends there. */
static void again_and_again(void)
{
	uint64_t reached = 0;
	rig r;

	CU_ASSERT_FATAL(open_system(&r, "1f1b", ""));
	rig_start(&r);
	mr_engine_obey(r.s.executor.engine, true);
	for (uint64_t step = 1; step <= 30; step++) {
		asked a = {.at = step, .last = step - 1};

		MR_CHECK_OK(mr_executor_run(&r.s.executor, 30, ask, &a, &reached));
		CU_ASSERT_EQUAL(reached, step);
	}
	rig_fini(&r);
}

void mr_suite_stop(void);

void mr_suite_stop(void)
{
	MR_SUITE("stop");
	MR_TEST(in_every_system);
	MR_TEST(again_and_again);
}
