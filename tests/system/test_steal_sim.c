/*
 * test_steal_sim.c - W that any worker may take, in virtual time: the figures of the study that the rule comes from,
 * never slower than without, and what was taken is a plan that passes the checker.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "schedules/registry.h"
#include "timing/walk.h"

typedef struct outcome {
	double makespan, bubble; /* bubble: makespan - the mean busy time of a worker */
	double period, busiest, bubble_period;
	size_t stolen;
} outcome;

static mr_plan *lowered(const char *system, const char *sets, bool steal, uint16_t workers, uint32_t micro,
			const mr_cost *costs)
{
	const mr_sched_ops *ops = mr_schedule_find(system);
	mr_sched_args a = {.n_workers = workers, .n_micro = micro, .costs = costs};
	mr_values *v;
	mr_plan *p;

	MR_CHECK_OK(mr_values_create(ops->options, &v));
	if (steal)
		MR_CHECK_OK(mr_values_set_text(v, "steal", "true"));
	if (sets)
		MR_CHECK_OK(mr_values_set_text(v, "merge_w", sets));
	a.options = v;
	MR_CHECK_OK(mr_schedule_emit(ops, &a, &p));
	mr_values_destroy(v);
	p->contract.flush = MR_FLUSH_BARRIER; /* zb_h2 has none by itself, and is compared with one */
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	return p;
}

static outcome simulate(const mr_plan *p, const double *f, uint32_t n_bodies, const mr_walk_opts *params)
{
	mr_stage_cost *stage = calloc(p->n_stages, sizeof(*stage));
	outcome o = {0};
	mr_cost cost;
	mr_walk *k;

	CU_ASSERT_PTR_NOT_NULL_FATAL(stage);
	mr_cost_share(p, f[0], f[1], f[2], stage, &cost);
	MR_CHECK_OK(mr_plan_walk(p, &cost, n_bodies, params, &k));
	o.makespan = o.bubble = k->makespan;
	for (uint16_t w = 0; w < p->n_workers; w++) {
		o.bubble -= k->busy[w] / p->n_workers;
		o.busiest = fmax(o.busiest, k->busy[w]);
	}
	o.period = k->period;
	o.bubble_period = k->bubble_period;
	o.stolen = k->n_stolen;
	CU_ASSERT_EQUAL(k->plan != NULL, p->contract.steal);
	if (k->plan)
		MR_CHECK_OK(mr_plan_check(k->plan));
	mr_walk_destroy(k);
	free(stage);
	return o;
}

/* Both ways, one iteration. */
static void both(const char *system, const char *sets, uint16_t workers, uint32_t micro, const double *f,
		 outcome *without, outcome *with)
{
	mr_stage_cost share = {.f = f[0], .i = f[1], .w = f[2]};
	mr_cost costs = {1, &share};
	mr_plan *home = lowered(system, sets, false, workers, micro, &costs),
		*any = lowered(system, sets, true, workers, micro, &costs);
	mr_walk_opts params = {.no_period = true, .steals = true};

	*without = simulate(home, f, 1, &params);
	*with = simulate(any, f, 1, &params);
	mr_plan_destroy(home);
	mr_plan_destroy(any);
}

