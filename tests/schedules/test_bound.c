/* test_bound.c - the lower bound of orders (timing/bound.h): below every order, and near to what search finds. */
#include <math.h>

#include "bound_cases.h"
#include "check.h"

/* A sample of long_bound_long.c. */
#define N_CASES 40u

static void no_order_undercuts_it(void)
{
	uint32_t solved = 0, exact = 0;

	for (uint64_t n = 0; n < 60; n++) {
		bound_case c = bound_draw(n, 3, 4);
		bound_result r = bound_of(&c, "cap=none tries=200");
		double best = bound_exhaustive(&c, 300000);

		CU_ASSERT(r.bound <= r.found + 1e-9);
		if (!(best > 0))
			continue;
		solved++;
		exact += r.bound >= best - 1e-9;
		CU_ASSERT(r.bound <= best + 1e-9);
		CU_ASSERT(best <= r.found + 1e-9);
	}
	CU_ASSERT(solved >= 40 && exact >= solved / 2);
}

static void gaps_are_small(void)
{
	uint32_t near = 0;

	for (uint64_t n = 0; n < N_CASES; n++) {
		bound_case c = bound_draw(1000 + n, 4, 8);
		bound_result r = bound_of(&c, "cap=none tries=300");

		near += r.found <= 1.05 * r.bound;
	}
	CU_ASSERT(near >= N_CASES * 85 / 100);
}

void mr_suite_bound(void);
void mr_suite_bound(void)
{
	MR_SUITE("bound");
	MR_TEST(no_order_undercuts_it);
	MR_TEST(gaps_are_small);
}
