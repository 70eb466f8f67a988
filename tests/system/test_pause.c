/*
 * test_pause.c - where an engine stops: at the step asked for, however late a worker reports; where the caller asks for
 * a pause; and at the first error, with one message. None of it changes a number.
 */
#include <string.h>

#include "base/fault.h"
#include "check.h"
#include "rig.h"

static void open_pipedream(rig *r, const char *sets)
{
	rig_init(r);
	rig_sets(r, "system.name=pipedream train.batch=2 train.microbatches=1");
	rig_sets(r, sets);
	rig_open(r);
	rig_start(r);
}

#ifdef MR_FAULTS

/* A seed whose only delay among the first @n[w] instructions of each worker is one of over 120 ms at worker 0's end. */
static uint64_t late_report(const uint64_t n[2])
{
	for (uint64_t seed = 1; seed < 1000000; seed++) {
		bool good;

		mr_fault_set_delay(200000, 64, seed);
		good = mr_fault_delay_ns(0, n[0]) > 120000000 && !mr_fault_delay_ns(1, n[1]);
		for (int w = 0; w < 2; w++)
			for (uint64_t i = 0; i < n[w] && good; i++)
				good = !mr_fault_delay_ns((uint32_t)w, i);
		if (good)
			return seed;
	}
	return 0;
}

/*
 * The caller looks every 100 ms; a worker that has done its last iteration and not said so must not move the others on.
 */
static void late(void)
{
	uint64_t n[2], reached, seed;
	mr_engine *e;
	rig r;

	open_pipedream(&r, "machine.workers=2");
	e = r.s.executor.engine;
	rig_run(&r, 3, NULL);
	for (int w = 0; w < 2; w++)
		n[w] = mr_engine_run_of(e)->worker[w].n_done;
	MR_CHECK_OK(mr_engine_restart(e));
	seed = late_report(n);
	CU_ASSERT_FATAL(seed > 0);
	mr_fault_set_delay(200000, 64, seed);
	MR_CHECK_OK(mr_engine_run(e, 3, NULL, NULL, &reached));
	mr_fault_set_delay(0, 0, 0);
	CU_ASSERT_EQUAL(reached, 3);
	CU_ASSERT_EQUAL(mr_engine_run_of(e)->weights[0].latest, 3);
	CU_ASSERT_EQUAL(mr_engine_run_of(e)->weights[1].latest, 3);
	rig_fini(&r);
}

static bool not_wanted(void *arg)
{
	++*(int *)arg;
	return false;
}

/* An evaluation that is not wanted any more ends early, in every executor; what was trained before and is trained after
 * it is the same as without it, and so is the next whole one. */
static void cut_short(void)
{
	static const char *const systems[] = {"system.name=1f1b", "system.name=pipedream train.microbatches=1",
					      "system.name=chimera machine.workers=4", "system.name=sequential"};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		rig_result want = {0}, got = {0};
		int asked = 0;
		rig r;

		rig_init(&r);
		rig_sets(&r, "data.samples=1000");
		rig_sets(&r, systems[i]);
		rig_open(&r);
		rig_train(&r, 6, true, &want);
		rig_fini(&r);
		rig_init(&r);
		rig_sets(&r, "data.samples=1000");
		rig_sets(&r, systems[i]);
		rig_open(&r);
		rig_start(&r);
		rig_run(&r, 3, &got);
		got.eval = -1;
		rig_delays(1000000, 5); /* the steering thread looks every 100 ms */
		MR_CHECK_FAIL(mr_executor_eval(&r.s.executor, not_wanted, &asked, &got.eval), MR_ESTOPPED, "stopped");
		rig_delays(0, 0);
		CU_ASSERT_EQUAL(asked, 1);
		CU_ASSERT_EQUAL(got.eval, -1);
		rig_run(&r, 6, &got);
		rig_collect(&r, true, &got);
		CU_ASSERT(rig_equal(&got, &want, true, systems[i]));
		rig_result_fini(&want);
		rig_result_fini(&got);
		rig_fini(&r);
	}
}

#else

static void late(void)
{
	CU_PASS("no fault points in this build");
}

static void cut_short(void)
{
	CU_PASS("no fault points in this build");
}

#endif

static bool for_so_long(void *arg)
{
	int *left = arg;

	return (*left)-- > 0;
}

