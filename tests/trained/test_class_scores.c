/* Scores of classes from a table that was computed by hand. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trained/class_scores.h"

static const char *label[] = {"none", "one"};

static void by_hand(void)
{
	static const struct {
		size_t target, best;
		double p[2];
	} sample[] = {{0, 0, {0.9, 0.1}}, {0, 1, {0.25, 0.75}}, {1, 1, {0.2, 0.8}}, {1, 1, {0.0, 1.0}}};
	mr_class_scores s;
	mr_json_writer w;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	MR_CHECK_OK(mr_class_scores_init(&s, 2));
	for (size_t i = 0; i < 4; i++)
		mr_class_scores_add(&s, sample[i].target, sample[i].best, sample[i].p);
	CU_ASSERT(s.count[0] == 1 && s.count[1] == 1 && s.count[2] == 0 && s.count[3] == 2);
	/* bins from 0.7, 0.8 and 0.9: |0.75 - 0| + |0.8 - 1| + |1.9 - 2|, by 4 */
	CU_ASSERT_DOUBLE_EQUAL(mr_class_scores_calibration(&s), 1.05 / 4, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(s.loss, -log(0.9) - log(0.25) - log(0.8), 1e-12);
	w = mr_json_begin(f, false);
	MR_CHECK_OK(mr_class_scores_put(&s, &(mr_form){.label = label, .n_labels = 2}, &w));
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"accuracy\":0.75"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "{\"class\":\"none\",\"samples\":2,\"precision\":1.0,\"recall\":0.5,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"f1\":0.8,\"roc_auc\":1.0,"
					    "\"average_precision\":1.0}],\"confusion\":[[1,1],[0,2]],"));
	free(text);
	mr_class_scores_fini(&s);
	MR_CHECK_FAIL(mr_class_scores_init(&s, 5000), MR_EUSAGE, "at most 4096");
	mr_class_scores_fini(&s);
}

void mr_suite_class_scores(void);
void mr_suite_class_scores(void)
{
	MR_SUITE("class_scores");
	MR_TEST(by_hand);
}
