/* Accuracy, top-5 accuracy and the area under the ROC curve, against counting by hand, in any order. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "nn/layer.h"
#include "nn/scores.h"

#define N 37
#define MICRO 8

static float above(int i)
{
	return (float)(mr_rng_u32(1, MR_RNG_INIT, 0, 0, (uint64_t)i) % 9); /* many are equal */
}

static bool one(int i)
{
	return mr_rng_u32(2, MR_RNG_INIT, 0, 0, (uint64_t)i) % 3 == 0;
}

/* The area under the ROC curve, by comparing every sample of class 1 with every sample of class 0. */
static double by_pairs(void)
{
	double wins = 0, pairs = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			if (one(i) && !one(j)) {
				wins += above(i) > above(j) ? 1 : above(i) == above(j) ? 0.5 : 0;
				pairs++;
			}
	return wins / pairs;
}

static void area_of_two_classes(void)
{
	mr_judging j;

	MR_CHECK_OK(mr_judging_init(&j, 2, (N + MICRO - 1) / MICRO, MICRO, N));
	for (int again = 0; again < 2; again++) {
		mr_scores s;

		for (int m = (N - 1) / MICRO; m >= 0; m--) {
			mr_judged *of = mr_judging_begin(&j, (uint64_t)m);

			for (int i = m * MICRO; i < N && i < (m + 1) * MICRO; i++) {
				of->two[i - m * MICRO] = (mr_two_score){above(i), one(i)};
				of->right += (above(i) > 4) == one(i);
			}
		}
		s = mr_judging_end(&j);
		CU_ASSERT_DOUBLE_EQUAL(s.auc, by_pairs(), 1e-14);
		CU_ASSERT(isnan(s.top5) && s.accuracy > 0 && s.accuracy < 1);
	}
	for (int i = 0; i < N; i++)
		j.two[i].one = true;
	CU_ASSERT(isnan(mr_judging_end(&j).auc));
	mr_judging_fini(&j);
	MR_CHECK_OK(mr_judging_init(&j, 0, 3, 4, 12));
	CU_ASSERT(!mr_judging_begin(&j, 0) && isnan(mr_judging_end(&j).accuracy));
	mr_judging_fini(&j);
}

/* The loss counts its correct predictions; of equal scores the first is the largest. */
static void a_loss_judges(void)
{
	enum { CLASSES = 7, ROWS = 4 };
	static const float logits[ROWS][CLASSES] = {
		{1, 9, 2, 3, 4, 5, 6}, {9, 9, 1, 1, 1, 1, 1}, {1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1}};
	static const int32_t target[ROWS] = {1, 1, 1, 4}; /* 0 before it; 1; 5; 4 */
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	const mr_layer_ops *loss = mr_layer_find("softmax_xent");
	mr_shape in = {.rows = 1, .cols = CLASSES};
	mr_layer_cfg cfg = {0};
	float x[ROWS][CLASSES];
	double value;
	mr_judging j;
	mr_scores s;
	mr_layer_call c = {.k = k, .cfg = &cfg, .in = &in, .out = &in, .samples = ROWS, .x = {x}, .target = target};

	MR_CHECK_OK(k->ctx_create(k, 1, &c.kc));
	MR_CHECK_OK(mr_judging_init(&j, CLASSES, 1, ROWS, ROWS));
	memcpy(x, logits, sizeof(x));
	c.loss = &value;
	c.judged = mr_judging_begin(&j, 0);
	MR_CHECK_OK(loss->forward(&c));
	s = mr_judging_end(&j);
	CU_ASSERT(s.accuracy == 0.25 && s.top5 == 0.75 && isnan(s.auc));
	mr_judging_fini(&j);
	k->ctx_destroy(c.kc);
}

/* Errors of numbers far from 0, summed by micro-batches, against two passes over all of them. */
static void errors_of_numbers(void)
{
	enum { NUMBERS = 23 };
	double mean = 0, squares = 0, distances = 0, spread = 0;
	mr_judging j;
	mr_scores s;

	MR_CHECK_OK(mr_judging_init(&j, MR_JUDGE_NUMBERS, (NUMBERS + MICRO - 1) / MICRO, MICRO, NUMBERS));
	for (int m = (NUMBERS - 1) / MICRO; m >= 0; m--) {
		mr_judged *of = mr_judging_begin(&j, (uint64_t)m);

		for (int i = m * MICRO; i < NUMBERS && i < (m + 1) * MICRO; i++)
			mr_judged_number(of, 1e6 + i * i + (i % 3 - 0.5), 1e6 + i * i);
	}
	for (int i = 0; i < NUMBERS; i++)
		mean += (1e6 + i * i) / NUMBERS;
	for (int i = 0; i < NUMBERS; i++) {
		double off = i % 3 - 0.5, far = 1e6 + i * i - mean;

		squares += off * off;
		distances += fabs(off);
		spread += far * far;
	}
	s = mr_judging_end(&j);
	CU_ASSERT_DOUBLE_EQUAL(s.rmse, sqrt(squares / NUMBERS), 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(s.mae, distances / NUMBERS, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(s.r2, 1 - squares / spread, 1e-9); /* digits that 1e6 takes of a square */
	CU_ASSERT(isnan(s.accuracy) && isnan(s.auc));
	mr_judging_fini(&j);
	MR_CHECK_OK(mr_judging_init(&j, MR_JUDGE_NUMBERS, 1, 2, 2)); /* equal targets explain nothing */
	mr_judged_number(mr_judging_begin(&j, 0), 1, 2);
	s = mr_judging_end(&j);
	CU_ASSERT(s.rmse == 1 && s.mae == 1 && isnan(s.r2));
	mr_judging_fini(&j);
}

void mr_suite_scores(void);
void mr_suite_scores(void)
{
	MR_SUITE("scores");
	MR_TEST(area_of_two_classes);
	MR_TEST(a_loss_judges);
	MR_TEST(errors_of_numbers);
}
