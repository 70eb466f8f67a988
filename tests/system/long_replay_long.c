/* long_replay_long.c - the engine equals its replay to the bit, 50 delayed runs a case. */
#include "check.h"
#include "replay_cases.h"

#define RUNS 50

/* The flushing systems are many, and 20 runs is what is asked of them. */
static uint32_t runs_of(void (*replay)(uint32_t))
{
	return replay == replay_flushing ? 20 : RUNS;
}

#define CASE(name) \
	static void name(void) \
	{ \
		replay_##name(runs_of(replay_##name)); \
	}
REPLAY_CASES(CASE)

#undef CASE

void mr_suite_replay_long(void)
{
	MR_SUITE("replay_long");
#define CASE(name) MR_TEST(name);
	REPLAY_CASES(CASE)
#undef CASE
}
