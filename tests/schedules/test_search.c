/*
 * search: never worse than the systems it has by name, within its memory, the same each time, and worth the trouble.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "sched_help.h"
#include "ir/recompute.h"
#include "search_help.h"

/* Costs of stages from a fixed sequence. */
static mr_cost uneven(uint16_t n, uint32_t *x, mr_stage_cost *stage)
{
	for (uint16_t s = 0; s < n; s++) {
		*x = *x * 1664525 + 1013904223;
		stage[s] = (mr_stage_cost){.f = 2 + (*x >> 24) % 5,
					   .i = 2 + (*x >> 16) % 5,
					   .w = 1 + (*x >> 28) % 5,
					   .c = (*x >> 30) * 0.5};
	}
	return (mr_cost){n, stage};
}

static void one_case(uint16_t d, uint32_t t, uint16_t v, const mr_cost *costs, unsigned *better)
{
	static const char *const caps[] = {"D", "1.5", "2D", "none"};

	for (unsigned k = 0; k < 4; k++) {
		double cap = k == 0 ? d : k == 1 ? 1.5 : k == 2 ? 2.0 * d : INFINITY;
		search_figures named = search_by_name(d, t, v, cap, costs);

		for (unsigned period = 0; period < 2; period++) {
			char sets[64];
			mr_plan *plan;
			search_figures f;

			snprintf(sets, sizeof(sets), "cap=%s objective=%s tries=40", caps[k],
				 period ? "period" : "makespan");
			plan = search_plan(d, t, v, sets, costs);
			f = search_walk(plan, costs);
			CU_ASSERT(f.peak <= cap + 1e-9);
			CU_ASSERT(period ? f.period <= named.period * (1 + 1e-9)
					 : f.makespan <= named.makespan * (1 + 1e-9));
			*better += k == 0 && !period && f.makespan < named.makespan * (1 - 1e-9);
			CU_ASSERT(!strncmp(plan->system, "search", 6));
			MR_CHECK_OK(mr_plan_lower(plan, NULL));
			MR_CHECK_OK(mr_plan_check(plan));
			mr_plan_destroy(plan);
		}
	}
}

static void search_is_never_worse_than_a_name(void)
{
	mr_stage_cost shares[] = {{.f = 2, .i = 3, .w = 1}, {.f = 2, .i = 1, .w = 2}}, stage[64];
	unsigned better = 0, cases = 0;
	uint32_t x = 1;

	for (uint16_t d = 2; d <= 4; d++)
		for (uint32_t t = 1; t <= 6; t += 5)
			for (uint16_t v = 1; v <= 4; v = (uint16_t)(2 * v))
				for (unsigned k = 0; k < 3; k++, cases++) {
					mr_cost costs =
						k < 2 ? (mr_cost){1, &shares[k]} : uneven((uint16_t)(d * v), &x, stage);

					one_case(d, t, v, &costs, &better);
				}
	CU_ASSERT(better >= cases / 4);
}

/* Systems with a cap of their own get that of the search: few tries leave it to them on many micro-batches. */
static void search_hands_its_cap_on(void)
{
	static const char *const caps[] = {"none", "2D", "2.5"};
	mr_stage_cost stage[64];
	uint32_t x = 7;

	for (unsigned k = 0; k < 60; k++) {
		uint16_t d = (uint16_t)(3 + k % 4);
		uint32_t t = 4u << k / 4 % 3;
		mr_cost costs = uneven(d, &x, stage);
		double cap = k % 3 == 0 ? INFINITY : k % 3 == 1 ? 2.0 * d : 2.5;
		search_figures named = search_by_name(d, t, 1, cap, &costs);

		for (unsigned period = 0; period < 2; period++) {
			char sets[64];
			mr_plan *plan;
			search_figures f;

			snprintf(sets, sizeof(sets), "cap=%s objective=%s tries=5", caps[k % 3],
				 period ? "period" : "makespan");
			plan = search_plan(d, t, 1, sets, &costs);
			f = search_walk(plan, &costs);
			CU_ASSERT(f.peak <= cap + 1e-9);
			CU_ASSERT(period ? f.period <= named.period * (1 + 1e-9)
					 : f.makespan <= named.makespan * (1 + 1e-9));
			mr_plan_destroy(plan);
		}
	}
}

static void search_keeps_any_cap(void)
{
	static const char *const sets[] = {"cap=1 tries=30", "cap=1.25 tries=30", "cap=2 tries=30", "cap=2.7 tries=30"};
	static const double cap[] = {1, 1.25, 2, 2.7};
	mr_stage_cost share = {.f = 1, .i = 2, .w = 1};
	double before = INFINITY;

	for (unsigned k = 0; k < 4; k++) {
		mr_plan *plan = search_plan(4, 8, 4, sets[k], &(mr_cost){1, &share});
		search_figures f = search_walk(plan, &(mr_cost){1, &share});

		CU_ASSERT(f.peak <= cap[k]);
		CU_ASSERT(f.makespan <= before); /* more memory, not slower */
		before = f.makespan;
		mr_plan_destroy(plan);
	}
}

