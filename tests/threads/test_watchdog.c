/*
 * test_watchdog.c - what counts as a stall: no progress while the watchdog itself was running, and nothing else.
 *
 * The tests do not wait: they move seen_ns into the past instead.
 */
#include "threads/watchdog.h"

#include <string.h>

#include "check.h"
#include "host/clock.h"

#define SECOND ((uint64_t)1000000000)

#define N_WORKERS 4

static mr_run run;
static mr_worker worker[N_WORKERS];
static uint16_t worker_of[N_WORKERS] = {0, 1, 2, 3};
static mr_plan plan;

static void prepare(mr_watchdog *d, double seconds)
{
	memset(&run, 0, sizeof(run));
	memset(worker, 0, sizeof(worker));
	memset(&plan, 0, sizeof(plan));
	plan.n_stages = 2;
	plan.n_pipes = 1;
	plan.worker_of = worker_of;
	run.c.plan = &plan;
	run.n_workers = 2;
	run.n_stages = 2;
	run.worker = worker;
	mr_watchdog_init(d, seconds);
}

/* The next look, @ns after the last one. */
static mr_status look(mr_watchdog *d, uint64_t ns)
{
	d->stall.seen_ns = mr_clock_ns() - ns;
	return mr_watchdog_look(d, &run);
}

static void names_everybody(void)
{
	mr_watchdog d;

	prepare(&d, 2);
	atomic_store(&worker[0].doing, mr_doing_pack(MR_OP_F, 0, 0, 12));
	atomic_store(&worker[1].doing, mr_doing_pack(MR_OP_B, 0, 1, 7));
	atomic_store(&worker[1].waiter.why, MR_WAIT_UPSTREAM);
	for (int i = 0; i < 19; i++)
		MR_CHECK_OK(look(&d, SECOND / 10));
	MR_CHECK_FAIL(look(&d, SECOND / 5), MR_ESTALLED,
		      "seconds: w0 F m12 s0 computes; w1 B m7 s1 waits for its input; w0 stands");
}

/* Of several ranks each worker's is named; where one is lost, its name stands before what the workers do. */
static void names_ranks(void)
{
	mr_rank_host at[] = {{.host = "a"}, {.host = "b"}};
	uint32_t owner[] = {0, 1};
	mr_ranks ranks = {.n = 2, .at = at, .of_worker = owner, .n_workers = 2};
	mr_watchdog d;

	prepare(&d, 2);
	run.c.ranks = &ranks;
	plan.n_workers = 2;
	atomic_store(&worker[0].doing, mr_doing_pack(MR_OP_B, 0, 0, 3));
	atomic_store(&worker[0].waiter.why, MR_WAIT_UPSTREAM);
	atomic_store(&worker[1].doing, mr_doing_pack(MR_OP_F, 0, 1, 3));
	MR_CHECK_FAIL(mr_watchdog_stalled(&d, &run), MR_ESTALLED,
		      "w0 of rank 0 (host a) B m3 s0 waits for its input; w1 of rank 1 (host b) F m3 s1 computes; w1 "
		      "stands");
	(void)mr_fail(MR_ESTALLED, "rank 1 (host b) is gone");
	MR_CHECK_FAIL(mr_watchdog_lost(&run), MR_ESTALLED,
		      "rank 1 (host b) is gone; w0 of rank 0 (host a) B m3 s0 waits for its input; w1 of rank 1 (host "
		      "b) F m3 s1 computes");
	ranks.self = 1; /* it knows its own workers alone */
	(void)mr_fail(MR_ESTALLED, "rank 0 (host a) is gone");
	MR_CHECK_FAIL(mr_watchdog_lost(&run), MR_ESTALLED,
		      "rank 0 (host a) is gone; w1 of rank 1 (host b) F m3 s1 computes");
}

static void progress_starts_anew(void)
{
	mr_watchdog d;

	prepare(&d, 2);
	for (int i = 0; i < 100; i++) {
		if (i % 10 == 9)
			atomic_fetch_add(&worker[i % 2].beat, 1);
		MR_CHECK_OK(look(&d, SECOND / 10));
	}
}

/* A watchdog that was stopped itself has seen nothing: one look counts a quarter of the limit at most, and a second. */
static void stopped_with_the_rest(void)
{
	mr_watchdog d;

	prepare(&d, 0.5);
	for (int i = 0; i < 3; i++)
		MR_CHECK_OK(look(&d, 3600 * SECOND));
	prepare(&d, 30);
	for (int i = 0; i < 29; i++)
		MR_CHECK_OK(look(&d, 3600 * SECOND));
	CU_ASSERT_EQUAL(look(&d, 3600 * SECOND), MR_ESTALLED);
}

