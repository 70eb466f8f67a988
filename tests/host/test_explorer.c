/*
 * Litmus tests of the explorer's own memory model: each small program must show exactly the outcomes that C11 allows.
 * If the model allowed less, the exploration of the rings would prove nothing; if it allowed more, it would blame
 * correct code.
 */
#include <string.h>

#include "check.h"
#include "host/explorer.h"
#include "host/explorer_scenarios.h"

static uint32_t x, y, data; /* the world */
static uint32_t r[4][4];    /* what thread t read, in order */
static uint32_t outcomes;   /* bit set by end() for each outcome seen */
static memory_order w_order, r_order;

static void init(void)
{
	memset(r, 0, sizeof(r));
	ex_init(&x, 0);
	ex_init(&y, 0);
	ex_plain(&data);
	for (uint32_t t = 0; t < 4; t++)
		ex_private(t, r[t], sizeof(r[t]));
}

static ex_report explore(uint32_t n_threads, ex_result (*op)(uint32_t, uint32_t), void (*end)(void))
{
	static const char name[] = "litmus";
	ex_scenario s = {.name = name, .n_threads = n_threads, .init = init, .op = op, .end = end};
	ex_report report;

	outcomes = 0;
	ex_explore(&s, &report);
	return report;
}

/* Store buffering: x = 1; read y  ||  y = 1; read x. */
static ex_result sb_op(uint32_t t, uint32_t k)
{
	(void)k;
	ex_store(t ? &y : &x, 1, w_order, 0);
	r[t][0] = ex_load(t ? &x : &y, r_order, 0);
	return EX_DONE;
}

static void two_bits(void)
{
	outcomes |= 1u << (2 * r[0][0] + r[1][0]);
}

static void test_store_buffering(void)
{
	w_order = r_order = memory_order_seq_cst;
	CU_ASSERT_FALSE(explore(2, sb_op, two_bits).failed);
	CU_ASSERT_EQUAL(outcomes, 0xeu); /* all but 0,0 */
	w_order = memory_order_release;
	explore(2, sb_op, two_bits);
	CU_ASSERT_EQUAL(outcomes, 0xfu);
	w_order = memory_order_seq_cst;
	r_order = memory_order_acquire;
	explore(2, sb_op, two_bits);
	CU_ASSERT_EQUAL(outcomes, 0xfu);
}

/* Message passing of a plain word: data = 7; x = 1  ||  if (x) read data. */
static ex_result mp_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t == 0) {
		ex_set(&data, 7);
		ex_store(&x, 1, w_order, 0);
	} else if (ex_load(&x, r_order, 0)) {
		EX_CHECK(ex_get(&data) == 7);
	}
	return EX_DONE;
}

static void test_message_passing(void)
{
	w_order = memory_order_release;
	r_order = memory_order_acquire;
	CU_ASSERT_FALSE(explore(2, mp_op, NULL).failed);
	w_order = memory_order_relaxed;
	CU_ASSERT_TRUE(explore(2, mp_op, NULL).failed);
	w_order = memory_order_release;
	r_order = memory_order_relaxed;
	CU_ASSERT_TRUE(explore(2, mp_op, NULL).failed);
}

/* Load buffering: read x; y = 1  ||  read y; x = 1. The model (and every compiler) leaves out 1,1. */
static ex_result lb_op(uint32_t t, uint32_t k)
{
	(void)k;
	r[t][0] = ex_load(t ? &y : &x, memory_order_relaxed, 0);
	ex_store(t ? &x : &y, 1, memory_order_relaxed, 0);
	return EX_DONE;
}

static void test_load_buffering(void)
{
	explore(2, lb_op, two_bits);
	CU_ASSERT_EQUAL(outcomes, 0x7u);
}

/* Coherence: x = 1; x = 2  ||  read x; read x. A later read never sees an older value. */
static ex_result co_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t == 0) {
		ex_store(&x, 1, memory_order_relaxed, 0);
		ex_store(&x, 2, memory_order_relaxed, 0);
	} else {
		r[1][0] = ex_load(&x, memory_order_relaxed, 0);
		r[1][1] = ex_load(&x, memory_order_relaxed, 0);
	}
	return EX_DONE;
}

static void pair_of_reader(void)
{
	outcomes |= 1u << (3 * r[1][0] + r[1][1]);
}

static void test_coherence(void)
{
	explore(2, co_op, pair_of_reader);
	CU_ASSERT_EQUAL(outcomes, 0x137u); /* 00 01 02 11 12 22 */
}

/* Two writers, two readers, all relaxed: the readers may not disagree about the order of the writes to one location. */
static ex_result corr_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t < 2) {
		ex_store(&x, t + 1, memory_order_relaxed, 0);
	} else {
		r[t][0] = ex_load(&x, memory_order_relaxed, 0);
		r[t][1] = ex_load(&x, memory_order_relaxed, 0);
	}
	return EX_DONE;
}