/* The same arguments the same plan; further tries begin where fewer end; another seed, other tries. */
static void search_repeats(void)
{
	mr_stage_cost share = {.f = 2, .i = 3, .w = 1};
	mr_cost costs = {1, &share};
	mr_plan *a = search_plan(3, 6, 4, "tries=60", &costs), *b = search_plan(3, 6, 4, "tries=60", &costs);
	double few, many;

	CU_ASSERT(mr_plan_hash(a) == mr_plan_hash(b));
	few = search_walk(a, &costs).makespan;
	mr_plan_destroy(b);
	b = search_plan(3, 6, 4, "tries=600", &costs);
	many = search_walk(b, &costs).makespan;
	CU_ASSERT(many <= few);
	mr_plan_destroy(a);
	a = search_plan(3, 6, 4, "tries=600 seed=2", &costs);
	CU_ASSERT(mr_plan_hash(a) != mr_plan_hash(b));
	mr_plan_destroy(a);
	mr_plan_destroy(b);
}

static double a_second_later(void)
{
	static double now;

	return now += 1;
}

/* What the time came to gives the same plan, as tries; without a clock there is no time. */
static void search_keeps_to_its_time(void)
{
	static const struct {
		const char *sets, *again;
		uint64_t n;
	} cases[] = {
		{"seconds=60", "tries=60", 60},
		{"seconds=60 tries=20", "tries=20", 20},
		{"seconds=0.5", "tries=1", 1},
		{"tries=60", "tries=60", 0},
	};
	mr_stage_cost share = {.f = 2, .i = 3, .w = 1};
	mr_cost costs = {1, &share};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		uint64_t n = 0;
		mr_plan *a = search_plan_by(a_second_later, &n, 3, 6, 4, cases[k].sets, &costs);
		mr_plan *b = search_plan(3, 6, 4, cases[k].again, &costs),
			*c = search_plan(3, 6, 4, cases[k].sets, &costs);

		CU_ASSERT_EQUAL(n, cases[k].n);
		CU_ASSERT_EQUAL(mr_plan_hash(a), mr_plan_hash(b));
		CU_ASSERT(search_walk(c, &costs).makespan >= search_walk(a, &costs).makespan);
		mr_plan_destroy(a);
		mr_plan_destroy(b);
		mr_plan_destroy(c);
	}
}

static void search_refuses(void)
{
	static const char *const bad[][2] = {
		{"cap", "0.9"}, {"cap", "many"}, {"costs", "1"},
	};
	static const char *const why[] = {"search: cap: expected D, 2D, none or a number from 1, got \"0.9\"",
					  "got \"many\"", "search: costs: expected f,i,w"};
	const mr_sched_ops *ops = mr_schedule_find("search");
	mr_stage_cost stage[3] = {{.f = 1}, {.f = 1}, {.f = 1}};
	mr_plan *plan = NULL;
	mr_values *v;

	for (unsigned k = 0; k < 3; k++) {
		MR_CHECK_OK(mr_values_create(ops->options, &v));
		MR_CHECK_OK(mr_values_set_text(v, bad[k][0], bad[k][1]));
		MR_CHECK_FAIL(
			mr_schedule_emit(ops, &(mr_sched_args){.n_workers = 2, .n_micro = 4, .options = v}, &plan),
			MR_ECONFIG, why[k]);
		mr_values_destroy(v);
	}
	MR_CHECK_FAIL(mr_schedule_emit(ops,
				       &(mr_sched_args){.n_workers = 2, .n_micro = 4, .costs = &(mr_cost){3, stage}},
				       &plan),
		      MR_ECONFIG, "search: the cost table has 3 stages, the plan 2");
}

/* Any order that flushes may recompute the stages of its first workers: it is a plan, and keeps less. */
static void orders_may_recompute(void)
{
	static const char *const names[] = {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_v", "v_half"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sched_case c = {.ops = mr_schedule_find(names[i]), .n_workers = 4, .n_micro = 8};
		mr_plan *plain = sched_lowered(&c), *draft = sched_emit(&c);

		for (uint16_t n = 1; n <= 4; n++) {
			mr_plan *again;
			uint32_t n_again, slots = 0, before = 0;

			MR_CHECK_OK(mr_plan_recompute(draft, n, &again, &n_again));
			MR_CHECK_OK(mr_plan_lower(again, NULL));
			MR_CHECK_OK(mr_plan_check(again));
			CU_ASSERT(n_again > 0);
			for (uint16_t k = 0; k < again->n_stages; k++) {
				slots += again->n_slots[k];
				before += plain->n_slots[k];
				CU_ASSERT(again->n_slots[k] <= plain->n_slots[k]);
			}
			CU_ASSERT(slots < before);
			mr_plan_destroy(again);
		}
		mr_plan_destroy(draft);
		mr_plan_destroy(plain);
	}
}

void mr_suite_search(void); /* the runner declares it too */

void mr_suite_search(void)
{
	MR_SUITE("search");
	MR_TEST(orders_may_recompute);
	MR_TEST(search_is_never_worse_than_a_name);
	MR_TEST(search_hands_its_cap_on);
	MR_TEST(search_keeps_any_cap);
	MR_TEST(search_repeats);
	MR_TEST(search_keeps_to_its_time);
	MR_TEST(search_refuses);
}
