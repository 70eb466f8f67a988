/*
 * helixpipe against closed forms where attention takes another time than what lies between two of them, and what its
 * plans keep; weipipe's ring against the same lists without it.
 */
#include <math.h>

#include "check.h"
#include "ir/contract.h"
#include "ir/sum_order.h"
#include "lower/lower.h"
#include "timing/metrics.h"
#include "sched_help.h"

static mr_plan *lowered(const char *system, uint16_t n_workers, uint32_t n_micro, const char *sets)
{
	sched_case c = {.ops = mr_schedule_find(system), .n_workers = n_workers, .n_micro = n_micro, .sets = sets};

	return sched_lowered(&c);
}

static double bubble_of(const mr_plan *plan, const mr_stage_cost *cost)
{
	mr_walk *walk = NULL;
	mr_metrics *m = NULL;
	double bubble;

	MR_CHECK_OK(mr_plan_walk(plan, &(mr_cost){plan->n_stages, cost}, 1, NULL, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	bubble = m->makespan - m->busy[0];
	for (uint16_t w = 1; w < plan->n_workers; w++)
		CU_ASSERT_DOUBLE_EQUAL(m->busy[w], m->busy[0], 1e-9);
	mr_metrics_destroy(m);
	mr_walk_destroy(walk);
	return bubble;
}

/* Of the parts of a block before and behind its attention, @pre and @post, and of attention itself; going back takes
 * @back times as long. */
static void fill_costs(mr_stage_cost *cost, uint32_t n_blocks, double pre, double attention, double post, double back)
{
	for (uint32_t s = 0; s <= 2 * n_blocks; s++) {
		double f = s % 2 ? attention : (s < 2 * n_blocks ? pre : 0) + (s ? post : 0);

		cost[s] = (mr_stage_cost){.f = f, .i = back * f / 2, .w = back * f / 2};
	}
}

/* (T / D)(D - 1)(f + b) of what lies between two attentions: whatever L, and however long attention takes. */
static void the_bubble_is_without_attention(void)
{
	static const double block[][4] = {{1, 1, 1, 2}, {1, 4, 2, 2}, {2, 1, 1, 1}, {1, 10, 2, 2}, {2, 0.5, 3, 1}};
	mr_stage_cost cost[2 * 24 + 1];

	for (uint16_t d = 1; d <= 8; d *= 2)
		for (uint32_t n_blocks = d; n_blocks <= 3u * d; n_blocks += d)
			for (uint32_t rounds = 1; rounds <= 2; rounds++)
				for (size_t k = 0; k < sizeof(block) / sizeof(*block); k++) {
					const double *x = block[k];
					double want = rounds * (d - 1) * (1 + x[3]) * (x[0] + x[2]);
					char sets[32];
					mr_plan *plan;

					snprintf(sets, sizeof(sets), "blocks=%u", n_blocks);
					plan = lowered("helixpipe", d, rounds * d, sets);
					fill_costs(cost, n_blocks, x[0], x[1], x[2], x[3]);
					CU_ASSERT_DOUBLE_EQUAL(bubble_of(plan, cost), want, 1e-9);
					mr_plan_destroy(plan);
				}
}

/* Stages with weights have one worker in all pipes, attention a worker of its own in each. */
static void attention_is_spread(void)
{
	mr_plan *plan = lowered("helixpipe", 3, 6, "blocks=5");

	CU_ASSERT_EQUAL(plan->n_stages, 11);
	for (uint16_t s = 0; s < plan->n_stages; s++)
		for (uint8_t p = 0; p < 3; p++) {
			CU_ASSERT_EQUAL(mr_plan_worker(plan, p, s), (s / 2 + (s % 2 ? 1 + p : 0)) % 3);
			CU_ASSERT_EQUAL(plan->n_slots[mr_plan_at(plan, p, s)], 1);
		}
	mr_plan_destroy(plan);
}

/* Only stages with weights are computed again, and the one that turns at once is not. */
static void recompute_leaves_attention(void)
{
	mr_plan *plan = lowered("helixpipe", 2, 4, "blocks=2 recompute=true");
	uint32_t n = 0;

	for (uint16_t w = 0; w < 2; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].op == MR_OP_R) {
				CU_ASSERT_EQUAL(l->at[i].stage % 2, 0);
				n++;
			}
	}
	CU_ASSERT_EQUAL(n, 4 * 3 - 2);
	mr_plan_destroy(plan);
}

