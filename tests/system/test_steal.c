/*
 * test_steal.c - W that any worker may take: the one that does, under random delays, weights and losses are to the bit
 * those of the same system with every W at home, and of sequential; and the record of who took what is a plan that
 * gives them again.
 */
#include "check.h"
#include "lower/check.h"
#include "race_cases.h"
#include "replay/record.h"
#include "weights/steal_queue.h"

#define STEPS 4
#ifdef __SANITIZE_THREAD__
#define RUNS 2 /* each takes twenty times as long */
#else
#define RUNS 4
#endif
#define MICRO 8

static uint64_t n_stolen, n_moved;

static void open_case(rig *r, bool gpt, const char *sets, const char *system, unsigned workers)
{
	rig_init(r);
	if (gpt)
		rig_gpt(r);
	rig_set(r, "train.microbatches=%d", MICRO);
	rig_set(r, "train.batch=%d", 2 * MICRO);
	rig_sets(r, sets);
	rig_sets(r, system);
	rig_set(r, "machine.workers=%u", workers);
	rig_open(r);
}

/* The same arithmetic without any of it. */
static void train_plain(bool gpt, const char *sets, const char *system, unsigned workers, rig_result *out)
{
	rig r;

	open_case(&r, gpt, sets, system, workers);
	rig_train(&r, STEPS, false, out);
	rig_fini(&r);
}

/* One run with steals; every other one pauses and evaluates on the way. Returns its record. */
static mr_plan *steal(rig *r, uint32_t i, rig_result *out)
{
	mr_run *run = mr_executor_run_of(&r->s.executor);
	mr_plan *record, *read;
	double loss;

	out->n_steps = 0;
	rig_delays(300, i + 1);
	if (i % 2) {
		rig_run(r, STEPS / 2, out);
		MR_CHECK_OK(mr_executor_eval(&r->s.executor, NULL, NULL, &loss));
	}
	rig_run(r, STEPS, out);
	rig_delays(0, 0);
	rig_collect(r, false, out);
	for (uint16_t w = 0; w < run->n_workers; w++) {
		n_stolen += run->worker[w].steal_queue->n_stolen;
		n_moved += run->worker[w].steal_queue->n_log;
	}
	MR_CHECK_OK(mr_record_plan(run, &record));
	CU_ASSERT_EQUAL(record->commits, STEPS);
	CU_ASSERT_EQUAL(mr_plan_list(record, 0, MR_BODY)->n, 0);
	read = race_through_text(record);
	mr_plan_destroy(record);
	MR_CHECK_OK(mr_plan_check(read));
	return read;
}

static void check(bool gpt, const char *sets, const char *system, unsigned workers, uint32_t runs)
{
	rig_result plain = {0}, got = {0}, again = {0};
	char what[300];
	rig r;

	train_plain(gpt, sets, system, workers, &plain);
	snprintf(what, sizeof(what), "%s system.steal=true", system);
	open_case(&r, gpt, sets, what, workers);
	CU_ASSERT_TRUE_FATAL(r.s.plan->contract.steal);
	MR_CHECK_OK(mr_session_start(&r.s, &(mr_session_opts){.record_micro = STEPS * MICRO}));
	for (uint32_t i = 0; i < runs; i++) {
		mr_plan *record;

		if (i > 0)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		record = steal(&r, i, &got);
		snprintf(what, sizeof(what), "run %u of %s %s with steals, %u workers", i, system, sets, workers);
		CU_ASSERT_FATAL(rig_equal(&got, &plain, true, what));
		race_replay(&r, record, STEPS, i, &again);
		CU_ASSERT_FATAL(rig_equal(&again, &plain, true, what));
		if (i == 0) {
			race_run_again(&r, record, STEPS, i, &again);
			CU_ASSERT_FATAL(rig_equal(&again, &plain, true, what));
		}
		mr_plan_destroy(record);
	}
	rig_result_fini(&plain);
	rig_result_fini(&got);
	rig_result_fini(&again);
	rig_fini(&r);
}

/*
 * Of this many runs with delays some must have seen steals, or nothing is shown. How many is a matter of timing; that
 * steals change nothing whatever was taken, chosen() shows without it.
 */
static void some_were_stolen(void)
{
#ifdef MR_FAULTS
	CU_ASSERT_TRUE(n_stolen >= 1);
	CU_ASSERT_TRUE(n_moved >= n_stolen);
#endif
	n_stolen = n_moved = 0;
}

static void one_stage_a_worker(void)
{
	for (unsigned d = 2; d <= 4; d++) {
		check(false, "model.depth=11", "system.name=zb_h1", d, RUNS);
		check(false, "model.depth=11 precision=f32", "system.name=zb_h2", d, RUNS);
	}
	check(false, "model.depth=11 train.clip=0.5", "system.name=zb_h2", 3, RUNS);
	some_were_stolen();
}

static void several_stages_a_worker(void)
{
	check(false, "model.depth=15 precision=f32", "system.name=interleaved_zb", 2, RUNS);
	check(false, "model.depth=15", "system.name=zb_v", 3, RUNS);
	check(false, "model.depth=15 train.clip=0.5", "system.name=v_min", 3, RUNS);
	check(false, "model.depth=15", "system.name=interleaved_zb", 4, RUNS);
	some_were_stolen();
}

static void merged(void)
{
	check(false, "model.depth=11", "system.name=1f1b system.merge_w=2", 3, RUNS);
	check(false, "model.depth=11 precision=f32", "system.name=1f1b system.merge_w=3", 2, RUNS);
}

