/* Rows that validate: as many as asked for, from each class its part, each in one fold; by their own seed alone. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data/split.h"

#define N 203
#define CLASSES 3

/* Sorted by class, as files often are: 140, 50 and 13. */
static void make_classes(int32_t *class_of)
{
	for (int i = 0; i < N; i++)
		class_of[i] = i < 140 ? 0 : i < 190 ? 1 : 2;
}

static void place(const mr_split *s, uint64_t n_train, const int32_t *class_of, uint64_t *out)
{
	bool seen[N] = {false};

	MR_CHECK_OK(mr_deal_out(&s->deal, N, n_train, class_of, CLASSES, out));
	for (int i = 0; i < N; i++) {
		CU_ASSERT_FATAL(out[i] < N && !seen[out[i]]);
		seen[out[i]] = true;
		/* both parts are in the order of the file */
		for (int k = 0; k < i; k++)
			CU_ASSERT((out[k] < n_train) != (out[i] < n_train) || out[k] < out[i]);
	}
}

static void count_valid(const int32_t *class_of, const uint64_t *at, uint64_t n_train, int valid[CLASSES])
{
	memset(valid, 0, CLASSES * sizeof(*valid));
	for (int i = 0; i < N; i++)
		valid[class_of[i]] += at[i] >= n_train;
}

static void stratified(void)
{
	int32_t class_of[N];
	uint64_t a[N], b[N];
	int valid[CLASSES];

	make_classes(class_of);
	for (uint64_t n_train = 1; n_train < N; n_train += 7) {
		double part = (double)(N - n_train) / N;

		place(&(mr_split){.stratified = true}, n_train, class_of, a);
		count_valid(class_of, a, n_train, valid);
		CU_ASSERT_EQUAL(valid[0] + valid[1] + valid[2], (int)(N - n_train));
		CU_ASSERT_DOUBLE_EQUAL(valid[0], 140 * part, 1);
		CU_ASSERT_DOUBLE_EQUAL(valid[1], 50 * part, 1);
		CU_ASSERT_DOUBLE_EQUAL(valid[2], 13 * part, 1);
	}
	place(&(mr_split){.deal = {.seed = 7}}, 150, class_of, a);
	place(&(mr_split){.deal = {.seed = 7}}, 150, class_of, b);
	CU_ASSERT(!memcmp(a, b, sizeof(a)));
	place(&(mr_split){.deal = {.seed = 8}}, 150, class_of, b);
	CU_ASSERT(memcmp(a, b, sizeof(a)));
}

static void folds(void)
{
	int32_t class_of[N];
	uint64_t at[N], n_train;
	int by_class;

	make_classes(class_of);
	for (by_class = 0; by_class < 2; by_class++)
		for (uint64_t k = 2; k <= 13; k += 11) {
			int times[N] = {0}, least[CLASSES] = {N, N, N}, most[CLASSES] = {0};

			for (uint64_t f = 0; f < k; f++) {
				mr_split s = {.stratified = by_class, .deal = {.folds = k, .fold = f}};
				int valid[CLASSES];

				MR_CHECK_OK(mr_split_count(&s, "data", NULL, N, &n_train));
				CU_ASSERT(N - n_train >= N / k && N - n_train <= N / k + 1);
				place(&s, n_train, by_class ? class_of : NULL, at);
				count_valid(class_of, at, n_train, valid);
				for (int i = 0; i < N; i++)
					times[i] += at[i] >= n_train;
				for (int c = 0; c < CLASSES; c++) {
					least[c] = valid[c] < least[c] ? valid[c] : least[c];
					most[c] = valid[c] > most[c] ? valid[c] : most[c];
				}
			}
			for (int i = 0; i < N; i++)
				CU_ASSERT_EQUAL(times[i], 1);
			for (int c = 0; by_class && c < CLASSES; c++)
				CU_ASSERT(most[c] - least[c] <= 1);
		}
}

static void refusals(void)
{
	uint64_t n_train;
	bool draws;

	MR_CHECK_FAIL(mr_split_count(&(mr_split){.deal = {.folds = 5}}, "few.csv", NULL, 4, &n_train), MR_EDATA,
		      "few.csv: 4 samples make no 5 folds");
	MR_CHECK_FAIL(mr_split_draws(&(mr_split){.stratified = true}, false, &draws), MR_ECONFIG,
		      "is by classes, and the targets are numbers");
	MR_CHECK_FAIL(mr_split_refuse(&(mr_split){.deal = {.folds = 2}}, "csv"), MR_ECONFIG,
		      "validation_path says which rows");
	MR_CHECK_OK(mr_split_draws(&(mr_split){.deal = {.folds = 0}}, true, &draws));
	CU_ASSERT(!draws);
}

void mr_suite_split(void);
void mr_suite_split(void)
{
	MR_SUITE("split");
	MR_TEST(stratified);
	MR_TEST(folds);
	MR_TEST(refusals);
}
