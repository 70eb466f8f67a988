/* Mitigations with every system and optimizer, all of the combinations: train and equal their replay, or are refused
 * for a listed reason. */
#include "check.h"
#include "mitigation_cases.h"

static void matrix(void)
{
	mitigation_matrix(1);
}

static void races(void)
{
	mitigation_races(1);
}

void mr_suite_mitigation_laws_long(void);
void mr_suite_mitigation_laws_long(void)
{
	MR_SUITE("mitigation_laws_long");
	MR_TEST(matrix);
	MR_TEST(races);
}
