/* test_layer_survey.c - layers are measured in the shapes that candidates have, once. */
#include "choose/layer_survey.h"

#include "check.h"
#include "job/job_help.h"

#define BASE                                                                                                           \
	"model.name=mlp data.name=synthetic data.features=16 data.classes=4 data.samples=64 optimizer.name=adamw "     \
	"system.name=sequential train.steps=2 optimizer.lr=0.01 model.hidden=[32,24] "
#define SECONDS 0.001

/* Surveys the model with @sets and @batch samples; returns the number of shapes measured. *@same: every layer has a row
 * of the whole batch by all cores, and one by one thread. */
static uint32_t survey(mr_kept_layers *k, const char *sets, int64_t batch, bool *same)
{
	mr_workload of;
	mr_session s;
	uint32_t n;
	mr_job j;

	mr_test_job_of(&j, BASE, sets);
	MR_CHECK_OK(mr_session_survey(&j, &s));
	MR_CHECK_OK(mr_session_load(&s));
	mr_layer_survey(&s, batch, SECONDS, k, &n);
	of = mr_session_workload(&s);
	*same = true;
	for (uint32_t i = 0; i < s.graph->n_nodes; i++) {
		mr_kept_layer all, one;

		of.samples = batch;
		*same &= mr_kept_layers_find(k, &of, i, s.topo.n_usable, &all) && all.samples == batch &&
			 all.threads == s.topo.n_usable && all.f > 0;
		of.samples = 1;
		*same &= mr_kept_layers_find(k, &of, i, 1, &one) && one.threads == 1 && batch % one.samples == 0;
	}
	mr_session_close(&s);
	mr_job_fini(&j);
	return n;
}

static void each_shape_is_measured_once(void)
{
	mr_kept_layers *k = mr_kept_layers_open();
	bool same;

	CU_ASSERT_PTR_NOT_NULL_FATAL(k);
	CU_ASSERT(survey(k, "train.batch=8", 8, &same) > 0);
	CU_ASSERT_TRUE(same);
	CU_ASSERT_EQUAL(survey(k, "train.batch=8", 8, &same), 0);
	CU_ASSERT_TRUE(same);
	/* another model: measured only if one of its layers is new */
	CU_ASSERT(survey(k, "train.batch=8 model.hidden=[32,24,24]", 8, &same) > 0);
	CU_ASSERT_TRUE(same);
	CU_ASSERT_EQUAL(survey(k, "train.batch=8 model.hidden=[32,24,24,24]", 8, &same), 0);
	CU_ASSERT_TRUE(same);
	/* a prime batch: its only smaller micro-batch has one sample */
	CU_ASSERT(survey(k, "train.batch=7", 7, &same) > 0);
	CU_ASSERT_TRUE(same);
	mr_kept_layers_close(k);
}

/* Between two rows that are equally far in doublings, the one of the same threads is taken. */
static void rows_of_the_same_threads_go_first(void)
{
	mr_kept_row at[] = {{.key = 1, .kind = "linear", .layer = {8, 1, 1, 1, 1, 1}},
			    {.key = 1, .kind = "linear", .layer = {16, 2, 1, 1, 1, 1}}};
	mr_kept_rows k = {0};
	const mr_kept_row *r;

	MR_CHECK_OK(mr_kept_rows_add(&k, at, 2));
	r = mr_kept_rows_nearest(&k, 1, 8, 2);
	CU_ASSERT_FATAL(r != NULL);
	CU_ASSERT_EQUAL(r->layer.threads, 2);
	r = mr_kept_rows_nearest(&k, 1, 16, 1);
	CU_ASSERT_FATAL(r != NULL);
	CU_ASSERT_EQUAL(r->layer.threads, 1);
	mr_kept_rows_fini(&k);
}

/* What cannot be measured stays as modelled. */
static void a_model_without_room_is_left_alone(void)
{
	mr_kept_layers *k = mr_kept_layers_open();
	bool same;

	CU_ASSERT_PTR_NOT_NULL_FATAL(k);
	CU_ASSERT_EQUAL(survey(k, "train.batch=8 machine.memory_limit=2000", 8, &same), 0);
	CU_ASSERT_FALSE(same);
	mr_kept_layers_close(k);
}

void mr_suite_layer_survey(void);

void mr_suite_layer_survey(void)
{
	CU_pSuite mr_suite_ = CU_add_suite("layer_survey", NULL, NULL);

	MR_TEST(each_shape_is_measured_once);
	MR_TEST(rows_of_the_same_threads_go_first);
	MR_TEST(a_model_without_room_is_left_alone);
}