/* Tail work-stealing of W, with a barrier, 8 workers and 16 micro-batches. */
static void published_figures(void)
{
	static const struct {
		const char *system;
		double costs[3], before, after;
	} cases[] = {
		{"zb_h2", {1, 1, 1}, 7, 4},
		{"zb_v", {1, 1, 1}, 3.5, 2},
		{"zb_h1", {2, 1, 2}, 14, 11},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		outcome without, with;

		both(cases[i].system, NULL, 8, 16, cases[i].costs, &without, &with);
		CU_ASSERT_DOUBLE_EQUAL(without.bubble, cases[i].before, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(with.bubble, cases[i].after, 1e-9);
		CU_ASSERT_TRUE(with.stolen > 0);
	}
}

static void never_slower(void)
{
	static const char *const systems[] = {"zb_h1",          "zb_h2",  "zb_v",  "zb_auto",
					      "interleaved_zb", "v_half", "v_min", "1f1b"};
	static const double costs[][3] = {{1, 1, 1}, {2, 1, 2}, {2, 3, 1}, {5, 6, 4}, {1, 2, 3}};
	uint32_t faster = 0, cases = 0;

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (uint16_t d = 1; d <= 8; d = (uint16_t)(d + (d < 4 ? 1 : 4)))
			for (uint32_t t = 2; t <= 16; t += 7)
				for (size_t c = 0; c < sizeof(costs) / sizeof(costs[0]); c++) {
					outcome without, with;

					both(systems[i], strcmp(systems[i], "1f1b") ? NULL : "2", d, t, costs[c],
					     &without, &with);
					cases++;
					faster += with.makespan < without.makespan - 1e-9;
					if (with.makespan > without.makespan + 1e-9)
						fprintf(stderr, "\n%s D=%u T=%u %g,%g,%g: %g became %g\n", systems[i],
							d, t, costs[c][0], costs[c][1], costs[c][2], without.makespan,
							with.makespan);
					CU_ASSERT_TRUE_FATAL(with.makespan <= without.makespan + 1e-9);
					CU_ASSERT_TRUE(d > 1 || with.stolen == 0);
				}
	CU_ASSERT_TRUE(cases >= 60);
	CU_ASSERT_TRUE(faster * 20 > cases);
}

/* With jitter iterations differ, and so does what is taken; one seed takes the same. A straggler is helped. */
static void bent(void)
{
	const double ones[] = {1, 1, 1};
	mr_straggler slow = {.worker = 1, .factor = 2, .from = 0, .to = INFINITY};
	mr_walk_opts params = {
		.no_period = true, .steals = true, .jitter = MR_JITTER_LOGNORMAL, .amount = 0.3, .seed = 4};
	mr_plan *home = lowered("zb_h1", NULL, false, 4, 8, NULL), *any = lowered("zb_h1", NULL, true, 4, 8, NULL);
	outcome without = simulate(home, ones, 6, &params), with = simulate(any, ones, 6, &params),
		again = simulate(any, ones, 6, &params);

	CU_ASSERT_TRUE(with.stolen > 0);
	CU_ASSERT_TRUE(with.makespan < without.makespan);
	CU_ASSERT_TRUE(with.makespan == again.makespan && with.stolen == again.stolen);
	params = (mr_walk_opts){.no_period = true, .steals = true, .straggler = &slow, .n_stragglers = 1};
	without = simulate(home, ones, 1, &params);
	with = simulate(any, ones, 1, &params);
	CU_ASSERT_TRUE(with.stolen > 0);
	CU_ASSERT_TRUE(with.makespan < without.makespan);
	mr_plan_destroy(home);
	mr_plan_destroy(any);
}

/* Stealing takes a barrier, so the period has it too: it is what one iteration more takes, and never below the
 * makespan. */
static void period(void)
{
	static const char *const systems[] = {"zb_h1", "zb_h2", "zb_v", "interleaved_zb", "v_half"};
	const double costs[] = {2, 1, 2};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		mr_plan *any = lowered(systems[i], NULL, true, 4, 8, NULL);
		mr_walk_opts params = {.no_period = true, .steals = true};
		outcome six = simulate(any, costs, 6, &params), seven, one;

		CU_ASSERT_EQUAL(six.period, 0);
		seven = simulate(any, costs, 7, &params);
		params.no_period = false;
		one = simulate(any, costs, 1, &params);
		CU_ASSERT_DOUBLE_EQUAL(one.period, seven.makespan - six.makespan, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(one.period, one.makespan, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(one.bubble_period, 1 - one.busiest / one.period, 1e-9);
		params = (mr_walk_opts){.steals = true, .jitter = MR_JITTER_UNIFORM, .amount = 0.2, .seed = 9};
		one = simulate(any, costs, 1, &params);
		CU_ASSERT_TRUE(one.period > 0.9 * seven.makespan / 7 && one.period < 1.3 * seven.makespan / 7);
		mr_plan_destroy(any);
	}
}

static void refused(void)
{
	mr_stage_cost stage[2] = {{.f = 1, .i = 1, .w = 1}, {.f = 1, .i = 1, .w = 1}};
	mr_walk_opts params = {0};
	mr_plan *home = lowered("zb_h1", NULL, false, 2, 4, NULL);
	mr_steal *moves;
	size_t n;

	MR_CHECK_FAIL(mr_walk_steals(home, &(mr_cost){2, stage}, 1, &params, &moves, &n), MR_EINVAL, "says steal");
	mr_plan_destroy(home);
}

void mr_suite_steal_sim(void)
{
	MR_SUITE("steal_sim");
	MR_TEST(published_figures);
	MR_TEST(never_slower);
	MR_TEST(bent);
	MR_TEST(period);
	MR_TEST(refused);
}
