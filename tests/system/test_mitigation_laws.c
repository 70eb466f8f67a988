/* Every mitigation with every system, and each with a fifth of the optimizers but at least one: train and equal their
 * replay, or are refused for a listed reason. long_mitigation_laws_long.c has all combinations. */
#include "check.h"
#include "mitigation_cases.h"

static void matrix(void)
{
	mitigation_matrix(5);
}

static void races(void)
{
	mitigation_races(5);
}

void mr_suite_mitigation_laws(void);
void mr_suite_mitigation_laws(void)
{
	MR_SUITE("mitigation_laws");
	MR_TEST(mitigation_table);
	MR_TEST(matrix);
	MR_TEST(races);
}
