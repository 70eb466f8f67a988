/*
 * test_record.c - the record of a race, made of logs that are written by hand: the plan has the order that was taken,
 * and a log that cannot be true is refused.
 */
#include "replay/record.h"

#include <string.h>

#include "check.h"
#include "exec/features/race.h"
#include "lower/small_plans.h"
#include "exec/small_run.h"

/* Two workers that race, with room to record @micro micro-batches. */
static void open_race(small_run *r, uint64_t micro)
{
	mr_plan *p = small_accumulate(2, 1);

	p->contract.racing = true;
	small_run_init(r, p);
	r->c.record_micro = micro;
	small_run_start(r);
}

/* Worker @w has done what @order says, such as "F0 F0 B0": F or B and the version read. */
static void did(small_run *r, uint16_t w, const char *order)
{
	mr_race *race = r->run->worker[w].race;

	for (const char *c = order; *c; c += c[2] ? 3 : 2) {
		mr_race_note(race, c[0] == 'F' ? MR_OP_F : MR_OP_B, (uint64_t)(c[1] - '0'));
		race->n_f += c[0] == 'F';
		race->n_b += c[0] == 'B';
	}
}

static void expect_list(const mr_plan *p, uint16_t w, const char *order)
{
	const mr_list *l = mr_plan_list(p, w, MR_PROLOGUE);
	uint32_t n[MR_N_OPS] = {0}, i = 0;

	for (const char *c = order; *c; c += c[2] ? 3 : 2) {
		uint8_t op = c[0] == 'F' ? MR_OP_F : MR_OP_B;

		while (i < l->n && l->at[i].op != MR_OP_F && l->at[i].op != MR_OP_B)
			i++;
		CU_ASSERT_FATAL(i < l->n);
		CU_ASSERT_EQUAL(l->at[i].op, op);
		CU_ASSERT_EQUAL(l->at[i].micro, n[op]);
		CU_ASSERT_EQUAL(l->at[i].read, c[1] - '0');
		n[op]++;
		i++;
	}
}

static void a_record_has_the_order_that_was_taken(void)
{
	static const char first[] = "F0 F0 B0 F1 B1 B2", last[] = "F0 B0 F1 B1 F2 B2";
	mr_plan *record;
	small_run r;

	open_race(&r, 3);
	did(&r, 0, first);
	did(&r, 1, last);
	MR_CHECK_OK(mr_record_plan(r.run, &record));
	CU_ASSERT_FALSE(record->contract.racing);
	CU_ASSERT_EQUAL(record->n_micro, 3);
	CU_ASSERT_EQUAL(record->commits, 3);
	expect_list(record, 0, first);
	expect_list(record, 1, last);
	mr_plan_destroy(record);
	/* Another race, another order. */
	MR_CHECK_OK(mr_run_reset(r.run));
	did(&r, 0, "F0 B0 F1 B1");
	did(&r, 1, "F0 B0 F1 B1");
	MR_CHECK_OK(mr_record_plan(r.run, &record));
	CU_ASSERT_EQUAL(record->n_micro, 2);
	expect_list(record, 0, "F0 B0 F1 B1");
	mr_plan_destroy(record);
	small_run_fini(&r);
}

static void logs_that_cannot_be_true_are_refused(void)
{
	mr_plan *record;
	small_run r;

	open_race(&r, 2);
	did(&r, 0, "F0 F0 B0 B0"); /* B of the second comes behind the first commit */
	did(&r, 1, "F0 B0 F1 B1");
	MR_CHECK_FAIL(mr_record_plan(r.run, &record), MR_EINVAL,
		      "worker 0: B of micro-batch 1 read version 0, and its place in the order says 1");
	MR_CHECK_OK(mr_run_reset(r.run));
	did(&r, 0, "F0 F1 B0 B1"); /* F of the second comes before the first commit */
	did(&r, 1, "F0 B0 F1 B1");
	MR_CHECK_FAIL(mr_record_plan(r.run, &record), MR_EINVAL,
		      "worker 0: F of micro-batch 1 read version 1, and its place in the order says 0");
	small_run_fini(&r);
}

static void only_what_was_asked_for_is_recorded(void)
{
	mr_plan *record;
	small_run r;

	open_race(&r, 0);
	did(&r, 0, "F0 B0");
	did(&r, 1, "F0 B0");
	MR_CHECK_FAIL(mr_record_plan(r.run, &record), MR_EINVAL, "only when that is asked for before it begins");
	small_run_fini(&r);
	open_race(&r, 1); /* more than there is room for */
	did(&r, 0, "F0 B0 F1 B1");
	did(&r, 1, "F0 B0 F1 B1");
	MR_CHECK_FAIL(mr_record_plan(r.run, &record), MR_EINVAL, "worker 0 did 4 instructions and recorded 2 of them");
	small_run_fini(&r);
	small_run_init(&r, small_1f1b(2, 2)); /* no race */
	r.c.record_micro = 4;
	small_run_start(&r);
	MR_CHECK_FAIL(mr_record_plan(r.run, &record), MR_EINVAL, "only the order of a racing plan");
	small_run_fini(&r);
}

void mr_suite_record(void)
{
	MR_SUITE("record");
	MR_TEST(a_record_has_the_order_that_was_taken);
	MR_TEST(logs_that_cannot_be_true_are_refused);
	MR_TEST(only_what_was_asked_for_is_recorded);
}
