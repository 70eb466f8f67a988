/* Periods: what a formula reads off a few iterations is what many take. Options that do not apply change nothing. */
#include <math.h>

#include "check.h"
#include "golden_files.h"
#include "ir/plan_json.h"
#include "lower/lower.h"
#include "lower/small_plans.h"
#include "timing/walk.h"

enum { FEW = 24, MANY = 72, N_ORDERS = 62 };

/* Of periods that repeat every 1, 2, 3, 4, 6 or 8 iterations 24 are whole ones. */
static double makespan(const mr_plan *p, const mr_cost *cost, uint32_t n_bodies)
{
	mr_walk *k;
	double t;

	MR_CHECK_OK(mr_plan_walk(p, cost, n_bodies, &(mr_walk_opts){.no_barrier = true, .no_period = true}, &k));
	t = k->makespan;
	mr_walk_destroy(k);
	return t;
}

static void one_golden(void *arg, const char *path, uint32_t number)
{
	mr_stage_cost stage[64];
	mr_cost cost;
	mr_plan *p;
	double period, mean;

	(void)arg;
	MR_CHECK_OK(mr_plan_json_read(path, &p));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	CU_ASSERT_FATAL(p->n_stages <= 64);
	mr_cost_share(p, 1 + number % 3, 2, 1 + number % 2, stage, &cost);
	for (uint16_t s = 0; s < p->n_stages; s++)
		stage[s].u = 0.5;
	MR_CHECK_OK(mr_plan_period(p, &cost, false, &period));
	if (mr_plan_list(p, 0, MR_BODY)->n) {
		mean = (makespan(p, &cost, MANY) - makespan(p, &cost, MANY - FEW)) / FEW;
		if (fabs(period - mean) > 1e-9 * mean)
			fprintf(stderr, "\n%s: period %g, mean of %d iterations %g\n", path, period, FEW, mean);
		CU_ASSERT_DOUBLE_EQUAL(period, mean, 1e-9 * mean);
	} else {
		CU_ASSERT_EQUAL(period, 0);
	}
	mr_plan_destroy(p);
}

static void a_period_is_what_many_iterations_take(void)
{
	CU_ASSERT_EQUAL(mr_golden_each("sync", one_golden, NULL), N_ORDERS);
}

/* With a little jitter, and with bytes that are hardly any, the mean is near the regular period. */
static void means_are_near_the_regular_period(void)
{
	mr_plan *p = small_pipedream(4, 0, true);
	mr_stage_cost stage[4], memory[4] = {{.f = 1e-9}};
	uint16_t node[4] = {0};
	mr_sharing sharing = {.node = node, .n_nodes = 1, .memory = {4, memory}, .link = {4, memory},
			      .memory_rate = 1, .link_rate = 1};
	mr_cost cost;
	mr_walk *k;
	double regular;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	mr_cost_share(p, 1, 1, 1, stage, &cost);
	MR_CHECK_OK(mr_plan_period(p, &cost, false, &regular));
	CU_ASSERT_FATAL(regular > 0);
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2,
				 &(mr_walk_opts){.jitter = MR_JITTER_UNIFORM, .amount = 0.01, .seed = 3}, &k));
	CU_ASSERT_DOUBLE_EQUAL(k->period, regular, 0.02 * regular);
	CU_ASSERT(k->period != regular);
	mr_walk_destroy(k);
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &(mr_walk_opts){.sharing = &sharing}, &k));
	CU_ASSERT_DOUBLE_EQUAL(k->period, regular, 1e-9 * regular);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* A plan whose W nobody takes is walked alike with and without stealing; sharing of no bytes uses nothing. */
static void options_that_do_not_apply_change_nothing(void)
{
	mr_plan *p = small_1f1b(3, 6);
	mr_stage_cost stage[3], none[3] = {{0}};
	uint16_t node[3] = {0, 0, 0};
	mr_sharing sharing = {.node = node, .n_nodes = 1, .memory = {3, none}, .link = {3, none}, .memory_rate = 1,
			      .link_rate = 1};
	mr_shared_use use = {.memory = 9};
	mr_walk *plain, *k;
	mr_cost cost;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	mr_cost_share(p, 1, 2, 3, stage, &cost);
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, NULL, &plain));
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &(mr_walk_opts){.steals = true, .sharing = &sharing, .use = &use}, &k));
	CU_ASSERT_EQUAL(use.memory, 0);
	CU_ASSERT_PTR_NULL(k->plan);
	CU_ASSERT_EQUAL(k->n_stolen, 0);
	CU_ASSERT(k->makespan == plain->makespan && k->period == plain->period &&
		  k->bubble_period == plain->bubble_period && k->bubble_flush == plain->bubble_flush);
	for (size_t i = 0; i < k->first[3]; i++)
		CU_ASSERT(k->at[i].begin == plain->at[i].begin && k->at[i].end == plain->at[i].end &&
			  k->at[i].cause == plain->at[i].cause);
	mr_walk_destroy(k);
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &(mr_walk_opts){.no_period = true}, &k));
	CU_ASSERT(k->period == 0 && k->bubble_period == 0 && k->makespan == plain->makespan);
	mr_walk_destroy(k);
	mr_walk_destroy(plain);
	mr_plan_destroy(p);
}

void mr_suite_period(void)
{
	MR_SUITE("period");
	MR_TEST(a_period_is_what_many_iterations_take);
	MR_TEST(means_are_near_the_regular_period);
	MR_TEST(options_that_do_not_apply_change_nothing);
}