/* At any time a stage of the ring has one pass forward and one backward under way, and without the ring as many as
 * there are workers. */
static uint32_t most_at_once(const mr_plan *plan, mr_op op, uint16_t stage)
{
	mr_stage_cost cost[8];
	mr_walk *walk = NULL;
	uint32_t most = 0;

	for (uint16_t s = 0; s < plan->n_stages; s++)
		cost[s] = (mr_stage_cost){.f = 1, .i = 1, .w = 1};
	MR_CHECK_OK(mr_plan_walk(plan, &(mr_cost){plan->n_stages, cost}, 1, NULL, &walk));
	for (size_t a = 0; a < walk->first[walk->n_workers]; a++) {
		uint32_t n = 0;

		for (size_t b = 0; b < walk->first[walk->n_workers]; b++)
			n += walk->at[b].in->op == op && walk->at[b].in->stage == stage &&
			     walk->at[b].begin <= walk->at[a].begin + 1e-9 &&
			     walk->at[a].begin + 1e-9 < walk->at[b].end;
		most = n > most ? n : most;
	}
	mr_walk_destroy(walk);
	return most;
}

static void a_ring_has_one_reader_a_direction(void)
{
	for (uint16_t d = 2; d <= 5; d++) {
		mr_plan *ring = lowered("weipipe", d, 3u * d, NULL), *all = lowered("weipipe", d, 3u * d, "ring=false");

		for (uint16_t s = 0; s < d; s++) {
			CU_ASSERT_EQUAL(most_at_once(ring, MR_OP_F, s), 1);
			CU_ASSERT_EQUAL(most_at_once(ring, MR_OP_B, s), 1);
			CU_ASSERT_EQUAL(most_at_once(all, MR_OP_F, s), d);
		}
		mr_plan_destroy(ring);
		mr_plan_destroy(all);
	}
}

/* A micro-batch in another pipe than its own has nobody before it. */
static void a_ring_goes_round(void)
{
	sched_case c = {.ops = mr_schedule_find("weipipe"), .n_workers = 3, .n_micro = 6};
	sched_case other = {.ops = mr_schedule_find("data_parallel"), .n_workers = 3, .n_micro = 6};
	mr_plan *plan = sched_emit(&other);

	plan->contract.ring = true;
	MR_CHECK_FAIL(mr_plan_lower(plan, NULL), MR_ECONFIG, "micro-batch 1 goes through pipe 0, and in a ring");
	mr_plan_destroy(plan);
	plan = sched_emit(&c);
	plan->contract.flush = MR_FLUSH_NONE;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "without a flush");
	mr_plan_destroy(plan);
}

/* Micro-batch m is in pipe m mod D in all of them, so they have the same bits. */
static void the_sums_are_one_order(void)
{
	uint64_t a = 0, b = 0, c = 0;
	mr_plan *x = lowered("weipipe", 3, 6, NULL), *y = lowered("weipipe", 3, 6, "ring=false");
	mr_plan *z = lowered("helixpipe", 3, 6, NULL);

	CU_ASSERT_TRUE(mr_plan_sum_order(x, &a) && mr_plan_sum_order(y, &b) && mr_plan_sum_order(z, &c));
	CU_ASSERT_EQUAL(a, b);
	CU_ASSERT_EQUAL(a, c);
	mr_plan_destroy(x);
	mr_plan_destroy(y);
	mr_plan_destroy(z);
}

void mr_suite_helixpipe(void); /* the runner declares it too */

void mr_suite_helixpipe(void)
{
	MR_SUITE("helixpipe");
	MR_TEST(the_bubble_is_without_attention);
	MR_TEST(attention_is_spread);
	MR_TEST(recompute_leaves_attention);
	MR_TEST(a_ring_has_one_reader_a_direction);
	MR_TEST(a_ring_goes_round);
	MR_TEST(the_sums_are_one_order);
}
