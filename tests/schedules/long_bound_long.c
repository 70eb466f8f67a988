/* long_bound_long.c - 1,000 random problems of up to 4 workers and 8 micro-batches: how far the order that search finds
 * is from the lower bound, and from the best of all orders where they can be enumerated. */
#include <math.h>
#include <stdio.h>

#include "bound_cases.h"
#include "check.h"

#define N_CASES 1000u
#define NODES 3000000u

static void nine_of_ten_are_within_five_percent(void)
{
	uint32_t near = 0, solved = 0, best_found = 0;
	double worst = 1;

	for (uint64_t n = 0; n < N_CASES; n++) {
		bound_case c = bound_draw(n, 4, 8);
		bound_result r = bound_of(&c, "cap=none tries=2000");
		double best = c.n_workers * c.n_micro <= 12 ? bound_exhaustive(&c, NODES) : 0;

		near += r.found <= 1.05 * r.bound;
		worst = fmax(worst, r.found / r.bound);
		CU_ASSERT(r.bound <= r.found + 1e-9);
		if (!(best > 0))
			continue;
		solved++;
		best_found += r.found <= best + 1e-9;
		CU_ASSERT(r.bound <= best + 1e-9);
		CU_ASSERT(best <= r.found + 1e-9);
	}
	printf("%u of %u within 5 %% of the bound, the worst %.1f %%; of %u enumerated %u are the best order\n", near,
	       N_CASES, 100 * (worst - 1), solved, best_found);
	CU_ASSERT(near >= N_CASES * 9 / 10);
	CU_ASSERT(solved >= N_CASES / 10 && best_found >= solved * 8 / 10);
}

void mr_suite_bound_long(void);
void mr_suite_bound_long(void)
{
	MR_SUITE("bound_long");
	MR_TEST(nine_of_ten_are_within_five_percent);
}
