/* What dapple's options change: the limit of memory, the run-ahead, recomputation and replicated stages. */
#include <math.h>

#include "check.h"
#include "timing/metrics.h"
#include "sched_help.h"

static mr_metrics *figures(uint16_t n_workers, uint32_t n_micro, const char *sets, const double *cost, double hand)
{
	sched_case c = {.ops = mr_schedule_find("dapple"), .n_workers = n_workers, .n_micro = n_micro, .sets = sets};
	mr_plan *plan = sched_lowered(&c);
	mr_walk *walk = NULL;
	mr_metrics *m = NULL;

	MR_CHECK_OK(mr_metrics_walk(plan, cost[0], cost[1], cost[2], hand, 1, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	mr_walk_destroy(walk);
	mr_plan_destroy(plan);
	return m;
}

static double makespan(uint16_t n_workers, uint32_t n_micro, const char *sets, const double *cost, double hand)
{
	mr_metrics *m = figures(n_workers, n_micro, sets, cost, hand);
	double x = m->makespan;

	mr_metrics_destroy(m);
	return x;
}

static void dapple_keeps_what_the_policy_allows(void)
{
	static const double one[] = {1, 1, 1};

	for (unsigned pb = 0; pb < 2; pb++)
		for (unsigned memory = 0; memory <= 9; memory++)
			for (uint16_t d = 1; d <= 5; d++) {
				char sets[64];
				mr_metrics *m;

				snprintf(sets, sizeof(sets), "policy=%s memory=%u", pb ? "pb" : "pa", memory);
				m = figures(d, 7, sets, one, 0);
				for (uint16_t w = 0; w < d; w++) {
					unsigned k = pb ? 2u * (d - w) - 1 : (unsigned)d - w;

					k = memory && memory < k ? memory : k;
					CU_ASSERT_EQUAL(m->slots[w], k < 7 ? k : 7);
				}
				mr_metrics_destroy(m);
			}
}

/* Less memory costs time, step by step, down to naive's; hand-overs as long as the work are what policy pb is for. */
static void dapple_time_for_memory(void)
{
	double before = INFINITY;

	for (unsigned memory = 1; memory <= 4; memory++) {
		char sets[32];
		double time;

		snprintf(sets, sizeof(sets), "memory=%u", memory);
		time = makespan(4, 8, sets, sched_costs[0], 0);
		CU_ASSERT_TRUE(time < before);
		before = time;
	}
	CU_ASSERT_EQUAL(makespan(4, 8, "memory=1", sched_costs[0], 0), 4 * 8 * 3);
	CU_ASSERT_EQUAL(before, makespan(4, 8, NULL, sched_costs[0], 0));
	for (uint16_t d = 2; d <= 6; d++)
		for (int k = 0; k < SCHED_COSTS; k++) {
			const double *cost = sched_costs[k];

			CU_ASSERT_EQUAL(makespan(d, 12, "policy=pb", cost, 0), makespan(d, 12, "policy=pa", cost, 0));
			CU_ASSERT_TRUE(makespan(d, 12, "policy=pb", cost, cost[0]) <
				       makespan(d, 12, "policy=pa", cost, cost[0]));
		}
}

/* S stages of r replicas each are a pipeline of S workers, r times as wide. */
static void dapple_replicas_alike(void)
{
	static const struct {
		const char *sets;
		uint16_t n_stages, r;
	} wide[] = {
		{"replicas=[3]", 1, 3}, {"replicas=[2,2]", 2, 2}, {"replicas=[2,2,2]", 3, 2}, {"replicas=[3,3]", 2, 3}};

	for (size_t k = 0; k < sizeof(wide) / sizeof(*wide); k++)
		for (uint32_t t = 1; t <= 6; t++)
			for (int c = 0; c < SCHED_COSTS; c++) {
				const double *cost = sched_costs[c];
				double r = wide[k].r, narrow = makespan(wide[k].n_stages, t, NULL, cost, 0);
				uint16_t d = wide[k].n_stages * wide[k].r;

				CU_ASSERT_DOUBLE_EQUAL(makespan(d, t * wide[k].r, wide[k].sets, cost, 0), r * narrow,
						       1e-9);
			}
}

/* Unlike replicas: the narrow stage takes the slices of a micro-batch in a row, each wide worker its own. */
static void dapple_replicas_unlike(void)
{
	sched_case c = {
		.ops = mr_schedule_find("dapple"), .n_workers = 4, .n_micro = 5, .sets = "replicas=[1,2,1] memory=1"};
	static const struct {
		uint8_t op;
		uint32_t micro;
	} wide[] = {{MR_OP_F, 1}, {MR_OP_B, 1}, {MR_OP_F, 3}, {MR_OP_B, 3}},
	  narrow[] = {{MR_OP_F, 0}, {MR_OP_F, 1}, {MR_OP_B, 0}, {MR_OP_B, 1}, {MR_OP_F, 2},
		      {MR_OP_F, 3}, {MR_OP_B, 2}, {MR_OP_B, 3}, {MR_OP_F, 4}, {MR_OP_B, 4}};
	mr_plan *plan = sched_emit(&c);
	const mr_list *l = mr_plan_list(plan, 2, MR_BODY);

	CU_ASSERT_EQUAL(plan->n_stages, 3);
	CU_ASSERT_EQUAL(plan->n_pipes, 2);
	CU_ASSERT_EQUAL_FATAL(l->n, 4);
	for (uint32_t i = 0; i < l->n; i++)
		CU_ASSERT_TRUE(l->at[i].op == wide[i].op && l->at[i].micro == wide[i].micro && l->at[i].stage == 1);
	l = mr_plan_list(plan, 0, MR_BODY);
	CU_ASSERT_EQUAL_FATAL(l->n, 10);
	for (uint32_t i = 0; i < l->n; i++)
		CU_ASSERT_TRUE(l->at[i].op == narrow[i].op && l->at[i].micro == narrow[i].micro &&
			       l->at[i].pipe == l->at[i].micro % 2);
	mr_plan_destroy(plan);
	mr_plan_destroy(sched_lowered(&c));
	c.sets = "replicas=[3,1,2] policy=pb recompute=always";
	for (c.n_micro = 1, c.n_workers = 6; c.n_micro <= 20; c.n_micro++)
		mr_plan_destroy(sched_lowered(&c));
}

void mr_suite_dapple(void); /* the runner declares it too */

void mr_suite_dapple(void)
{
	MR_SUITE("dapple");
	MR_TEST(dapple_keeps_what_the_policy_allows);
	MR_TEST(dapple_time_for_memory);
	MR_TEST(dapple_replicas_alike);
	MR_TEST(dapple_replicas_unlike);
}
