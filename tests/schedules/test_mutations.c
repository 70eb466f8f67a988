/*
 * The checker against mutants of every registered system's plans (tests/lower/mutate.h): a new line in schedules.def is
 * tested here by itself.
 */
#include "check.h"
#include "lower/check.h"
#include "lower/mutate.h"
#include "ir/steal.h"
#include "sched_help.h"

static uint32_t n_plans;
static mutation_tally tally[N_MUTATIONS];

static void one_case(const sched_case *c)
{
	mr_plan *plan = sched_try_emit(c);
	char name[128];

	if (!plan)
		return; /* with a message */
	mr_plan_destroy(plan);
	plan = sched_lowered(c);
	snprintf(name, sizeof(name), "%s D=%u T=%u v=%u %s=%s %s", c->ops->name, c->n_workers, c->n_micro, c->chunks,
		 c->option ? c->option : "-", c->value ? c->value : "-", c->finite ? "finite" : "");
	mutate_plan(name, plan, 1, 5000 + n_plans++, tally);
	mr_plan_destroy(plan);
}

/* Two workers and four micro-batches; where no option is changed, also three and three. */
static void some(const sched_case *c)
{
	if ((c->n_workers == 3 && c->n_micro == 3 && !c->option) || (c->n_workers == 2 && c->n_micro == 4))
		one_case(c);
}

static void of_registered_systems(void)
{
	mutation_tally sum = {0};

	sched_grid(3, 4, some);
	mutation_print(tally);
	for (int k = 0; k < N_MUTATIONS; k++) {
		sum.made += tally[k].made;
		sum.detected += tally[k].detected;
		sum.strict += tally[k].strict;
		sum.explored += tally[k].explored;
	}
	CU_ASSERT_TRUE(n_plans >= 40);
	CU_ASSERT_TRUE(sum.made >= 800);
	CU_ASSERT_TRUE(sum.detected * 2 > sum.made);
	CU_ASSERT_TRUE(sum.strict * 20 < sum.detected);
	CU_ASSERT_TRUE(sum.explored >= 20);
}

/* Every second of the W that any worker may take goes to the worker behind, at one place or another of its end. */
static size_t some_moves(const mr_plan *p, mr_steal *to)
{
	size_t n = 0;

	for (uint16_t thief = 0; thief < p->n_workers; thief++) {
		uint16_t owner = (uint16_t)((thief + 1) % p->n_workers);
		const mr_list *l = mr_plan_list(p, owner, MR_BODY);
		uint32_t end = mr_plan_list(p, thief, MR_BODY)->n;

		for (uint32_t i = 0, k = 0; i < l->n; i++)
			if (l->at[i].flags & MR_INSTR_ANY && k++ % 2)
				to[n++] = (mr_steal){0, owner, thief, i, end - (owner == thief || k < 3)};
	}
	return n;
}

/* Stages whose replicas take turns, and pipelines that drain: lists that end, and lists that repeat. */
static void of_turns(void)
{
	static const struct {
		const char *sets;
		uint16_t n_workers;
		uint32_t n_micro;
	} cases[] = {
		{"replicas=[2,1]", 3, 4},         {"replicas=[1,2]", 3, 6}, {"replicas=[2,2]", 4, 4},
		{"replicas=[1,2,1]", 4, 4},       {"replicas=[3,1]", 4, 6}, {"replicas=[2,1] stashing=false", 3, 6},
		{"replicas=[2,1] drain=4", 3, 8}, {"drain=3", 2, 6},        {"drain=2 vertical_sync=true", 3, 4}};
	mutation_tally of[N_MUTATIONS] = {{0}}, sum = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int finite = 0; finite < 2; finite++) {
			sched_case c = {.ops = mr_schedule_find("pipedream"),
					.n_workers = cases[i].n_workers,
					.n_micro = cases[i].n_micro,
					.finite = finite,
					.sets = cases[i].sets};
			mr_plan *plan = sched_lowered(&c);
			char why[80];

			if (!brute_all(plan, why))
				fprintf(stderr, "\n%s: %s\n", cases[i].sets, why);
			CU_ASSERT_TRUE_FATAL(brute_all(plan, why));
			mutate_plan(cases[i].sets, plan, 6, (uint32_t)(900 + 2 * i) + (uint32_t)finite, of);
			mr_plan_destroy(plan);
		}
	for (int k = 0; k < N_MUTATIONS; k++) {
		sum.made += of[k].made;
		sum.detected += of[k].detected;
		sum.strict += of[k].strict;
	}
	mutation_print(of);
	CU_ASSERT_TRUE(sum.made >= 800);
	CU_ASSERT_TRUE(sum.detected * 2 > sum.made);
	CU_ASSERT_TRUE(sum.strict * 20 < sum.detected);
}

