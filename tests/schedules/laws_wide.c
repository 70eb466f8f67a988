/*
 * laws_wide.c - the laws over the wide grid: every registered system with every value of every option, D of 1 to 9, T
 * of 1 to 24, one to four stages a worker, and the costs of sched_costs. Each case is either refused with a message,
 * or it is complete (counted here, without the checker's help), can be lowered, passes the checker and keeps its
 * claims.
 */
#include <string.h>

#include "check.h"
#include "laws.h"

static unsigned taken, refused;
static bool all_sizes;

/* Small numbers, and of large ones odd and even, divisible and not, a power of two; long_laws_all_long.c has all. */
static bool wanted(uint32_t n_micro)
{
	static const uint32_t some[] = {9, 12, 16, 17};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		if (n_micro == some[i])
			return true;
	return all_sizes || n_micro <= 8;
}

/* How often @op's group handles micro-batch @m at stage @s: F; I or B; W or B. */
enum group { FORWARDS, INPUT_GRADIENTS, WEIGHT_GRADIENTS, N_GROUPS };

static bool belongs(uint8_t op, enum group g)
{
	if (g == FORWARDS)
		return op == MR_OP_F;
	return op == MR_OP_B || op == (g == INPUT_GRADIENTS ? MR_OP_I : MR_OP_W);
}

/* A body handles as many micro-batches as it says at every stage; in a list that ends, each of them exactly once. */
static void counts(const sched_case *c, const mr_plan *plan, enum group g)
{
	mr_section section = c->finite ? MR_PROLOGUE : MR_BODY;
	bool whole = c->finite || plan->contract.flush != MR_FLUSH_NONE;
	uint32_t n = plan->n_micro, *seen = calloc((size_t)n * plan->n_stages, sizeof(*seen));
	uint32_t *sums = calloc(plan->n_stages, sizeof(*sums));

	CU_ASSERT_TRUE_FATAL(seen && sums);
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *list = mr_plan_list(plan, w, section);

		for (uint32_t i = 0; i < list->n; i++) {
			const mr_instr *in = &list->at[i];

			if (!belongs(in->op, g))
				continue;
			sums[in->stage] += in->span;
			for (uint32_t m = in->micro; whole && m < in->micro + in->span; m++) {
				CU_ASSERT_TRUE_FATAL(sched_blame(c, m < n));
				seen[(size_t)in->stage * n + m]++;
			}
		}
	}
	for (uint32_t s = 0; s < plan->n_stages; s++)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, sums[s] == n));
	for (size_t i = 0; whole && i < (size_t)n * plan->n_stages; i++)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, seen[i] == 1));
	free(seen);
	free(sums);
}

static void one_case(const sched_case *c)
{
	mr_plan *plan;

	if (!wanted(c->n_micro))
		return;
	plan = sched_try_emit(c);
	if (!plan) {
		refused++;
		return;
	}
	taken++;
	if (mr_contract_replicates(&plan->contract)) {
		CU_ASSERT_TRUE_FATAL(sched_blame(c, plan->n_micro == c->n_micro * plan->contract.average.every));
	} else if (!c->ops->asynchronous) { /* halves of micro-batches count, too */
		CU_ASSERT_TRUE_FATAL(sched_blame(c, plan->n_micro == c->n_micro || plan->n_micro == 2 * c->n_micro));
	}
	for (int g = 0; g < N_GROUPS; g++)
		counts(c, plan, (enum group)g);
	mr_plan_destroy(plan);
	plan = sched_lowered(c);
	laws_of_plan(c, plan);
	mr_plan_destroy(plan);
}

void laws_wide_grid(bool all)
{
	all_sizes = all;
	sched_grid(9, 24, one_case);
	fprintf(stderr, "%u cases taken, %u refused\n", taken, refused);
	CU_ASSERT(taken > 4 * refused);
}

/* Numbers, and several options at once. */
void laws_wide_further(bool all)
{
	static const char *const further[][2] = {
		{"interleaved", "group=3"},
		{"interleaved", "chunks=3 group=1000000"},
		{"interleaved_zb", "chunks=3 group=7"},
		{"hanayo", "waves=2"},
		{"hanayo", "waves=3"},
		{"zb_auto", "cap=1"},
		{"zb_auto", "cap=2D"},
		{"zb_auto", "cap=none"},
		{"zb_auto", "cap=2.5 costs=5,6,4,1"},
		{"zb_v", "order=greedy costs=2,3,1"},
		{"search", "cap=1.5 tries=5 costs=2,3,1"},
	};

	all_sizes = all;
	for (size_t k = 0; k < sizeof(further) / sizeof(*further); k++) {
		sched_case c = {.ops = mr_schedule_find(further[k][0]), .sets = further[k][1]};

		CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
		sched_sizes(9, 24, &c, one_case);
	}
}
