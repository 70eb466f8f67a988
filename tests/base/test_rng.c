#include "base/rng.h"

#include <math.h>
#include <string.h>

#include "check.h"

/* kat_vectors of the Random123 distribution, lines "philox4x32 10". */
static void test_philox_known_answers(void)
{
	static const struct {
		uint32_t ctr[4], key[2], out[4];
	} known[] = {
		{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
		 {0xffffffff, 0xffffffff},
		 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
		 {0xa4093822, 0x299f31d0},
		 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t out[4];

		mr_philox4x32(known[i].ctr, known[i].key, out);
		CU_ASSERT_EQUAL(memcmp(out, known[i].out, sizeof(out)), 0);
	}
}

/* Elements @element and @element ^ 1. */
static uint64_t pair(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element)
{
	return (uint64_t)mr_rng_u32(seed, purpose, sample, layer, element) << 32 |
	       mr_rng_u32(seed, purpose, sample, layer, element ^ 1);
}

/* Flipping any single bit of any argument changes the number, and no two flips give the same pair of numbers. */
static void test_every_bit_counts(void)
{
	uint64_t seen[64 + 64 + 32 + 64 + MR_RNG_N_PURPOSES];
	size_t n = 0;

	for (uint32_t bit = 0; bit < 64; bit++) {
		uint64_t b = (uint64_t)1 << bit;

		seen[n++] = pair(5 ^ b, MR_RNG_TEST, 6, 7, 8);
		seen[n++] = pair(5, MR_RNG_TEST, 6 ^ b, 7, 8);
		seen[n++] = pair(5, MR_RNG_TEST, 6, 7, 8 ^ b);
		if (bit < 32)
			seen[n++] = pair(5, MR_RNG_TEST, 6, 7 ^ (uint32_t)b, 8);
	}
	for (int p = 0; p < MR_RNG_N_PURPOSES; p++)
		seen[n++] = pair(5, (mr_rng_purpose)p, 6, 7, 8);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(seen[i], seen[j]);
}

static void test_block_is_four_words(void)
{
	uint32_t w[4];

	for (uint64_t block = 0; block < 50; block++) {
		mr_rng_block(1, MR_RNG_DROPOUT, 2, 3, block, w);
		for (uint64_t k = 0; k < 4; k++)
			CU_ASSERT_EQUAL(w[k], mr_rng_u32(1, MR_RNG_DROPOUT, 2, 3, 4 * block + k));
	}
}

/* Runs, checkpoints and recorded numbers rely on these bits: a change here is a change of every run. */
static void test_bits_are_pinned(void)
{
	mr_permute p;

	CU_ASSERT_EQUAL(mr_rng_u32(1, MR_RNG_INIT, 0, 0, 0), 0x73900b31);
	CU_ASSERT_EQUAL(mr_rng_u32(42, MR_RNG_DROPOUT, (uint64_t)1 << 40, 3, ((uint64_t)1 << 36) + 5), 0x87549354);
	CU_ASSERT_EQUAL(mr_rng_uniform(1, MR_RNG_TEST, 2, 3, 4), 0x1.03052b839087cp-1);
	CU_ASSERT_EQUAL(mr_rng_normal(1, MR_RNG_INIT, 0, 2, 5), -0x1.c46eed116fa48p-4);
	mr_permute_init(&p, 1000, 7, 3);
	CU_ASSERT_EQUAL(mr_permute_at(&p, 0), 252);
	CU_ASSERT_EQUAL(mr_permute_at(&p, 999), 50);
}

#define N_DRAWS 200000

static void test_uniform(void)
{
	double sum = 0, squares = 0, low = 1, high = 0;
	int bins[16] = {0};

	for (uint64_t i = 0; i < N_DRAWS; i++) {
		double x = mr_rng_uniform(11, MR_RNG_TEST, 0, 0, i);

		CU_ASSERT_TRUE_FATAL(x >= 0 && x < 1);
		sum += x;
		squares += x * x;
		low = fmin(low, x);
		high = fmax(high, x);
		bins[(int)(x * 16)]++;
	}
	CU_ASSERT_DOUBLE_EQUAL(sum / N_DRAWS, 0.5, 4 / sqrt(12.0 * N_DRAWS)); /* 4 sigma; the seed is fixed */
	CU_ASSERT_DOUBLE_EQUAL(squares / N_DRAWS, 1.0 / 3, 0.003);
	CU_ASSERT_TRUE(low < 1e-4 && high > 1 - 1e-4);
	for (int b = 0; b < 16; b++)
		CU_ASSERT_TRUE(abs(bins[b] - N_DRAWS / 16) < 4 * 110); /* sigma = sqrt(n 1/16 15/16) = 108 */
}

static void test_normal_moments(void)
{
	double m1 = 0, m2 = 0, m3 = 0, m4 = 0, cross = 0, last = 0;

	for (uint64_t block = 0; block < N_DRAWS / 4; block++) {
		double x[4];

		mr_rng_normal4(12, MR_RNG_TEST, 0, 0, block, x);
		for (int k = 0; k < 4; k++) {
			CU_ASSERT_TRUE_FATAL(fabs(x[k]) < 6.7);
			m1 += x[k] / N_DRAWS;
			m2 += x[k] * x[k] / N_DRAWS;
			m3 += x[k] * x[k] * x[k] / N_DRAWS;
			m4 += x[k] * x[k] * x[k] * x[k] / N_DRAWS;
			cross += x[k] * last / N_DRAWS;
			last = x[k];
		}
	}
	/* 4 sigma: variances 1, 2, 15, 96 and 1, over the number of draws */
	CU_ASSERT_DOUBLE_EQUAL(m1, 0, 4 * sqrt(1.0 / N_DRAWS));
	CU_ASSERT_DOUBLE_EQUAL(m2, 1, 4 * sqrt(2.0 / N_DRAWS));
	CU_ASSERT_DOUBLE_EQUAL(m3, 0, 4 * sqrt(15.0 / N_DRAWS));
	CU_ASSERT_DOUBLE_EQUAL(m4, 3, 4 * sqrt(96.0 / N_DRAWS));
	CU_ASSERT_DOUBLE_EQUAL(cross, 0, 4 * sqrt(1.0 / N_DRAWS));
}

/* The formula over libm, which is as exact as it gets but not the same bits everywhere. */
static void test_normal_against_libm(void)
{
	for (uint64_t block = 0; block < 20000; block++) {
		uint32_t w[4];
		double x[4];

		mr_rng_block(13, MR_RNG_TEST, 1, 2, block, w);
		mr_rng_normal4(13, MR_RNG_TEST, 1, 2, block, x);
		for (int k = 0; k < 4; k++) {
			double radius = sqrt(-2 * log((w[k & 2] + 1.0) / 4294967296.0));
			double angle = 2 * 3.14159265358979323846 * (w[(k & 2) + 1] / 4294967296.0);

			CU_ASSERT_DOUBLE_EQUAL(x[k], radius * (k & 1 ? sin(angle) : cos(angle)), 1e-14);
			CU_ASSERT_EQUAL(x[k], mr_rng_normal(13, MR_RNG_TEST, 1, 2, 4 * block + (uint64_t)k));
		}
	}
}

/* Many at once have the bits of one by one; blocks of @sample cross a word where they begin near 2^32. */
static void test_many(void)
{
	static const uint64_t first[] = {0, 1, 12345, 0xfffffff0u, (uint64_t)7 << 40};

	for (uint64_t seed = 0; seed < 40; seed++)
		for (int f = 0; f < 5; f++) {
			uint64_t sample = seed * 0x123456789u;
			uint32_t layer = (uint32_t)seed * 3;
			double x[MR_RNG_MANY], u[MR_RNG_MANY];
			uint64_t pairs[MR_RNG_MANY / 2];

			mr_rng_normals(seed, MR_RNG_INIT, sample, layer, first[f], x);
			mr_rng_uniforms(seed, MR_RNG_INIT, sample, layer, first[f], u);
			mr_rng_pairs(seed, MR_RNG_INIT, sample, layer, first[f], pairs);
			for (uint64_t i = 0; i < MR_RNG_MANY; i++) {
				double one = mr_rng_normal(seed, MR_RNG_INIT, sample, layer, 4 * first[f] + i);
				double even = mr_rng_uniform(seed, MR_RNG_INIT, sample, layer, 2 * first[f] + i);

				CU_ASSERT_EQUAL_FATAL(memcmp(&x[i], &one, sizeof(one)), 0);
				CU_ASSERT_EQUAL_FATAL(memcmp(&u[i], &even, sizeof(even)), 0);
				CU_ASSERT_EQUAL_FATAL((uint32_t)(pairs[i / 2] >> 32 * (i & 1)),
						      mr_rng_u32(seed, MR_RNG_INIT, sample, layer, 4 * first[f] + i));
			}
		}
}

static void test_permute_small_is_bijection(void)
{
	uint8_t seen[1001];

	for (uint64_t n = 1; n <= 1000; n++) {
		mr_permute p;
		uint64_t hits = 0;

		mr_permute_init(&p, n, 99, n);
		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < n; i++) {
			uint64_t at = mr_permute_at(&p, i);

			CU_ASSERT_TRUE_FATAL(at < n);
			hits += !seen[at]++;
		}
		CU_ASSERT_EQUAL_FATAL(hits, n);
	}
}

