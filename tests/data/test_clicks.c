/* test_clicks.c - made-up clicks: a pure function of the seed, with the odds, the skew and the best area that are
 * promised. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data_help.h"

enum { COLUMNS = 5 };

typedef union sample {
	int32_t category[COLUMNS];
	float number[COLUMNS];
} sample;

static mr_dataset *open_clicks(uint64_t seed, const char *settings)
{
	mr_data_want want = {.dtype = MR_F64, .seed = seed};
	mr_dataset *d = NULL;

	MR_CHECK_OK(data_help_open("clicks", settings, &want, &d));
	return d;
}

static void samples_follow_from_the_seed(void)
{
	mr_dataset *d = open_clicks(3, "numbers=2 categories=3 values=50 samples=1000 validation=0.2");
	mr_dataset *same = open_clicks(3, "numbers=2 categories=3 values=50 samples=1000 validation=0.2");
	mr_dataset *other = open_clicks(4, "numbers=2 categories=3 values=50 samples=1000 validation=0.2");
	double y, sum = 0;
	int low = 0, clicked = 0;

	CU_ASSERT(d->n_train == 800 && d->n_valid == 200 && d->numbers == 2 && d->input.cols == COLUMNS);
	CU_ASSERT(d->input.tokens && d->target_low == 0 && d->target_high == 1 && !d->trains_only);
	CU_ASSERT(d->fingerprint == same->fingerprint && d->fingerprint != other->fingerprint);
	for (uint64_t i = 0; i < 800; i++) {
		sample x, again;

		d->ops->train(d, i, &x, &y);
		CU_ASSERT(y == 0 || y == 1);
		clicked += y == 1;
		d->ops->train(same, i, &again, &y);
		CU_ASSERT(!memcmp(&x, &again, sizeof(x)));
		for (int j = 2; j < COLUMNS; j++) {
			CU_ASSERT(x.category[j] >= 0 && x.category[j] < 50);
			low += x.category[j] < 50 / 8;
		}
		for (int j = 0; j < 2; j++) {
			CU_ASSERT(x.number[j] > 0);
			sum += x.number[j];
		}
	}
	/* u^3 is below 1/8 for half of the u, and 6 of 50 values are below 50/8; the mean of log(1 + e^z) is 0.806. */
	CU_ASSERT(fabs(low / 2400.0 - cbrt(6 / 50.0)) < 0.04);
	CU_ASSERT(fabs(sum / 1600 - 0.806) < 0.05);
	CU_ASSERT(clicked > 200 && clicked < 500);
	mr_dataset_close(d), mr_dataset_close(same), mr_dataset_close(other);
}

static double best_area(const char *settings)
{
	mr_dataset *d = open_clicks(1, settings);
	const char *at = strstr(d->describe, "best auc ");
	double area;

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	area = strtod(at + strlen("best auc "), NULL);
	mr_dataset_close(d);
	return area;
}

static void the_best_area_grows_with_the_signal(void)
{
	CU_ASSERT_DOUBLE_EQUAL(best_area("samples=20000 validation=0.5 signal=0"), 0.5, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(best_area("samples=20000 validation=0.5 signal=100"), 1, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(best_area("samples=20000 validation=0.5 signal=3"), 0.9, 0.05);
}

void mr_suite_clicks(void);

void mr_suite_clicks(void)
{
	MR_SUITE("clicks");
	MR_TEST(samples_follow_from_the_seed);
	MR_TEST(the_best_area_grows_with_the_signal);
}
