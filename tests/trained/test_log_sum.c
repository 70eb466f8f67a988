/* Logarithms of sums of exponentials against double precision, for many lengths, and the first of the largest. */
#include "check.h"

#include <math.h>

#include "base/rng.h"
#include "trained/language.h"
#include "trained/log_sum.h"

#define MOST 4099

static float x[MOST];

static double exact(size_t n)
{
	double most = (double)x[0], sum = 0;

	for (size_t i = 1; i < n; i++)
		most = fmax(most, (double)x[i]);
	for (size_t i = 0; i < n; i++)
		sum += exp((double)x[i] - most);
	return most + log(sum);
}

static void sums(void)
{
	for (size_t n = 1; n <= MOST; n = n < 70 ? n + 1 : 2 * n - 41)
		for (int scale = 0; scale < 3; scale++) {
			int32_t best;
			double got, want;

			for (size_t i = 0; i < n; i++)
				x[i] = (float)((mr_rng_uniform(n, MR_RNG_SAMPLE, i, (uint32_t)scale, 0) - 0.5) *
					       (scale ? 40 * scale * scale : 1));
			got = mr_log_sum(x, n, &best);
			want = exact(n);
			CU_ASSERT_DOUBLE_EQUAL(got, want, 2e-6 * fmax(1, fabs(want)));
			for (size_t i = 0; i < n; i++)
				CU_ASSERT(i < (size_t)best ? x[i] < x[best] : x[i] <= x[best]);
		}
}

static void equal_ones(void)
{
	int32_t best;

	for (int i = 0; i < 40; i++)
		x[i] = -200;
	x[17] = x[33] = 5;
	CU_ASSERT_DOUBLE_EQUAL(mr_log_sum(x, 40, &best), 5 + log(2), 1e-6);
	CU_ASSERT(best == 17);
}

/* The most likely ones in their order, the first of equal ones first. */
static void likely(void)
{
	const float value[] = {1, 5, 3, 5, -2, 4};
	mr_language_place p = {.value = value, .log_sum = 6};
	int32_t token[16];

	CU_ASSERT(mr_language_likely(&p, 6, 4, token) == 4);
	CU_ASSERT(token[0] == 1 && token[1] == 3 && token[2] == 5 && token[3] == 2);
	CU_ASSERT(mr_language_likely(&p, 6, 16, token) == 6 && token[5] == 4);
	CU_ASSERT(mr_language_likely(&p, 1, 5, token) == 1 && token[0] == 0);
	CU_ASSERT_DOUBLE_EQUAL(mr_language_probability(&p, 5), exp(-2), 1e-12);
}

void mr_suite_log_sum(void);
void mr_suite_log_sum(void)
{
	MR_SUITE("log_sum");
	MR_TEST(sums);
	MR_TEST(equal_ones);
	MR_TEST(likely);
}
