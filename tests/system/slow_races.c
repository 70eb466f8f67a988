/* slow_races.c - races against their records, 20 a case (race_cases.h). */
#include "check.h"
#include "race_cases.h"

static void mlp(void)
{
	races_mlp(RACE_RUNS);
}

static void gpt(void)
{
	races_gpt(RACE_RUNS);
}

void mr_suite_races(void)
{
	MR_SUITE("races");
	MR_TEST(mlp);
	MR_TEST(gpt);
}
