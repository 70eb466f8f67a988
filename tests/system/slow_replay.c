/* slow_replay.c - the engine equals its replay to the bit, 5 delayed runs a case. */
#include "check.h"
#include "replay_cases.h"

/* The thread sanitizer takes ten times as long, and sees an edge that is missing in one run as well as in five. */
#ifdef __SANITIZE_THREAD__
#define RUNS 1
#else
#define RUNS 5
#endif

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