/* Workers that commit when their gradients arrive. */
static void of_arrivals(void)
{
	static const char *const times[] = {"times=[1,2,4]", "times=[2,1,2]", "times=[3,1,2] data=own rescaled=true"};
	mutation_tally of[N_MUTATIONS] = {{0}}, sum = {0};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		for (int finite = 0; finite < 2; finite++) {
			sched_case c = {.ops = mr_schedule_find("asgd"),
					.n_workers = 3,
					.n_micro = 9,
					.finite = finite,
					.sets = times[i]};
			mr_plan *plan = sched_lowered(&c);
			char why[80];

			CU_ASSERT_TRUE_FATAL(brute_all(plan, why));
			mutate_plan(times[i], plan, 6, (uint32_t)(400 + 2 * i) + (uint32_t)finite, of);
			mr_plan_destroy(plan);
		}
	for (int k = 0; k < N_MUTATIONS; k++) {
		sum.made += of[k].made;
		sum.detected += of[k].detected;
		sum.strict += of[k].strict;
	}
	mutation_print(of);
	CU_ASSERT_TRUE(sum.made >= 200);
	CU_ASSERT_TRUE(sum.detected * 2 > sum.made);
	CU_ASSERT_TRUE(sum.strict * 20 < sum.detected);
}

/*
 * One copy of the weights, and a part whose next forward reads it before its own step. Until it has reduced its range
 * of the sum no part steps; after that another part may have stepped, in place.
 */
static void a_forward_before_the_own_step(void)
{
	sched_case c = {.ops = mr_schedule_find("pipedream"),
			.n_workers = 3,
			.n_micro = 4,
			.finite = true,
			.sets = "replicas=[1,2] stashing=false"};
	mr_plan *plan = sched_lowered(&c);
	mr_list *l = mr_plan_list(plan, 1, MR_PROLOGUE); /* F0 B0 AR U F2 B2 AR U */
	mr_instr f = l->at[4];
	char why[80];

	CU_ASSERT_FATAL(l->n == 8 && f.op == MR_OP_F && l->at[2].op == MR_OP_AR && plan->n_versions[1] == 1);
	MR_CHECK_OK(mr_plan_check(plan));
	f.read = 0;
	l->at[4] = l->at[3];
	l->at[3] = l->at[2];
	l->at[2] = f; /* F0 B0 F2 AR U B2 AR U */
	MR_CHECK_OK(mr_plan_check(plan));
	CU_ASSERT_TRUE(brute_all(plan, why));
	l->at[2] = l->at[3];
	l->at[3] = f; /* F0 B0 AR F2 U B2 AR U */
	MR_CHECK_FAIL(mr_plan_check(plan), MR_ECONFIG, "reads version 0, which version 1 has overwritten");
	CU_ASSERT_FALSE(brute_all(plan, why));
	mr_plan_destroy(plan);
}

/* Plans in which W stand with other workers than their stages'. */
static void of_moved_weights(void)
{
	static const char *const systems[] = {"zb_h1", "zb_h2", "zb_v", "interleaved_zb"};
	mutation_tally moved[N_MUTATIONS] = {{0}}, sum = {0};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (uint16_t d = 2; d <= 3; d++) {
			sched_case c = {.ops = mr_schedule_find(systems[i]),
					.n_workers = d,
					.n_micro = 4,
					.option = "steal",
					.value = "true"};
			mr_plan *plan = sched_lowered(&c), *after;
			mr_steal move[64];
			size_t n = some_moves(plan, move);

			CU_ASSERT_TRUE(n > 0);
			MR_CHECK_OK(mr_steal_plan(plan, 1, move, n, &after));
			MR_CHECK_OK(mr_plan_check(after));
			mutate_plan(systems[i], after, 6, 77 + d, moved);
			mr_plan_destroy(after);
			mr_plan_destroy(plan);
		}
	mutation_print(moved);
	for (int k = 0; k < N_MUTATIONS; k++) {
		sum.made += moved[k].made;
		sum.detected += moved[k].detected;
		sum.strict += moved[k].strict;
	}
	CU_ASSERT_TRUE(sum.made >= 500);
	CU_ASSERT_TRUE(sum.detected * 2 > sum.made);
	CU_ASSERT_TRUE(sum.strict * 20 < sum.detected);
}

void mr_suite_mutations(void);
void mr_suite_mutations(void)
{
	MR_SUITE("mutations");
	MR_TEST(of_registered_systems);
	MR_TEST(of_turns);
	MR_TEST(of_arrivals);
	MR_TEST(a_forward_before_the_own_step);
	MR_TEST(of_moved_weights);
}
