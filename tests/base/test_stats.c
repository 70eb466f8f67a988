#include "base/stats.h"

#include <math.h>
#include <string.h>

#include "check.h"

static void test_median(void)
{
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7}, equal[] = {2, 2, 2, 2};

	CU_ASSERT_EQUAL(mr_median(odd, 3), 3);
	CU_ASSERT_EQUAL(odd[0], 1); /* sorted in place */
	CU_ASSERT_EQUAL(odd[2], 5);
	CU_ASSERT_EQUAL(mr_median(even, 4), 2.5);
	CU_ASSERT_EQUAL(mr_median(one, 1), 7);
	CU_ASSERT_EQUAL(mr_median(equal, 4), 2);
	CU_ASSERT_TRUE(isnan(mr_median(NULL, 0)));
}

/* Figures of R's quantile(x, type = 7). */
static void test_quartiles(void)
{
	double x[] = {15, 6, 7, 36, 39, 40, 41, 42, 43, 47, 49};
	double y[] = {7, 15, 36, 39, 40, 41};
	mr_quartiles q = mr_quartiles_of(x, 11);

	CU_ASSERT_EQUAL(q.min, 6);
	CU_ASSERT_EQUAL(q.q1, 25.5);
	CU_ASSERT_EQUAL(q.median, 40);
	CU_ASSERT_EQUAL(q.q3, 42.5);
	CU_ASSERT_EQUAL(q.max, 49);
	q = mr_quartiles_of(y, 6);
	CU_ASSERT_EQUAL(q.q1, 20.25);
	CU_ASSERT_EQUAL(q.median, 37.5);
	CU_ASSERT_EQUAL(q.q3, 39.75);
	q = mr_quartiles_of(NULL, 0);
	CU_ASSERT_TRUE(isnan(q.min) && isnan(q.max));
}

static void test_hash_is_pinned(void)
{
	CU_ASSERT_EQUAL(mr_hash64(0, "", 0), 0xb1acedd695565d40);
	CU_ASSERT_EQUAL(mr_hash64(0, "hello, world", 12), 0x229378bfd7e39a64);
	CU_ASSERT_EQUAL(mr_hash64(1, "12345678", 8), 0x261c0c7fe4127089);
}

/* Any one flipped bit and any two flipped bits of a block change the hash; so do length, split and seed. */
static void test_hash_sees_flips(void)
{
	uint8_t bytes[40];
	uint64_t base, hashes[320];

	memset(bytes, 0, sizeof(bytes));
	base = mr_hash64(0, bytes, sizeof(bytes));
	for (unsigned i = 0; i < 320; i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		hashes[i] = mr_hash64(0, bytes, sizeof(bytes));
		CU_ASSERT_NOT_EQUAL(hashes[i], base);
		for (unsigned j = 0; j < i; j++) {
			CU_ASSERT_NOT_EQUAL_FATAL(hashes[i], hashes[j]);
			bytes[j / 8] ^= (uint8_t)(1 << j % 8);
			CU_ASSERT_NOT_EQUAL_FATAL(mr_hash64(0, bytes, sizeof(bytes)), base);
			bytes[j / 8] ^= (uint8_t)(1 << j % 8);
		}
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t len = 0; len < sizeof(bytes); len++)
		CU_ASSERT_NOT_EQUAL(mr_hash64(0, bytes, len), base);
	CU_ASSERT_NOT_EQUAL(mr_hash64(1, bytes, sizeof(bytes)), base);
	CU_ASSERT_NOT_EQUAL(mr_hash64(mr_hash64(0, "ab", 2), "c", 1), mr_hash64(mr_hash64(0, "a", 1), "bc", 2));
}

void mr_suite_stats(void); /* the runner declares it too */

void mr_suite_stats(void)
{
	MR_SUITE("stats");

	MR_TEST(test_median);
	MR_TEST(test_quartiles);
	MR_TEST(test_hash_is_pinned);
	MR_TEST(test_hash_sees_flips);
}