static void does(unsigned w, mr_op op, uint16_t stage, mr_wait_cause why)
{
	atomic_store(&worker[w].doing, mr_doing_pack((uint8_t)op, 0, stage, 5));
	atomic_store(&worker[w].waiter.why, why);
}

static void expect_stands(mr_watchdog *d, const char *thread, const char *text)
{
	run.n_workers = run.n_stages = plan.n_stages = N_WORKERS;
	for (int i = 0; i < 9; i++)
		MR_CHECK_OK(look(d, SECOND / 10));
	MR_CHECK_FAIL(look(d, SECOND / 5), MR_ESTALLED, text);
	CU_ASSERT_STRING_EQUAL(d->stands, thread);
}

/* Most that stand are victims: the chain of waits leads to the one that does not wait. */
static void follows_the_waits(void)
{
	mr_watchdog d;

	prepare(&d, 1);
	does(0, MR_OP_B, 0, MR_WAIT_UPSTREAM); /* of stage 1, which waits for stage 2, ... */
	does(1, MR_OP_B, 1, MR_WAIT_UPSTREAM);
	does(2, MR_OP_F, 2, MR_WAIT_DOWNSTREAM);
	does(3, MR_OP_B, 3, MR_WAIT_NONE);
	expect_stands(&d, "mr-w3", "w2 F m5 s2 waits for a free boundary buffer; w3 B m5 s3 computes; w3 stands");
	prepare(&d, 1);
	for (uint16_t w = 0; w < N_WORKERS; w++)
		does(w, MR_OP_F, w, w == 2 ? MR_WAIT_DOWNSTREAM : MR_WAIT_NONE);
	expect_stands(&d, "mr-w3", "; w3 stands"); /* the others compute for themselves */
	prepare(&d, 1);
	does(0, MR_OP_F, 0, MR_WAIT_DATA);
	for (uint16_t w = 1; w < N_WORKERS; w++)
		does(w, MR_OP_F, w, MR_WAIT_UPSTREAM);
	expect_stands(&d, "mr-loader", "; the loader stands");
	prepare(&d, 1);
	for (uint16_t w = 0; w < N_WORKERS; w++)
		does(w, MR_OP_U, w, w == 2 ? MR_WAIT_NONE : MR_WAIT_OPTIMIZER);
	expect_stands(&d, "mr-w2", "; w2 stands");
	prepare(&d, 1);
	for (uint16_t w = 0; w < N_WORKERS; w++)
		does(w, w ? MR_OP_F : MR_OP_B, w, MR_WAIT_UPSTREAM); /* w1 for w0, and w0 for w1 */
	expect_stands(&d, "", "; they wait for each other");
}

/* Without a figure: 20 times the longest instruction, at least 10 s, and a minute before there is one. */
static void automatic(void)
{
	static const struct {
		uint64_t longest;
		int seconds;
	} c[] = {{0, 60}, {1000, 10}, {SECOND / 2, 10}, {2 * SECOND, 40}};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		mr_watchdog d;

		prepare(&d, -1);
		atomic_store(&worker[1].longest_ns, c[i].longest);
		for (int k = 0; k < c[i].seconds - 1; k++)
			MR_CHECK_OK(look(&d, SECOND));
		CU_ASSERT_EQUAL(look(&d, SECOND), MR_ESTALLED);
	}
}

/* If operations are not measured, the longest finished time without progress is used for the longest operation. */
static void automatic_by_gaps(void)
{
	mr_watchdog d;

	prepare(&d, -1);
	for (int k = 0; k < 3; k++)
		MR_CHECK_OK(look(&d, SECOND));
	atomic_fetch_add(&worker[0].beat, 1);
	for (int k = 0; k < 60; k++)
		MR_CHECK_OK(look(&d, SECOND));
	CU_ASSERT_EQUAL(look(&d, SECOND), MR_ESTALLED);
}

static void zero_is_never(void)
{
	mr_watchdog d;

	prepare(&d, 0);
	for (int i = 0; i < 100; i++)
		MR_CHECK_OK(look(&d, 3600 * SECOND));
}

void mr_suite_watchdog(void)
{
	MR_SUITE("watchdog");
	MR_TEST(names_everybody);
	MR_TEST(names_ranks);
	MR_TEST(progress_starts_anew);
	MR_TEST(stopped_with_the_rest);
	MR_TEST(zero_is_never);
	MR_TEST(follows_the_waits);
	MR_TEST(automatic);
	MR_TEST(automatic_by_gaps);
}
