/* cyclic against what it says of time and memory: two passes apart, n (n + 1) / 2 activations, a gradient at a time. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "ir/unroll.h"
#include "timing/walk.h"
#include "sched_help.h"

enum { COMMITS = 6 };

/* A finite plan of @n workers with the times of its passes, all of which take 1. */
typedef struct timed {
	mr_plan *plan;
	mr_unroll *g;
	double *begin, *end;
} timed;

static void open_timed(timed *t, uint16_t n, uint32_t n_micro, const char *rule)
{
	sched_case c = {.ops = mr_schedule_find("cyclic"),
			.n_workers = n,
			.n_micro = n_micro,
			.n_commits = COMMITS,
			.finite = true,
			.option = "rule",
			.value = rule};
	mr_stage_cost *row;
	mr_cost cost;
	uint32_t *order;

	t->plan = sched_lowered(&c);
	MR_CHECK_OK(mr_unroll_create(t->plan, 0, NULL, &t->g));
	order = malloc((t->g->n_all + 1) * sizeof(*order));
	row = calloc(n, sizeof(*row));
	t->begin = calloc(2 * ((size_t)t->g->n_all + 1), sizeof(*t->begin));
	CU_ASSERT_FATAL(order && row && t->begin);
	t->end = t->begin + t->g->n_all + 1;
	for (uint16_t s = 0; s < n; s++)
		row[s] = (mr_stage_cost){.f = 1, .i = 0.5, .w = 0.5};
	cost = (mr_cost){n, row};
	MR_CHECK_OK(mr_unroll_order(t->g, order));
	mr_unroll_times(t->g, &cost, NULL, order, t->begin, t->end, NULL);
	free(order);
	free(row);
}

static void close_timed(timed *t)
{
	mr_unroll_destroy(t->g);
	mr_plan_destroy(t->plan);
	free(t->begin);
}

static uint32_t node_of(const timed *t, const uint32_t *table, uint16_t s, uint64_t m)
{
	return table[s * (size_t)t->g->n_micro + (size_t)m];
}

/* Activations between F and the end of B at @now, of all replicas and stages. */
static uint32_t alive_at(const timed *t, double now)
{
	uint32_t n = 0;

	for (uint16_t s = 0; s < t->plan->n_stages; s++)
		for (uint64_t m = 0; m < t->g->n_micro; m++)
			n += t->begin[node_of(t, t->g->f, s, m)] < now && now < t->end[node_of(t, t->g->grad, s, m)];
	return n;
}

static void passes_and_activations(void)
{
	for (uint16_t n = 2; n <= 8; n++) {
		uint32_t most = 0, all = 0;
		double half = n * COMMITS;
		timed t;

		open_timed(&t, n, n, "v1");
		for (uint16_t s = 0; s < n; s++) {
			all += t.plan->rooms[s];
			CU_ASSERT_EQUAL(t.plan->rooms[s], n - s);
		}
		CU_ASSERT_EQUAL(all, n * (n + 1u) / 2);
		for (double now = 0.25; now < 2 * half + 4 * n; now += 0.5) {
			uint32_t alive = alive_at(&t, now);

			most = alive > most ? alive : most;
			if (now > 4 * n && now < half) /* under way: always as many */
				CU_ASSERT_EQUAL(alive, all);
		}
		CU_ASSERT_EQUAL(most, all);
		/* Two passes after the micro-batch before, at each stage: gradients are added one at a time. */
		for (uint16_t s = 0; s < n; s++)
			for (uint64_t m = 1; m < t.g->n_micro; m++) {
				double now = t.end[node_of(&t, t.g->grad, s, m)];

				CU_ASSERT_DOUBLE_EQUAL(now - t.end[node_of(&t, t.g->grad, s, m - 1)], 2, 1e-9);
			}
		close_timed(&t);
	}
}

/* v1: one commit late. v2: the newest of each stage that is committed when F begins, with no wait for it. */
static void reads_are_as_stated(void)
{
	for (uint16_t n = 2; n <= 6; n++)
		for (uint32_t times = 1; times <= 2; times++)
			for (int v2 = 0; v2 < 2; v2++) {
				uint32_t need = n * times;
				timed t;

				open_timed(&t, n, need, v2 ? "v2" : "v1");
				for (uint16_t s = 0; s < n; s++)
					for (uint64_t m = 0; m < t.g->n_micro; m++) {
						uint32_t f = node_of(&t, t.g->f, s, m);
						uint64_t count = m / need, read = mr_unroll_read(t.g, f), newest = 0;

						while (newest < count &&
						       t.end[t.g->commit[mr_unroll_at(t.g, 0, s, newest + 1)]] <=
							       t.begin[f] + 1e-9)
							newest++;
						CU_ASSERT_EQUAL(read, v2 ? newest : count ? count - 1 : 0);
					}
				CU_ASSERT_EQUAL(t.plan->n_versions[0], 2);
				CU_ASSERT_EQUAL(t.plan->n_versions[n - 1], v2 ? 1 : 2);
				close_timed(&t);
			}
}

/* A stage's step stands with the pipe of its count's last micro-batch. */
static void the_last_replica_steps(void)
{
	timed t;

	open_timed(&t, 3, 6, "v1");
	for (uint32_t i = 0; i < t.g->n_nodes; i++)
		if (t.g->at[i].in->op == MR_OP_U)
			CU_ASSERT_TRUE(t.g->at[i].worker == 2 && t.g->at[i].in->pipe == 2);
	close_timed(&t);
}

void mr_suite_cyclic(void); /* the runner declares it too */

void mr_suite_cyclic(void)
{
	MR_SUITE("cyclic");
	MR_TEST(passes_and_activations);
	MR_TEST(reads_are_as_stated);
	MR_TEST(the_last_replica_steps);
}
