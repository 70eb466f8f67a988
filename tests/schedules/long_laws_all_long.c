/* long_laws_all_long.c - the laws over the wide grid (laws_wide.c): all of it. */
#include "check.h"
#include "laws.h"

static void laws_hold_over_the_wide_grid(void)
{
	laws_wide_grid(true);
}

static void laws_hold_for_further_options_wide(void)
{
	laws_wide_further(true);
}

void mr_suite_laws_all_long(void); /* the runner declares it too */

void mr_suite_laws_all_long(void)
{
	MR_SUITE("laws_all_long");
	MR_TEST(laws_hold_over_the_wide_grid);
	MR_TEST(laws_hold_for_further_options_wide);
}
