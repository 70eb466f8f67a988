/* slow_replay.c - the engine equals its replay to the bit, 5 delayed runs a case. */
#include "check.h"
#include "replay_cases.h"
#include "rig.h"

/* The thread sanitizer sees an edge that is missing in one run as well as in five. */
#define RUNS (RIG_TSAN ? 1 : 5)

#define CASE(name) \
	static void name(void) \
	{ \
		replay_##name(RUNS); \
	}
REPLAY_CASES(CASE)

#undef CASE

void mr_suite_replay(void)
{
	MR_SUITE("replay");
#define CASE(name) MR_TEST(name);
	REPLAY_CASES(CASE)
#undef CASE
}
