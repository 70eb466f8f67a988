/* Systems with several stages a worker: which groups they fall back to, what hanayo's orders keep, what is refused. */
#include "schedules/common/looped.h"

#include <string.h>

#include "check.h"
#include "timing/walk.h"
#include "sched_help.h"

static mr_plan *emitted(const char *system, uint16_t d, uint32_t t, const char *sets)
{
	sched_case c = {.ops = mr_schedule_find(system), .n_workers = d, .n_micro = t, .sets = sets};

	CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
	return sched_emit(&c);
}

/* A group other than the one asked for is told by the plan's name. */
static void looped_groups_are_named(void)
{
	static const struct {
		const char *system, *sets;
		uint16_t d;
		uint32_t t;
		const char *name;
	} cases[] = {
		{"interleaved", "", 4, 8, "interleaved"},
		{"interleaved", "", 4, 10, "interleaved+group5"},
		{"interleaved", "group=5", 4, 10, "interleaved"},
		{"interleaved", "group=4", 4, 10, "interleaved+group5"},
		{"interleaved", "group=7", 4, 10, "interleaved+group6"},
		{"interleaved", "group=1000000", 4, 10, "interleaved+group10"},
		{"interleaved", "", 4, 3, "interleaved+group3"},
		{"interleaved", "", 4, 7, "interleaved+group7"},
		{"interleaved_zb", "", 4, 9, "interleaved_zb+group5"},
		{"interleaved_zb", "group=8", 4, 16, "interleaved_zb"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_plan *plan = emitted(cases[i].system, cases[i].d, cases[i].t, cases[i].sets);

		CU_ASSERT_STRING_EQUAL(plan->system, cases[i].name);
		mr_plan_destroy(plan);
	}
}

static bool fits(uint32_t d, uint32_t t, uint32_t group)
{
	return group >= d && group <= t && (t % group == 0 || t % group >= d);
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* Of all sizes that fit none is nearer to the one asked for. */
static void looped_groups_are_the_nearest(void)
{
	mr_values *v = NULL;

	MR_CHECK_OK(mr_values_create(mr_schedule_find("interleaved")->options, &v));
	for (uint32_t wanted = 0; wanted <= 30; wanted += wanted < 8 ? 1 : 11) {
		MR_CHECK_OK(mr_values_set_int(v, "group", wanted));
		for (uint16_t d = 1; d <= 9; d++)
			for (uint32_t t = 1; t <= 40; t++) {
				mr_sched_args args = {.n_workers = d, .chunks = 2, .n_micro = t, .options = v};
				uint32_t got = mr_looped_group(&args), near = wanted ? wanted : d;

				if (t < d) {
					CU_ASSERT_EQUAL_FATAL(got, t);
					continue;
				}
				CU_ASSERT_FATAL(fits(d, t, got));
				for (uint32_t g = d; g <= t; g++)
					CU_ASSERT_FATAL(!fits(d, t, g) || distance(g, near) >= distance(got, near));
			}
	}
	mr_values_destroy(v);
}

/* Every (micro-batch, chunk) once in each table, group by group. */
static void looped_tables_are_complete(void)
{
	mr_plan *plan = emitted("interleaved", 3, 11, "chunks=3 group=4");
	bool seen[2][9][11] = {0};

	for (uint16_t w = 0; w < 3; w++)
		for (int forward = 0; forward < 2; forward++)
			for (uint32_t k = 0; k < 33; k++) {
				mr_looped_step step = mr_looped_at(plan, w, 4, forward, k);

				CU_ASSERT_FATAL(step.stage < 9 && step.stage % 3 == w && step.micro < 11);
				CU_ASSERT(!seen[forward][step.stage][step.micro]);
				CU_ASSERT_EQUAL(step.micro / 4, k / 12);
				seen[forward][step.stage][step.micro] = true;
			}
	mr_plan_destroy(plan);
}

/* At most D micro-batches a worker, and the formula where f = b: with one wave from T = D on, with more for multiples
 * of D. */
static void hanayo_keeps_d_and_follows_costs(void)
{
	static const mr_stage_cost even = {.f = 2, .i = 1, .w = 1};
	mr_values *v = NULL;

	MR_CHECK_OK(mr_values_create(mr_schedule_find("hanayo")->options, &v));
	for (uint16_t waves = 1; waves <= 3; waves++)
		for (uint16_t d = 1; d <= 6; d++)
			for (uint32_t t = 1; t <= 3u * d; t++) {
				mr_cost row = {1, &even}, cost;
				mr_sched_args args = {.n_workers = d, .n_micro = t, .options = v, .costs = &row};
				mr_stage_cost stage[6 * 6];
				mr_sched_claims claims;
				mr_plan *plan = NULL;
				mr_walk *walk = NULL;

				MR_CHECK_OK(mr_values_set_int(v, "waves", waves));
				MR_CHECK_OK(mr_schedule_emit(mr_schedule_find("hanayo"), &args, &plan));
				CU_ASSERT_EQUAL(plan->n_stages, 2 * waves * d);
				mr_cost_share(plan, even.f, even.i, even.w, stage, &cost);
				MR_CHECK_OK(mr_plan_walk(plan, &cost, 1, NULL, &walk));
				for (uint16_t w = 0; w < d; w++)
					CU_ASSERT_FATAL(walk->peak_until_w[w] <= d + 1e-9);
				MR_CHECK_OK(mr_schedule_claims(mr_schedule_find("hanayo"), &args, even.f, even.i,
							       even.w, &claims));
				CU_ASSERT_EQUAL(claims.bubble_time >= 0,
						t == 1 || t % d == 0 || (waves == 1 && t >= d));
				if (claims.bubble_time >= 0)
					CU_ASSERT_DOUBLE_EQUAL_FATAL(walk->makespan - 4 * t, claims.bubble_time, 1e-9);
				mr_walk_destroy(walk);
				mr_plan_destroy(plan);
			}
	mr_values_destroy(v);
}

static void looped_refusals(void)
{
	mr_plan *plan = NULL;
	mr_sched_args args = {.n_workers = 4096, .chunks = 16, .n_micro = 2};

	MR_CHECK_FAIL(mr_schedule_emit(mr_schedule_find("interleaved"), &args, &plan), MR_ECONFIG,
		      "interleaved: 65536 stages are more than a plan may have");
	MR_CHECK_FAIL(mr_schedule_emit(mr_schedule_find("looped_bfs"), &args, &plan), MR_ECONFIG,
		      "looped_bfs: 65536 stages");
	args = (mr_sched_args){.n_workers = 4, .chunks = 2, .n_micro = 1u << 22};
	MR_CHECK_FAIL(mr_schedule_emit(mr_schedule_find("interleaved_zb"), &args, &plan), MR_ECONFIG,
		      "4194304 micro-batches on 4 workers");
	args = (mr_sched_args){.n_workers = 4, .chunks = 3, .n_micro = 8};
	MR_CHECK_FAIL(mr_schedule_emit(mr_schedule_find("hanayo"), &args, &plan), MR_ECONFIG,
		      "hanayo: a worker hosts exactly 2 stages in this system with these options, so chunks must be 2, "
		      "got 3");
	CU_ASSERT_PTR_NULL(plan);
	args.chunks = 2;
	MR_CHECK_OK(mr_schedule_emit(mr_schedule_find("hanayo"), &args, &plan));
	mr_plan_destroy(plan);
}

void mr_suite_looped(void); /* the runner declares it too */

void mr_suite_looped(void)
{
	MR_SUITE("looped");
	MR_TEST(looped_groups_are_named);
	MR_TEST(looped_groups_are_the_nearest);
	MR_TEST(looped_tables_are_complete);
	MR_TEST(hanayo_keeps_d_and_follows_costs);
	MR_TEST(looped_refusals);
}
