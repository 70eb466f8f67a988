/* Mitigations with every system and optimizer, a fifth of the combinations: train and equal their replay, or are
 * refused for a listed reason. */
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