/* An evaluation of a replay, which asks before each instruction, can end anywhere, and the next one is whole. */
static void replay_cut_short(void)
{
	double loss = -1, want;
	mr_run_config c;
	mr_replay *p;
	rig r;

	rig_init(&r);
	rig_sets(&r, "data.samples=1000 system.name=1f1b machine.workers=3");
	rig_open(&r);
	c = mr_session_run_config(&r.s, NULL);
	MR_CHECK_OK(mr_replay_create(&c, &p));
	MR_CHECK_OK(mr_replay_run(p, 2, MR_REPLAY_RANDOM, 1));
	MR_CHECK_OK(mr_replay_eval(p, NULL, NULL, &want));
	for (int n = 0; n < 12; n++) {
		int left = n;

		MR_CHECK_FAIL(mr_replay_eval(p, for_so_long, &left, &loss), MR_ESTOPPED, "stopped");
		CU_ASSERT_EQUAL(loss, -1);
	}
	MR_CHECK_OK(mr_replay_eval(p, NULL, NULL, &loss));
	CU_ASSERT_EQUAL(loss, want);
	mr_replay_destroy(p);
	rig_fini(&r);
}

static bool not_beyond(void *arg, const mr_step_rec *rec)
{
	return !rec || rec->step < *(uint64_t *)arg;
}

/* A pause that is asked for comes, all workers stand at one step, and going on from there changes nothing. */
static void asked_for(void)
{
	uint64_t end = 1500, at = 0;
	rig_result want = {0}, got = {0};
	rig r;

	open_pipedream(&r, "machine.workers=3 model.depth=2 model.width=4");
	rig_run(&r, end, NULL);
	rig_collect(&r, false, &want);
	MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
	for (uint64_t ask = 100; at < end; ask = at + 100) {
		const mr_run *run = mr_engine_run_of(r.s.executor.engine);

		MR_CHECK_OK(mr_engine_run(r.s.executor.engine, end, not_beyond, &ask, &at));
		CU_ASSERT_FATAL(at <= end && (at >= ask || at == end));
		for (uint16_t s = 0; s < run->n_stages; s++)
			CU_ASSERT_EQUAL_FATAL(run->weights[s].latest, at);
	}
	rig_collect(&r, false, &got);
	got.n_steps = want.n_steps = 0;
	CU_ASSERT(rig_equal(&got, &want, true, "paused on request"));
	rig_result_fini(&want);
	rig_result_fini(&got);
	rig_fini(&r);
}

/* A run that diverges stops everybody, names the micro-batch, and can be destroyed. */
static void diverges(void)
{
	static const char *const systems[] = {"system.name=pipedream train.microbatches=1 train.batch=1 train.clip=1e6",
					      "system.name=gpipe train.clip=1e6", "system.name=1f1b",
					      "system.name=sequential"};

	for (int i = 0; i < 4; i++) {
		uint64_t reached;
		rig r;

		rig_init(&r);
		rig_sets(&r, "machine.workers=3 optimizer.name=sgd optimizer.lr=1e6 model.activation=none "
			"precision=f32");
		rig_sets(&r, systems[i]);
		rig_open(&r);
		rig_start(&r);
		CU_ASSERT_EQUAL_FATAL(mr_executor_run(&r.s.executor, 500, NULL, NULL, &reached), MR_EDIVERGED);
		if (!strstr(mr_error_text(), "loss") && !strstr(mr_error_text(), "norm"))
			fprintf(stderr, "\n%s\n", mr_error_text());
		CU_ASSERT(strstr(mr_error_text(), "loss") || strstr(mr_error_text(), "norm"));
		if (r.s.executor.engine)
			MR_CHECK_FAIL(mr_executor_run(&r.s.executor, 501, NULL, NULL, &reached), MR_EINVAL,
				      "stopped after an error");
		rig_fini(&r);
	}
}

/* Of several errors the first one is the run's: what follows from it, or happens to come too, does not hide it. */
static void first_error_wins(void)
{
	uint64_t reached;
	rig r;

	rig_init(&r);
	rig_open(&r);
	rig_start(&r);
	mr_run_fail(mr_executor_run_of(&r.s.executor), mr_fail(MR_EDATA, "the first"));
	mr_run_fail(mr_executor_run_of(&r.s.executor), mr_fail(MR_EIO, "the second"));
	MR_CHECK_FAIL(mr_executor_run(&r.s.executor, 5, NULL, NULL, &reached), MR_EDATA, "the first");
	rig_fini(&r);
}

void mr_suite_pause(void)
{
	MR_SUITE("pause");
	MR_TEST(late);
	MR_TEST(asked_for);
	MR_TEST(cut_short);
	MR_TEST(replay_cut_short);
	MR_TEST(diverges);
	MR_TEST(first_error_wins);
}
