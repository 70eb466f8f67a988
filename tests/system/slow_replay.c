/* slow_replay.c - the engine equals its replay to the bit, 5 delayed runs a case. */
#include "check.h"
#include "replay_cases.h"

/* The thread sanitizer takes ten times as long, and sees an edge that is missing in one run as well as in five. */
#ifdef __SANITIZE_THREAD__
#define RUNS 1
#else
#define RUNS 5
#endif

static void pipedream(void)
{
	replay_pipedream(RUNS);
}

static void vertical_sync(void)
{
	replay_vertical_sync(RUNS);
}

static void no_stash(void)
{
	replay_no_stash(RUNS);
}

static void accumulating(void)
{
	replay_accumulating(RUNS);
}

static void aiming(void)
{
	replay_aiming(RUNS);
}

static void mitigated(void)
{
	replay_mitigated(RUNS);
}

static void replicas(void)
{
	replay_replicas(RUNS);
}

static void flushing(void)
{
	replay_flushing(RUNS);
}

static void gpt(void)
{
	replay_gpt(RUNS);
}

static void drawn(void)
{
	replay_drawn(RUNS);
}

static void dnnl(void)
{
	replay_dnnl(RUNS);
}

void mr_suite_replay(void)
{
	MR_SUITE("replay");
	MR_TEST(pipedream);
	MR_TEST(vertical_sync);
	MR_TEST(no_stash);
	MR_TEST(accumulating);
	MR_TEST(aiming);
	MR_TEST(mitigated);
	MR_TEST(replicas);
	MR_TEST(flushing);
	MR_TEST(gpt);
	MR_TEST(drawn);
	MR_TEST(dnnl);
}
