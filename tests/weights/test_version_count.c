/* Live versions counted from events, against numbers worked out by hand and against what the definition says of random
 * ones. */
#include "weights/version_count.h"

#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"

static _Alignas(64) uint8_t memory[4096];

static void begin(mr_version_count *t, uint32_t cap, uint64_t latest)
{
	mr_arena a;

	memset(t, 0, sizeof(*t));
	mr_arena_init(&a, memory, sizeof(memory));
	mr_version_count_layout(t, &a, cap);
	mr_version_count_begin(t, latest);
}

/* As pipedream's first of three stages goes: each backward reads what is two commits old by then, and commits. */
static void stashed(void)
{
	mr_version_count t;

	begin(&t, 3, 0);
	CU_ASSERT_EQUAL(t.live, 1);
	CU_ASSERT_EQUAL(t.n_buffers, 1);
	mr_version_count_read(&t, 0); /* backwards 0 to 2: their forwards were the first */
	mr_version_count_made(&t, 1);
	CU_ASSERT_EQUAL(t.live, 1); /* whether 0 is live is not known yet */
	mr_version_count_read(&t, 0);
	CU_ASSERT_EQUAL(t.live, 2);
	mr_version_count_made(&t, 2);
	mr_version_count_read(&t, 0);
	CU_ASSERT_EQUAL(t.live, 2); /* 0 and 2 beside nothing: 1 has not been read */
	mr_version_count_made(&t, 3);
	mr_version_count_read(&t, 1);
	CU_ASSERT_EQUAL(t.live, 3); /* so it was live when 2 was made */
	CU_ASSERT_EQUAL(t.n_buffers, 3);
}

/* One that is never read again is dead when the next is made. */
static void overwritten(void)
{
	mr_version_count t;

	begin(&t, 1, 0);
	for (uint64_t v = 1; v < 9; v++) {
		mr_version_count_read(&t, v - 1);
		mr_version_count_made(&t, v);
	}
	CU_ASSERT_EQUAL(t.live, 1);
	CU_ASSERT_EQUAL(t.n_buffers, 1);
}

/* A step that is taken back and taken again makes no version more. */
static void made_again(void)
{
	mr_version_count t;

	begin(&t, 2, 0);
	mr_version_count_made(&t, 1);
	mr_version_count_read(&t, 0);
	mr_version_count_made(&t, 1);
	mr_version_count_read(&t, 0);
	CU_ASSERT_EQUAL(t.live, 2);
}

/* Where a run is resumed older versions lie in their buffers, and are live as far as they are read. */
static void from_the_middle(void)
{
	mr_version_count t;

	begin(&t, 4, 10);
	CU_ASSERT_EQUAL(t.live, 1);
	CU_ASSERT_EQUAL(t.n_buffers, 4);
	mr_version_count_read(&t, 8);
	CU_ASSERT_EQUAL(t.live, 2);
	mr_version_count_read(&t, 7);
	CU_ASSERT_EQUAL(t.live, 3);
	begin(&t, 4, 1);
	CU_ASSERT_EQUAL(t.n_buffers, 2);
}

enum { EVENTS = 60, CAP = 5 };

/* By the definition: at each moment the latest, and all that are read later. @read [EVENTS]: UINT64_MAX makes the next
 * version. */
static uint32_t by_definition(const uint64_t *read)
{
	uint64_t latest = 0;
	uint32_t most = 1;

	for (uint32_t at = 0; at < EVENTS; at++) {
		uint32_t n = 1;

		latest += read[at] == UINT64_MAX;
		for (uint64_t v = latest > CAP ? latest - CAP : 0; v < latest; v++) {
			bool later = false;

			for (uint32_t k = at + 1; k < EVENTS; k++)
				later = later || read[k] == v;
			n += later;
		}
		most = n > most ? n : most;
	}
	return most;
}

static uint32_t below(uint32_t n, int round, int i, uint32_t which)
{
	return mr_rng_u32(7, MR_RNG_TEST, (uint64_t)round, (uint32_t)i, which) % n;
}

static void as_defined(void)
{
	for (int round = 0; round < 500; round++) {
		uint64_t read[EVENTS], latest = 0;
		mr_version_count t;

		begin(&t, CAP, 0);
		for (int i = 0; i < EVENTS; i++) {
			uint64_t window = latest < CAP - 1 ? latest : CAP - 1;

			read[i] =
				below(3, round, i, 0) ? latest - below((uint32_t)window + 1, round, i, 1) : UINT64_MAX;
			if (read[i] == UINT64_MAX)
				mr_version_count_made(&t, ++latest);
			else
				mr_version_count_read(&t, read[i]);
		}
		CU_ASSERT_EQUAL(t.live, by_definition(read));
	}
}

void mr_suite_version_count(void)
{
	MR_SUITE("version_count");
	MR_TEST(stashed);
	MR_TEST(overwritten);
	MR_TEST(made_again);
	MR_TEST(from_the_middle);
	MR_TEST(as_defined);
}
