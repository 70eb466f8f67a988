/* slow_torture.c - 60 random small configurations: engine, replay and sequential training agree to the bit. */
#include "check.h"
#include "torture.h"

static void torture(void)
{
	torture_run(0, 60);
}

void mr_suite_torture(void)
{
	MR_SUITE("torture");
	MR_TEST(torture);
}
