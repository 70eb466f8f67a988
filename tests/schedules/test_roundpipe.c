/*
 * roundpipe against closed forms: which worker gets which stage, that all get the same number, what F and B read, and
 * how long it takes, alone and back to back.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "timing/metrics.h"
#include "sched_help.h"

static mr_plan *lowered(uint16_t n_workers, uint32_t n_micro, const char *sets)
{
	sched_case c = {.ops = mr_schedule_find("roundpipe"), .n_workers = n_workers, .n_micro = n_micro, .sets = sets};

	return sched_lowered(&c);
}

static mr_metrics *figures(const mr_plan *plan, const double *cost)
{
	mr_walk *walk = NULL;
	mr_metrics *m = NULL;

	MR_CHECK_OK(mr_metrics_walk(plan, cost[0], cost[1], cost[2], 0, 1, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	mr_walk_destroy(walk);
	return m;
}

/* How many F and R of the plan are worker @w's. */
static void count(const mr_plan *plan, uint16_t w, uint32_t *f, uint32_t *r)
{
	const mr_list *l = mr_plan_list(plan, w, MR_BODY);

	*f = *r = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		*f += l->at[i].op == MR_OP_F;
		*r += l->at[i].op == MR_OP_R;
	}
}

/* The deal goes on from round to round, and with whole rounds every worker has the same number of forwards. */
static void the_deal_goes_on(void)
{
	for (uint16_t d = 1; d <= 6; d++)
		for (uint32_t s = d; s <= 3u * d + 1; s++) {
			uint32_t rounds = 1, t, all_r = 0;
			char sets[32];
			mr_plan *plan;

			while (rounds * s % d)
				rounds++;
			t = 2 * d * rounds;
			snprintf(sets, sizeof(sets), "stages=%u", s);
			plan = lowered(d, t, sets);
			CU_ASSERT_EQUAL_FATAL(plan->n_pipes, rounds);
			for (uint32_t k = 0; k < s * rounds; k++)
				CU_ASSERT_EQUAL(mr_plan_worker(plan, (uint8_t)(k / s), (uint16_t)(k % s)), k % d);
			for (uint16_t w = 0; w < d; w++) {
				uint32_t f, r;

				count(plan, w, &f, &r);
				CU_ASSERT_EQUAL(f, t * s / d);
				all_r += r;
			}
			CU_ASSERT_EQUAL(all_r, t * s - t / rounds); /* the last stage of the last round turns at once */
			mr_plan_destroy(plan);
		}
}

/* Too few micro-batches for rounds of D: fewer rounds, and no fewer micro-batches handled. */
static void few_micro_batches(void)
{
	mr_plan *plan = lowered(4, 9, NULL);

	CU_ASSERT_EQUAL(plan->n_stages, 7);
	CU_ASSERT_EQUAL(plan->n_pipes, 2);
	mr_plan_destroy(plan);
	plan = lowered(4, 3, NULL);
	CU_ASSERT_EQUAL(plan->n_pipes, 1);
	mr_plan_destroy(plan);
}

/* In rounds of at least D micro-batches the fill and the drain add at most (D - 1)(2f + b) of one stage. */
static void time_is_bounded(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t s = d; s <= 2u * d + 1; s++)
			for (int k = 0; k < SCHED_COSTS; k++) {
				const double *c = sched_costs[k];
				double share = (double)d / s, b = c[1] + c[2], busiest = 0;
				char sets[32];
				mr_metrics *m;
				mr_plan *plan;

				snprintf(sets, sizeof(sets), "stages=%u", s);
				plan = lowered(d, 2u * d * d, sets);
				m = figures(plan, c);
				for (uint16_t w = 0; w < d; w++)
					busiest = fmax(busiest, m->busy[w]);
				if (m->makespan - busiest > (d - 1) * (2 * c[0] + b) * share + 1e-9)
					fprintf(stderr, "D %u S %u f %g b %g: %g over %g\n", d, s, c[0], b,
						m->makespan - busiest, busiest);
				CU_ASSERT_TRUE(m->makespan - busiest <= (d - 1) * (2 * c[0] + b) * share + 1e-9);
				mr_metrics_destroy(m);
				mr_plan_destroy(plan);
			}
}

/* Nothing of an iteration can begin before the one in front has ended: so it does not matter with whom the deal goes
 * on. */
static void iterations_do_not_overlap(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t s = d; s <= 2u * d + 1; s++)
			for (int k = 0; k < SCHED_COSTS; k++) {
				const double *c = sched_costs[k];
				mr_metrics *m;
				char sets[32];
				mr_plan *plan;

				snprintf(sets, sizeof(sets), "stages=%u", s);
				plan = lowered(d, 2u * d, sets);
				m = figures(plan, c);
				if (fabs(m->period - m->makespan) > 1e-9 * m->makespan)
					fprintf(stderr, "\nD %u S %u f %g b %g: period %g, makespan %g\n", d, s, c[0],
						c[1] + c[2], m->period, m->makespan);
				CU_ASSERT_DOUBLE_EQUAL(m->period, m->makespan, 1e-9 * m->makespan);
				mr_metrics_destroy(m);
				mr_plan_destroy(plan);
			}
}

/* Batch t reads version max(0, t - 1) everywhere: in the prologue and as offsets. */
static void one_step_behind(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t t = 1; t <= 6; t++) {
			mr_plan *plan = lowered(d, t, "optimizer=async");

			CU_ASSERT_EQUAL(plan->n_stages, 2 * d);
			CU_ASSERT_EQUAL(plan->contract.flush, MR_FLUSH_NONE);
			for (uint16_t w = 0; w < d; w++) {
				const mr_list *once = mr_plan_list(plan, w, MR_PROLOGUE),
					      *body = mr_plan_list(plan, w, MR_BODY);

				for (uint32_t i = 0; i < once->n; i++)
					CU_ASSERT_EQUAL(once->at[i].read, 0);
				for (uint32_t i = 0; i < body->n; i++) {
					const mr_instr *in = &body->at[i];
					int32_t number = in->op == MR_OP_U ? in->target : in->read;

					CU_ASSERT_EQUAL(number, in->op == MR_OP_U ? 1 : (int32_t)(in->micro / t) - 1);
				}
			}
			for (uint16_t s = 0; s < plan->n_stages; s++)
				CU_ASSERT_EQUAL(plan->n_versions[s], 2);
			mr_plan_destroy(plan);
		}
}

static void too_few_stages(void)
{
	sched_case c = {.ops = mr_schedule_find("roundpipe"), .n_workers = 3, .n_micro = 6, .sets = "stages=2"};
	mr_plan *plan = sched_try_emit(&c);

	CU_ASSERT_PTR_NULL(plan);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "2 stages for 3 workers: some would have none"));
}

void mr_suite_roundpipe(void)
{
	MR_SUITE("roundpipe");
	MR_TEST(the_deal_goes_on);
	MR_TEST(few_micro_batches);
	MR_TEST(time_is_bounded);
	MR_TEST(iterations_do_not_overlap);
	MR_TEST(one_step_behind);
	MR_TEST(too_few_stages);
}
