/* long_equal_sync_long.c - the grid of slow_equal_sync_all.c: all models on each backend, all sizes. */
#include "check.h"
#include "sync_cases.h"

static void odd_sizes(void)
{
	sync_case_odd_sizes(true);
}

static void reference_f64(void)
{
	sync_case_models("backend=reference precision=f64", 0, 1);
}

static void reference_f32(void)
{
	sync_case_models("backend=reference precision=f32", 0, 1);
}

static void dnnl(void)
{
	sync_case_models(sync_dnnl(), 0, 1);
}

void mr_suite_equal_sync_long(void)
{
	MR_SUITE("equal_sync_long");
	MR_TEST(odd_sizes);
	MR_TEST(reference_f64);
	MR_TEST(reference_f32);
	MR_TEST(dnnl);
}
