/*
 * The checker against mutants of every registered system's plans (tests/ir/mutate.h): a new line in schedules.def is tested here
 * by itself.
 */
#include "check.h"
#include "ir/mutate.h"
#include "sched_help.h"

static uint32_t n_plans;
static mutation_tally tally[N_MUTATIONS];

static void one_case(const sched_case *c)
{
	mr_plan *plan = sched_try_emit(c);
	char name[128];

	if (!plan)
		return; /* with a sentence */
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

void mr_suite_mutations(void);
void mr_suite_mutations(void)
{
	MR_SUITE("mutations");
	MR_TEST(of_registered_systems);
}
