/*
 * The checker against mutants of the golden orders and of small plans of all kinds: one thing is changed in a lowered
 * plan, and then it is either refused with a message that names the culprit, or brute force finds nothing wrong with
 * it either.
 */
#include <string.h>

#include "check.h"
#include "golden_files.h"
#include "lower/lower.h"
#include "ir/plan_json.h"
#include "mutate.h"
#include "small_plans.h"

static void add_up(const mutation_tally *tally, mutation_tally *sum)
{
	*sum = (mutation_tally){0};
	for (int k = 0; k < N_MUTATIONS; k++) {
		sum->made += tally[k].made;
		sum->detected += tally[k].detected;
		sum->strict += tally[k].strict;
		sum->harmless += tally[k].harmless;
		sum->explored += tally[k].explored;
		sum->deadlocks += tally[k].deadlocks;
		CU_ASSERT_EQUAL(tally[k].made, tally[k].detected + tally[k].strict + tally[k].harmless);
	}
}

static void one_golden(void *tally, const char *path, uint32_t number)
{
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_plan_json_read(path, &plan));
	MR_CHECK_OK(mr_plan_lower(plan, &(mr_lower_opts){.update_inside = number % 2}));
	mutate_plan(strrchr(path, '/') + 1, plan, 2, number, tally);
	mr_plan_destroy(plan);
}

static void of_golden_orders(void)
{
	mutation_tally tally[N_MUTATIONS] = {0}, sum;

	CU_ASSERT(mr_golden_each("sync", one_golden, tally) >= 50);
	mutation_print(tally);
	add_up(tally, &sum);
	CU_ASSERT_TRUE(sum.made >= 1000);
	CU_ASSERT_TRUE(sum.detected >= 1000);
	CU_ASSERT_TRUE(sum.deadlocks >= 10);
	CU_ASSERT_TRUE(sum.strict * 20 < sum.detected);
}

static void of_small_plans(void)
{
	mutation_tally tally[N_MUTATIONS] = {0}, sum;
	const char *name;
	mr_plan *plan;

	for (int number = 0; (plan = small_plan(number, &name)); number++) {
		MR_CHECK_OK(mr_plan_lower(plan, &(mr_lower_opts){.update_inside = number % 2}));
		mutate_plan(name, plan, 4, 1000u + (uint32_t)number, tally);
		mr_plan_destroy(plan);
	}
	mutation_print(tally);
	add_up(tally, &sum);
	CU_ASSERT_TRUE(sum.made >= 1000);
	CU_ASSERT_TRUE(sum.detected >= 800);
	CU_ASSERT_TRUE(sum.explored >= 20); /* what is accepted was looked at in every interleaving */
	CU_ASSERT_TRUE(sum.strict * 20 < sum.detected);
}

void mr_suite_mutations(void);
void mr_suite_mutations(void)
{
	MR_SUITE("mutations");
	MR_TEST(of_golden_orders);
	MR_TEST(of_small_plans);
}
