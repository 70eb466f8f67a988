/* long_torture_long.c - 1000 random small configurations: engine, replay and sequential training agree to the bit. */
#include "check.h"
#include "torture.h"

static void torture(void)
{
	torture_run(0, 1000);
}

void mr_suite_torture_long(void)
{
	MR_SUITE("torture_long");
	MR_TEST(torture);
}