static void disagreement(void)
{
	outcomes |= r[2][0] == 1 && r[2][1] == 2 && r[3][0] == 2 && r[3][1] == 1;
	outcomes |= (r[2][0] == 1 && r[2][1] == 2) << 1;
	outcomes |= (r[2][0] == 2 && r[2][1] == 1) << 2;
}

static void test_coherence_of_readers(void)
{
	explore(4, corr_op, disagreement);
	CU_ASSERT_EQUAL(outcomes, 0x6u);
}

/* Independent reads of independent writes: seq_cst readers agree, acquiring ones need not. */
static ex_result iriw_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t < 2) {
		ex_store(t ? &y : &x, 1, w_order, 0);
	} else {
		r[t][0] = ex_load(t == 2 ? &x : &y, r_order, 0);
		r[t][1] = ex_load(t == 2 ? &y : &x, r_order, 0);
	}
	return EX_DONE;
}

static void iriw_end(void)
{
	outcomes |= r[2][0] == 1 && r[2][1] == 0 && r[3][0] == 1 && r[3][1] == 0;
}

static void test_independent_reads(void)
{
	w_order = r_order = memory_order_seq_cst;
	explore(4, iriw_op, iriw_end);
	CU_ASSERT_EQUAL(outcomes, 0u);
	w_order = memory_order_release;
	r_order = memory_order_acquire;
	explore(4, iriw_op, iriw_end);
	CU_ASSERT_EQUAL(outcomes, 1u);
}

/* Two exchanges never read the same message, however weak; and a release sequence goes through them. */
static ex_result rmw_op(uint32_t t, uint32_t k)
{
	(void)k;
	r[t][0] = ex_exchange(&x, t + 1, memory_order_relaxed, 0);
	return EX_DONE;
}

static void rmw_end(void)
{
	outcomes |= 1u << (r[0][0] == 0 && r[1][0] == 0);
}

static void test_exchange(void)
{
	explore(2, rmw_op, rmw_end);
	CU_ASSERT_EQUAL(outcomes, 1u);
}

static ex_result sequence_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t == 0) {
		ex_set(&data, 7);
		ex_store(&x, 1, memory_order_release, 0);
	} else if (t == 1) {
		r[1][0] = ex_exchange(&x, 2, memory_order_relaxed, 0);
		ex_store(&y, r[1][0], memory_order_relaxed, 0);
	} else if (ex_load(&y, memory_order_relaxed, 0) == 1 && ex_load(&x, memory_order_acquire, 0) == 2) {
		EX_CHECK(ex_get(&data) == 7);
	}
	return EX_DONE;
}

static void test_release_sequence(void)
{
	CU_ASSERT_FALSE(explore(3, sequence_op, NULL).failed);
}

/* A thread that sleeps and is not woken is a failure; one that is woken is not; a changed word does not sleep. */
static ex_result futex_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t == 0) {
		while (ex_load(&x, memory_order_seq_cst, 0) == 0)
			ex_futex_wait(&x, 0);
	} else {
		ex_store(&x, 1, memory_order_seq_cst, 0);
		if (w_order == memory_order_release)
			ex_futex_wake(&x);
	}
	return EX_DONE;
}

static void test_futex(void)
{
	ex_report report;

	w_order = memory_order_release;
	CU_ASSERT_FALSE(explore(2, futex_op, NULL).failed);
	w_order = memory_order_relaxed; /* here: no wake */
	report = explore(2, futex_op, NULL);
	CU_ASSERT_TRUE(report.failed);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.what, "lost wake-up"));
}

/* The code itself in its smallest cases, where most weakened orders show; slow_explorer_rings.c has them all. */
static void test_smallest_cases(void)
{
	static const exs_case cases[] = {
		{EXS_POLL_STOP, 1, 1, 0, false, 0}, {EXS_TRY, 1, 3, 0, false, 0},
		{EXS_TRY, 2, 5, 0, false, 0},       {EXS_EVENT, 1, 2, 0, false, 0},    {EXS_RING, 1, 2, 0, false, 0},
		{EXS_STOP_POP, 1, 1, 0, false, 0},  {EXS_STOP_ALL, 1, 0, 0, false, 0}, {EXS_PAIR, 1, 2, 0, false, 0},
		{EXS_TWO, 1, 1, 0, false, 0},       {EXS_RING, 1, 3, 0, false, 0},
	};
	static ex_report report;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		exs_run(&cases[i], &report);
		if (report.failed)
			fprintf(stderr, "\n%s\n%s", report.what, report.trace);
		CU_ASSERT(!report.failed && report.n_ends > 0);
	}
}

void mr_suite_explorer(void); /* the runner declares it too */

void mr_suite_explorer(void)
{
	MR_SUITE("explorer");
	MR_TEST(test_store_buffering);
	MR_TEST(test_message_passing);
	MR_TEST(test_load_buffering);
	MR_TEST(test_coherence);
	MR_TEST(test_coherence_of_readers);
	MR_TEST(test_independent_reads);
	MR_TEST(test_exchange);
	MR_TEST(test_release_sequence);
	MR_TEST(test_futex);
	MR_TEST(test_smallest_cases);
}
