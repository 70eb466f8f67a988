/* slow_laws_wide.c - the laws over the wide grid (laws_wide.c): a selection of the numbers of micro-batches. */
#include "check.h"
#include "laws.h"

static void laws_hold_over_the_wide_grid(void)
{
	laws_wide_grid(false);
}

static void laws_hold_for_further_options_wide(void)
{
	laws_wide_further(false);
}

void mr_suite_laws_wide(void); /* the runner declares it too */

void mr_suite_laws_wide(void)
{
	MR_SUITE("laws_wide");
	MR_TEST(laws_hold_over_the_wide_grid);
	MR_TEST(laws_hold_for_further_options_wide);
}
