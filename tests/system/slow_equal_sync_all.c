/*
 * slow_equal_sync_all.c - every synchronous system at 1 to 4 stages equals sequential training to the bit, on all
 * backends. long_equal_sync_long.c has all models on each backend.
 */
#include "check.h"
#include "sync_cases.h"

static void odd_sizes(void)
{
	sync_case_odd_sizes(false);
}

/* The two types of the reference differ in nothing but the size of a number: they share the models. */
static void reference_f64(void)
{
	sync_case_models("backend=reference dtype=f64", 0, 2);
}

static void reference_f32(void)
{
	sync_case_models("backend=reference dtype=f32", 1, 2);
}

/* What differs from f32 here is whether products step and add on the way: with a clip and without, tied and not. */
static void dnnl(void)
{
	sync_case_models(sync_dnnl(), 1, 2);
}

void mr_suite_equal_sync_all(void)
{
	MR_SUITE("equal_sync_all");
	MR_TEST(odd_sizes);
	MR_TEST(reference_f64);
	MR_TEST(reference_f32);
	MR_TEST(dnnl);
}