static void gpt(void)
{
	check(true, "precision=f32 model.dropout=0.1", "system.name=zb_h2", 2, RUNS);
	check(true, "model.tied=true", "system.name=zb_v", 2, RUNS);
}

/* Every other W of a tail goes to the worker before, there right behind the last W of its own. */
static mr_plan *move_some(const mr_plan *p)
{
	mr_steal move[256];
	mr_plan *out;
	size_t n = 0;

	for (uint16_t thief = 0; thief + 1 < p->n_workers; thief++)
		for (uint32_t k = 0; k < STEPS; k++) {
			uint16_t owner = (uint16_t)(thief + 1);
			const mr_list *l = mr_plan_list(p, owner, MR_BODY), *own = mr_plan_list(p, thief, MR_BODY);
			uint32_t to = own->n, seen = 0;

			while (!(own->at[to - 1].flags & MR_INSTR_ANY))
				to--;
			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].flags & MR_INSTR_ANY && seen++ % 2 == 0) {
					CU_ASSERT_FATAL(n < sizeof(move) / sizeof(move[0]));
					move[n++] = (mr_steal){k, owner, thief, i, to};
				}
		}
	CU_ASSERT_TRUE_FATAL(n >= STEPS);
	MR_CHECK_OK(mr_steal_plan(p, STEPS, move, n, &out));
	MR_CHECK_OK(mr_plan_check(out));
	return out;
}

static void chosen_case(const char *sets, const char *system, unsigned workers)
{
	rig_result plain = {0}, got = {0};
	char text[200];
	mr_plan *moved;
	rig r;

	train_plain(false, sets, system, workers, &plain);
	snprintf(text, sizeof(text), "%s system.steal=true", system);
	open_case(&r, false, sets, text, workers);
	moved = move_some(r.s.plan);
	for (uint32_t i = 0; i < 3; i++) {
		race_replay(&r, moved, STEPS, i, &got);
		CU_ASSERT_FATAL(rig_equal(&got, &plain, true, text));
	}
	race_run_again(&r, moved, STEPS, 7, &got);
	CU_ASSERT_FATAL(rig_equal(&got, &plain, true, text));
	mr_plan_destroy(moved);
	rig_result_fini(&plain);
	rig_result_fini(&got);
	rig_fini(&r);
}

/* Moves that do not depend on any clock, also of the first W of a sum and of several micro-batches at once. */
static void chosen(void)
{
	chosen_case("model.depth=11", "system.name=1f1b system.merge_w=2", 3);
	chosen_case("model.depth=11 precision=f32", "system.name=1f1b system.merge_w=8", 2);
	chosen_case("model.depth=11 train.clip=0.5", "system.name=zb_h2", 4);
	chosen_case("model.depth=15 precision=f32", "system.name=zb_v", 2);
	if (mr_kernels_find("auto", MR_F32))
		chosen_case("model.depth=11 precision=f32 backend=auto", "system.name=interleaved_zb", 2);
}

static void like_sequential(void)
{
	rig_result one = {0}, many = {0};
	rig r;

	open_case(&r, false, "model.depth=11 precision=f32", "system.name=sequential", 1);
	rig_train(&r, STEPS, true, &one);
	rig_fini(&r);
	open_case(&r, false, "model.depth=11 precision=f32", "system.name=zb_h2 system.steal=true", 3);
	rig_start(&r);
	rig_delays(300, 5);
	rig_run(&r, STEPS, &many);
	rig_delays(0, 0);
	rig_collect(&r, true, &many);
	CU_ASSERT_TRUE(rig_equal(&many, &one, false, "steals against sequential"));
	rig_result_fini(&one);
	rig_result_fini(&many);
	rig_fini(&r);
}

/* A record is of the whole run, and only of one that was to be recorded. */
static void no_record(void)
{
	mr_plan *record;
	rig r;

	open_case(&r, false, "model.depth=5", "system.name=zb_h1 system.steal=true", 2);
	rig_start(&r);
	MR_CHECK_FAIL(mr_record_plan(mr_executor_run_of(&r.s.executor), &record), MR_EINVAL,
		      "only when that is asked for");
	rig_fini(&r);
	open_case(&r, false, "model.depth=5", "system.name=zb_h1 system.steal=true", 2);
	MR_CHECK_OK(mr_session_start(&r.s, &(mr_session_opts){.record_micro = 2 * MICRO}));
	rig_run(&r, 3, NULL);
	MR_CHECK_FAIL(mr_record_plan(mr_executor_run_of(&r.s.executor), &record), MR_EINVAL, "24 are done");
	rig_fini(&r);
	open_case(&r, false, "model.depth=5", "system.name=zb_h1 system.steal=true", 2);
	MR_CHECK_OK(mr_session_start(&r.s, &(mr_session_opts){.record_micro = 9 * MICRO}));
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, 2));
	rig_run(&r, 3, NULL);
	MR_CHECK_FAIL(mr_record_plan(mr_executor_run_of(&r.s.executor), &record), MR_EINVAL, "not all by this run");
	rig_fini(&r);
}

void mr_suite_steal(void)
{
	MR_SUITE("steal");
	MR_TEST(one_stage_a_worker);
	MR_TEST(several_stages_a_worker);
	MR_TEST(merged);
	MR_TEST(gpt);
	MR_TEST(chosen);
	MR_TEST(like_sequential);
	MR_TEST(no_record);
}
