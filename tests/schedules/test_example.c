/* The system of schedules/WRITING.md keeps the laws to which every system is held. system.pages compares the page. */
#include "check.h"
#include "laws.h"

extern const mr_sched_ops mr_sched_groups;

static uint32_t n_cases;

static void one_case(const sched_case *c)
{
	mr_plan *plan = sched_lowered(c);

	laws_of_plan(c, plan);
	mr_plan_destroy(plan);
	n_cases++;
}

static void example_keeps_its_claims(void)
{
	static const char *const groups[] = {"1", "2", "3", "8"};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		sched_sizes(5, 8, &(sched_case){.ops = &mr_sched_groups, .option = "group", .value = groups[i]},
			    one_case);
	CU_ASSERT(n_cases >= 4 * 5 * 8);
}

void mr_suite_example(void)
{
	MR_SUITE("example");
	MR_TEST(example_keeps_its_claims);
}
