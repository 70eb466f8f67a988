/* zb_auto: what holds for any costs and any memory. */
#include <math.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "sched_help.h"

static mr_plan *ordered(uint16_t d, uint32_t t, const char *cap, const mr_cost *costs)
{
	const mr_sched_ops *ops = mr_schedule_find("zb_auto");
	mr_values *v = NULL;
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_values_create(ops->options, &v));
	MR_CHECK_OK(mr_values_set_text(v, "cap", cap));
	MR_CHECK_OK(mr_schedule_emit(ops, &(mr_sched_args){.n_workers = d, .n_micro = t, .options = v, .costs = costs},
				     &plan));
	mr_values_destroy(v);
	return plan;
}

/* The most forwards that a worker holds when I gives back one half and W the other. */
static double most_held(const mr_plan *plan)
{
	double most = 0;

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *list = mr_plan_list(plan, w, MR_BODY);
		double held = 0;

		for (uint32_t k = 0; k < list->n; k++) {
			if (list->at[k].op == MR_OP_F || list->at[k].op == MR_OP_I || list->at[k].op == MR_OP_W)
				held += list->at[k].op == MR_OP_F ? 1 : -0.5;
			most = fmax(most, held);
		}
	}
	return most;
}

static bool same_order(const mr_plan *a, const mr_plan *b)
{
	bool same = true;

	for (uint16_t w = 0; w < a->n_workers; w++) {
		const mr_list *x = mr_plan_list(a, w, MR_BODY), *y = mr_plan_list(b, w, MR_BODY);

		same = same && x->n == y->n;
		for (uint32_t k = 0; same && k < x->n; k++)
			same = x->at[k].op == y->at[k].op && x->at[k].micro == y->at[k].micro;
	}
	return same;
}

static void zb_auto_is_zb_h1_for_equal_costs(void)
{
	for (uint16_t d = 1; d <= 8; d++)
		for (uint32_t t = d + 1u; t <= 3u * d + 2; t++) {
			sched_case c = {.ops = mr_schedule_find("zb_h1"), .n_workers = d, .n_micro = t};
			mr_plan *a = ordered(d, t, "D", NULL), *b = sched_emit(&c);

			CU_ASSERT_TRUE(sched_blame(&c, same_order(a, b)));
			mr_plan_destroy(a);
			mr_plan_destroy(b);
		}
}

/* Stages of different cost, from a fixed sequence of numbers. */
static void zb_auto_keeps_any_cap(void)
{
	static const char *const caps[] = {"1", "1.5", "2", "D", "3.5", "2D", "none"};
	static const double most[] = {1, 1.5, 2, 0, 3.5, 0, INFINITY};
	uint32_t x = 1;

	for (uint16_t d = 1; d <= 6; d++)
		for (uint32_t t = 1; t <= 13; t += 3)
			for (unsigned k = 0; k < sizeof(caps) / sizeof(caps[0]); k++) {
				double cap = k == 3 ? d : k == 5 ? 2.0 * d : most[k];
				mr_stage_cost stage[6];
				mr_plan *plan;

				for (unsigned s = 0; s < 6; s++) {
					x = x * 1664525 + 1013904223;
					stage[s] = (mr_stage_cost){.f = 1 + (x >> 28),
								   .i = 1 + (x >> 24) % 16,
								   .w = (x >> 20) % 8,
								   .c = (x >> 16) % 3};
				}
				plan = ordered(d, t, caps[k], &(mr_cost){d, stage});
				CU_ASSERT(most_held(plan) <= cap);
				MR_CHECK_OK(mr_plan_lower(plan, NULL));
				MR_CHECK_OK(mr_plan_check(plan));
				mr_plan_destroy(plan);
			}
}

/* One row is a worker's share; the option wins over what the caller measured. */
static void zb_auto_takes_costs_from_both(void)
{
	sched_case option = {
		.ops = mr_schedule_find("zb_auto"), .n_workers = 4, .n_micro = 8, .option = "costs", .value = "3,4,2"};
	mr_stage_cost one = {.f = 3, .i = 4, .w = 2}, four[4] = {one, one, one, one};
	mr_plan *a = sched_emit(&option), *b = ordered(4, 8, "D", &(mr_cost){1, &one}),
		*c = ordered(4, 8, "D", &(mr_cost){4, four});

	CU_ASSERT_TRUE(same_order(a, b));
	CU_ASSERT_TRUE(same_order(a, c));
	mr_plan_destroy(a);
	mr_plan_destroy(b);
	mr_plan_destroy(c);
	a = ordered(4, 8, "none", &(mr_cost){1, &one});
	b = ordered(4, 8, "none", NULL);
	CU_ASSERT_FALSE(same_order(a, b));
	mr_plan_destroy(a);
	mr_plan_destroy(b);
}

static void zb_auto_refuses(void)
{
	static const char *const bad[][3] = {
		{"cap", "0.5", "cap: expected D, 2D, none or a number from 1, got \"0.5\""},
		{"cap", "3D", "got \"3D\""},
		{"cap", "", "got \"\""},
		{"cap", "nan", "got \"nan\""},
		{"cap", "inf", "got \"inf\""},
		{"costs", "1,2", "zb_auto: costs: expected f,i,w"},
	};
	const mr_sched_ops *ops = mr_schedule_find("zb_auto");
	mr_stage_cost stage[3] = {{.f = 1}, {.f = 1}, {.f = 1}};
	mr_plan *plan = NULL;
	mr_values *v = NULL;

	for (unsigned k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		MR_CHECK_OK(mr_values_create(ops->options, &v));
		MR_CHECK_OK(mr_values_set_string(v, bad[k][0], bad[k][1]));
		MR_CHECK_FAIL(
			mr_schedule_emit(ops, &(mr_sched_args){.n_workers = 2, .n_micro = 4, .options = v}, &plan),
			MR_ECONFIG, bad[k][2]);
		mr_values_destroy(v);
	}
	MR_CHECK_FAIL(mr_schedule_emit(ops,
				       &(mr_sched_args){.n_workers = 2, .n_micro = 4, .costs = &(mr_cost){3, stage}},
				       &plan),
		      MR_ECONFIG, "the cost table has 3 stages, the plan 2");
}

void mr_suite_zb_auto(void); /* the runner declares it too */

void mr_suite_zb_auto(void)
{
	MR_SUITE("zb_auto");
	MR_TEST(zb_auto_is_zb_h1_for_equal_costs);
	MR_TEST(zb_auto_keeps_any_cap);
	MR_TEST(zb_auto_takes_costs_from_both);
	MR_TEST(zb_auto_refuses);
}