/* Too large to mark in a byte each beyond the first two: there, a window of images must be distinct and in range. */
static void test_permute_large(void)
{
	static const uint64_t sizes[] = {65537, 262144, ((uint64_t)1 << 40) - 1, (uint64_t)1 << 62};
	static uint8_t seen[262144];

	for (int s = 0; s < 4; s++) {
		uint64_t n = sizes[s], images[512];
		mr_permute p;

		mr_permute_init(&p, n, 3, 4);
		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < (n < sizeof(seen) + 1 ? n : 512); i++) {
			uint64_t at = mr_permute_at(&p, i);

			CU_ASSERT_TRUE_FATAL(at < n);
			if (n <= sizeof(seen))
				CU_ASSERT_FALSE_FATAL(seen[at]++);
			for (uint64_t j = 0; i < 512 && j < i; j++)
				CU_ASSERT_NOT_EQUAL_FATAL(images[j], at);
			if (i < 512)
				images[i] = at;
		}
	}
}

/* Where does element 0 of n = 10 go over many epochs? Everywhere, about equally often; and seeds differ. */
static void test_permute_is_random(void)
{
	int where[10] = {0}, pairs = 0, same = 0;

	for (uint64_t epoch = 0; epoch < 10000; epoch++) {
		mr_permute p, q;

		mr_permute_init(&p, 10, 1, epoch);
		mr_permute_init(&q, 10, 2, epoch);
		where[mr_permute_at(&p, 0)]++;
		pairs += mr_permute_at(&p, 0) + 1 == mr_permute_at(&p, 1); /* 9 of 90 ordered pairs */
		same += mr_permute_at(&p, 3) == mr_permute_at(&q, 3);
	}
	for (int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(abs(where[i] - 1000) < 150); /* 5 sigma of sqrt(10000 0.1 0.9) = 30 */
	CU_ASSERT_TRUE(abs(pairs - 1000) < 150);
	CU_ASSERT_TRUE(abs(same - 1000) < 150);
}

void mr_suite_rng(void); /* the runner declares it too */

void mr_suite_rng(void)
{
	MR_SUITE("rng");

	MR_TEST(test_philox_known_answers);
	MR_TEST(test_every_bit_counts);
	MR_TEST(test_block_is_four_words);
	MR_TEST(test_bits_are_pinned);
	MR_TEST(test_uniform);
	MR_TEST(test_normal_moments);
	MR_TEST(test_normal_against_libm);
	MR_TEST(test_many);
	MR_TEST(test_permute_small_is_bijection);
	MR_TEST(test_permute_large);
	MR_TEST(test_permute_is_random);
}
