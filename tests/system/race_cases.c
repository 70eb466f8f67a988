#include "race_cases.h"

#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "ir/text.h"
#include "rig.h"
#include "replay/record.h"

void race_open(rig *r, bool gpt, const char *sets, unsigned workers, uint64_t record)
{
	rig_init(r);
	if (gpt)
		rig_gpt(r);
	rig_set(r, "system.name=ampnet");
	rig_set(r, "system.order=racing");
	rig_sets(r, sets);
	rig_set(r, "machine.workers=%u", workers);
	rig_open(r);
	MR_CHECK_OK(mr_session_start(&r->s, &(mr_session_opts){.record_micro = record}));
}

mr_plan *race_through_text(const mr_plan *plan)
{
	mr_plan *again = NULL;
	mr_strbuf text = {0};

	MR_CHECK_OK(mr_text_print(plan, &text));
	MR_CHECK_OK(mr_text_read(mr_strbuf_text(&text), strlen(mr_strbuf_text(&text)), &again));
	CU_ASSERT_EQUAL_FATAL(mr_plan_hash(again), mr_plan_hash(plan));
	mr_strbuf_fini(&text);
	return again;
}

/* On one thread, in another order of the workers each time. */
void race_replay(const rig *r, const mr_plan *record, uint64_t steps, uint32_t i, rig_result *out)
{
	static const mr_replay_order orders[] = {MR_REPLAY_ROUND_ROBIN, MR_REPLAY_LAST_FIRST, MR_REPLAY_RANDOM};
	mr_run_config c = mr_session_run_config(&r->s, NULL);
	mr_replay *replay;

	c.plan = record;
	c.steady = r->s.plan;
	MR_CHECK_OK(mr_replay_create(&c, &replay));
	MR_CHECK_OK(mr_replay_run(replay, steps, orders[i % 3], i));
	rig_losses_of_run(mr_replay_run_of(replay), out);
	rig_collect_run(mr_replay_run_of(replay), out);
	mr_replay_destroy(replay);
}

void race_run_again(const rig *r, const mr_plan *record, uint64_t steps, uint32_t i, rig_result *out)
{
	mr_run_config c = mr_session_run_config(&r->s, NULL);
	uint64_t reached;
	mr_engine *e;

	c.plan = record;
	c.steady = r->s.plan;
	out->n_steps = 0;
	MR_CHECK_OK(mr_engine_create(&c, 60, &e));
	rig_delays(200, 1000 + i);
	MR_CHECK_OK(mr_engine_run(e, steps / 2, rig_progress, out, &reached));
	MR_CHECK_OK(mr_engine_run(e, steps, rig_progress, out, &reached));
	rig_delays(0, 0);
	MR_CHECK_FAIL(mr_engine_run(e, steps + 1, NULL, NULL, &reached), MR_ECONFIG, "the plan ends after");
	rig_collect_run(mr_engine_run_of(e), out);
	mr_engine_destroy(e);
}

/* One race; half of them pause and evaluate on the way, which empties the pipeline. Returns the record. */
static mr_plan *race(rig *r, uint64_t steps, uint32_t i, rig_result *out)
{
	mr_plan *record = NULL, *read;
	double loss;

	out->n_steps = 0;
	rig_delays(200, i + 1);
	if (i % 2) {
		rig_run(r, steps / 3, out);
		MR_CHECK_OK(mr_executor_eval(&r->s.executor, NULL, NULL, &loss));
	}
	rig_run(r, steps, out);
	rig_delays(0, 0);
	rig_collect(r, false, out);
	CU_ASSERT_EQUAL(out->inflight.n, 0);
	MR_CHECK_OK(mr_record_plan(mr_executor_run_of(&r->s.executor), &record));
	CU_ASSERT_EQUAL(record->commits, steps);
	CU_ASSERT_EQUAL(mr_plan_list(record, 0, MR_BODY)->n, 0);
	read = race_through_text(record);
	mr_plan_destroy(record);
	MR_CHECK_OK(mr_plan_check(read));
	return read;
}

static void check(bool gpt, const char *sets, unsigned workers, uint32_t runs)
{
	rig_result raced = {0}, again = {0};
	uint64_t hash[RACE_RUNS], steps;
	uint32_t distinct = 0;
	char what[200];
	rig r;

	CU_ASSERT_FATAL(runs <= RACE_RUNS);
	race_open(&r, gpt, sets, workers, RACE_MICRO);
	CU_ASSERT_TRUE_FATAL(r.s.plan->contract.racing);
	steps = RACE_MICRO / r.s.n_micro;
	for (uint32_t i = 0; i < runs; i++) {
		mr_plan *record;

		if (i > 0)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		record = race(&r, steps, i, &raced);
		snprintf(what, sizeof(what), "record of race %u, %s, %u workers", i, sets, workers);
		race_replay(&r, record, steps, i, &again);
		CU_ASSERT_FATAL(rig_equal(&again, &raced, true, what));
		if (i % 4 < 2) {
			race_run_again(&r, record, steps, i, &again);
			CU_ASSERT_FATAL(rig_equal(&again, &raced, true, what));
		}
		hash[i] = mr_plan_hash(record);
		distinct++;
		for (uint32_t k = 0; k < i; k++)
			if (hash[k] == hash[i]) {
				distinct--;
				break;
			}
		mr_plan_destroy(record);
	}
#ifdef MR_FAULTS
	CU_ASSERT_TRUE(distinct > 1); /* else it would be no race */
#else
	(void)distinct;
#endif
	rig_result_fini(&raced);
	rig_result_fini(&again);
	rig_fini(&r);
}

void races_mlp(uint32_t runs)
{
	for (unsigned d = 2; d <= 4; d++)
		check(false, "model.depth=15 precision=f32 system.in_flight=5 train.microbatches=2 train.batch=4",
			d, runs);
	check(false, "model.depth=7 system.in_flight=3 train.microbatches=1 train.batch=2 train.clip=0.1", 3, runs);
}

void races_gpt(uint32_t runs)
{
	for (unsigned d = 2; d <= 4; d++)
		check(true, "precision=f32 model.dropout=0.1 system.in_flight=4 train.microbatches=3 train.batch=3", d,
		      runs);
}
