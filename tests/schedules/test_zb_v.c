/* zb_v beyond its recorded orders: costs of stages, and what it refuses. */
#include "check.h"
#include "ir/plan.h"
#include "sched_help.h"

static uint64_t order_for(const mr_cost *costs)
{
	const mr_sched_ops *ops = mr_schedule_find("zb_v");
	mr_plan *plan = NULL;
	mr_values *v = NULL;
	uint64_t hash;

	MR_CHECK_OK(mr_values_create(ops->options, &v));
	MR_CHECK_OK(mr_values_set_text(v, "order", "greedy"));
	MR_CHECK_OK(mr_schedule_emit(ops, &(mr_sched_args){.n_workers = 2, .n_micro = 8, .options = v, .costs = costs},
				     &plan));
	hash = mr_plan_hash(plan);
	mr_plan_destroy(plan);
	mr_values_destroy(v);
	return hash;
}

/* Uneven stages are ordered for their mean; a row for all is a worker's share, two chunks of half its cost. */
static void zb_v_takes_the_mean(void)
{
	mr_stage_cost even = {.f = 2, .i = 6, .w = 4, .c = 1}, uneven[4];

	for (unsigned s = 0; s < 4; s++)
		uneven[s] = (mr_stage_cost){.f = s < 2 ? 0.5 : 1.5, .i = s, .w = s % 2 ? 1 : 3, .c = 1};
	uneven[0].i = 6;
	CU_ASSERT(order_for(&(mr_cost){4, uneven}) == order_for(&(mr_cost){1, &even}));
	CU_ASSERT(order_for(&(mr_cost){1, &even}) != order_for(NULL));
}

static void zb_v_refuses(void)
{
	sched_case costs_by_hand = {
		.ops = mr_schedule_find("zb_v"), .n_workers = 2, .n_micro = 4, .option = "costs", .value = "1,1,1"};
	mr_stage_cost stage[3] = {{.f = 1}, {.f = 1}, {.f = 1}};
	mr_plan *plan = NULL;
	mr_values *v = NULL;

	CU_ASSERT_PTR_NULL(sched_try_emit(&costs_by_hand));
	CU_ASSERT_STRING_EQUAL(mr_error_text(),
			       "zb_v: costs: has no effect with order = hand; it is for order = greedy");
	MR_CHECK_FAIL(
		mr_schedule_emit(costs_by_hand.ops, &(mr_sched_args){.n_workers = 2, .n_micro = 4, .chunks = 4}, &plan),
		MR_ECONFIG, "chunks must be 2, got 4");
	MR_CHECK_OK(mr_values_create(costs_by_hand.ops->options, &v));
	MR_CHECK_OK(mr_values_set_text(v, "order", "greedy"));
	MR_CHECK_FAIL(
		mr_schedule_emit(
			costs_by_hand.ops,
			&(mr_sched_args){.n_workers = 2, .n_micro = 4, .options = v, .costs = &(mr_cost){3, stage}},
			&plan),
		MR_ECONFIG, "zb_v: the cost table has 3 stages, the plan 4");
	mr_values_destroy(v);
}

void mr_suite_zb_v(void); /* the runner declares it too */

void mr_suite_zb_v(void)
{
	MR_SUITE("zb_v");
	MR_TEST(zb_v_takes_the_mean);
	MR_TEST(zb_v_refuses);
}
