/*
 * Areas under the curves of classes, means over classes and a temperature, against scikit-learn 1.9 over this table of
 * eight samples and three classes, in which probabilities occur twice: areas of one class against the rest, mean
 * precision, recall and F1 (zero where undefined), balanced accuracy; the temperature by SciPy's scalar minimizer.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trained/class_scores.h"
#include "trained/temperature.h"

#define N 8

static const double p[N][3] = {{0.7, 0.2, 0.1}, {0.1, 0.6, 0.3},  {0.25, 0.5, 0.25}, {0.7, 0.1, 0.2},
			       {0.3, 0.4, 0.3}, {0.05, 0.9, 0.05}, {0.6, 0.1, 0.3},  {0.2, 0.2, 0.6}};
static const size_t y[N] = {0, 1, 0, 0, 1, 1, 2, 2};

static void fill(mr_class_scores *s)
{
	MR_CHECK_OK(mr_class_scores_init(s, 3));
	for (int i = 0; i < N; i++)
		mr_class_scores_add(s, y[i], mr_class_of(p[i], 3), p[i]);
	MR_CHECK_OK(mr_class_samples_check(&s->samples));
}

static const char *label[] = {"c0", "c1", "c2"};
static const mr_form form = {.label = label, .n_labels = 3};

static void areas_as_scikit_learn(void)
{
	static const mr_class_areas want[3] = {{0.8666666666666667, 0.8666666666666667},
					       {0.9333333333333333, 0.9166666666666665},
					       {0.9166666666666667, 0.75}};
	mr_class_areas got[3], all;
	mr_class_scores s;

	fill(&s);
	for (size_t i = 0; i < 3; i++) {
		MR_CHECK_OK(mr_class_areas_of(&s.samples, i, &got[i]));
		CU_ASSERT_DOUBLE_EQUAL(got[i].roc_auc, want[i].roc_auc, 1e-14);
		CU_ASSERT_DOUBLE_EQUAL(got[i].average_precision, want[i].average_precision, 1e-14);
	}
	all = mr_class_areas_all(got, 3);
	CU_ASSERT_DOUBLE_EQUAL(all.roc_auc, 0.9055555555555556, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(all.average_precision, 0.8444444444444444, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(mr_class_areas_all(got, 2).roc_auc, want[1].roc_auc, 1e-14);
	mr_class_scores_fini(&s);
}

/* A class that no sample has, or every one, has no areas. */
static void one_class_has_none(void)
{
	mr_class_samples s = {.classes = 3};
	mr_class_areas a[3];

	for (int i = 0; i < 2; i++)
		mr_class_samples_add(&s, 1, p[i]);
	for (size_t i = 0; i < 3; i++) {
		MR_CHECK_OK(mr_class_areas_of(&s, i, &a[i]));
		CU_ASSERT(isnan(a[i].roc_auc) && isnan(a[i].average_precision));
	}
	CU_ASSERT(isnan(mr_class_areas_all(a, 3).roc_auc));
	mr_class_samples_fini(&s);
}

static double field(const char *text, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(text, quoted);
	return at ? strtod(at + strlen(quoted), NULL) : (double)NAN;
}

static void means_as_scikit_learn(void)
{
	mr_class_scores s;
	mr_json_writer w;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fill(&s);
	w = mr_json_begin(f, false);
	MR_CHECK_OK(mr_class_scores_put(&s, &form, &w));
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	CU_ASSERT_DOUBLE_EQUAL(field(text, "macro_precision"), 0.8055555555555555, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(field(text, "macro_recall"), 0.7222222222222222, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(field(text, "macro_f1"), 0.7301587301587301, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(field(text, "balanced_accuracy"), 0.7222222222222222, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(field(text, "loss"), 0.6683649435484068, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(field(text, "roc_auc"), 0.9055555555555556, 1e-14);
	free(text);
	mr_class_scores_fini(&s);
}

/* The points of class 1 are those of scikit-learn's curves, all of them. */
static void curves(void)
{
	static const char want[] =
		"c1,inf,0,0,1\n"
		"c1,0.90000000000000002,0.333333333,0,1\n"
		"c1,0.59999999999999998,0.666666667,0,1\n"
		"c1,0.5,0.666666667,0.2,0.666666667\n"
		"c1,0.40000000000000002,1,0.2,0.75\n"
		"c1,0.20000000000000001,1,0.6,0.5\n"
		"c1,0.10000000000000001,1,1,0.375\n";
	mr_class_scores s;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fill(&s);
	MR_CHECK_OK(mr_class_curves_put(&s.samples, &form, f));
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, want));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "c0,inf,0,0,1\n"));
	free(text);
	mr_class_scores_fini(&s);
}

static void temperature(void)
{
	mr_class_scores s;
	mr_calibration c;
	double q[3];

	fill(&s);
	MR_CHECK_OK(mr_temperature_fit(&s.samples, &c));
	CU_ASSERT_DOUBLE_EQUAL(c.temperature, 0.5464559624663996, 1e-6); /* the minimizer's own tolerance */
	CU_ASSERT_DOUBLE_EQUAL(c.loss, 0.6683649435484068, 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(c.calibrated_loss, 0.600950238128515, 1e-12);
	CU_ASSERT(c.calibrated_loss < c.loss && c.samples == N);
	memcpy(q, p[0], sizeof(q));
	mr_temperature_apply(q, 3, 2);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_DOUBLE_EQUAL(q[i], sqrt(p[0][i]) / (sqrt(0.7) + sqrt(0.2) + sqrt(0.1)), 1e-15);
	mr_class_scores_fini(&s);
	s.samples = (mr_class_samples){.classes = 3};
	MR_CHECK_FAIL(mr_temperature_fit(&s.samples, &c), MR_EDATA, "no samples");
}

void mr_suite_class_areas(void);
void mr_suite_class_areas(void)
{
	MR_SUITE("class_areas");
	MR_TEST(areas_as_scikit_learn);
	MR_TEST(one_class_has_none);
	MR_TEST(means_as_scikit_learn);
	MR_TEST(curves);
	MR_TEST(temperature);
}
