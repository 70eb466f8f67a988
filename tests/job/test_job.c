/* Jobs that are filled in by hand: defaults, all mistakes at once, copies, and fields that agree with their tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "check.h"
#include "job/job.h"
#include "job/plugins.h"

/* A job that can be trained, on made-up data. */
static void fill(mr_job *j)
{
	MR_CHECK_OK(mr_job_init(j));
	MR_CHECK_OK(mr_job_choose(j, MR_JOB_MODEL, "mlp"));
	MR_CHECK_OK(mr_values_set_text(j->model.values, "hidden", "[12, 12, 12]"));
	MR_CHECK_OK(mr_job_choose(j, MR_JOB_DATA, "synthetic"));
	MR_CHECK_OK(mr_job_choose(j, MR_JOB_OPTIMIZER, "adamw"));
	MR_CHECK_OK(mr_job_choose(j, MR_JOB_SYSTEM, "1f1b"));
	j->train.steps = 10;
	j->train.batch = 8;
	MR_CHECK_OK(mr_job_set(j, "optimizer.lr", "0.01"));
}

static void settles(void)
{
	mr_job j;

	fill(&j);
	MR_CHECK_OK(mr_job_check(&j));
	CU_ASSERT_EQUAL(j.machine.workers, 2);
	CU_ASSERT_EQUAL(j.train.microbatches, mr_job_system(&j)->default_micro(2));
	CU_ASSERT_EQUAL(mr_job_samples(&j) * mr_job_n_micro(&j), 8);
	CU_ASSERT_STRING_EQUAL(j.run_dir, "runs/job");
	CU_ASSERT_STRING_EQUAL(j.mitigation.name, MR_MITIGATE_NONE);
	mr_job_fini(&j);
}

/* The public numbers of precisions, the words of a configuration and the rows of nn/precisions.def. */
static void has_precisions(void)
{
	static const struct {
		const char *word;
		mr_job_precision number;
	} known[] = {{"f32", MR_PRECISION_F32}, {"f64", MR_PRECISION_F64}, {"bf16", MR_PRECISION_BF16},
		     {"bf16_pure", MR_PRECISION_BF16_PURE}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		mr_job j;

		fill(&j);
		MR_CHECK_OK(mr_job_set(&j, "backend", "reference"));
		MR_CHECK_OK(mr_job_set(&j, "precision", known[i].word));
		MR_CHECK_OK(mr_job_check(&j));
		CU_ASSERT_EQUAL(j.precision, known[i].number);
		CU_ASSERT_STRING_EQUAL(mr_types_name(&mr_job_kernels(&j)->types), known[i].word);
		CU_ASSERT_EQUAL(mr_job_numbers(&j), mr_job_kernels(&j)->types.activations);
		mr_job_fini(&j);
	}
}

static bool says(const char *message)
{
	return strstr(mr_error_text(), message);
}

static void tells_all_mistakes(void)
{
	mr_job j;

	fill(&j);
	j.train.steps = -3;
	j.train.batch = 0;
	j.train.nonfinite = MR_NONFINITE_SKIP;
	j.machine.watchdog = NAN;
	j.trace.steps = "x";
	j.partition = "nowhere";
	j.checkpoint.every = 2;
	j.checkpoint.keep_every = 7;
	CU_ASSERT_EQUAL(mr_job_check(&j), MR_ECONFIG);
	CU_ASSERT(says("train.steps: expected"));
	CU_ASSERT(says("train.batch: is missing"));
	CU_ASSERT(says("train.nonfinite: only a run that clips"));
	CU_ASSERT(says("machine.watchdog: expected"));
	CU_ASSERT(says("checkpoint.keep_every: expected a multiple of checkpoint.every (2), got 7"));
	CU_ASSERT(says("trace.steps: expected a range"));
	CU_ASSERT(says("partition: "));
	mr_job_fini(&j);

	MR_CHECK_OK(mr_job_init(&j));
	CU_ASSERT_EQUAL(mr_job_check(&j), MR_ECONFIG);
	CU_ASSERT(says("model.name: is missing"));
	CU_ASSERT(says("system.name: is missing"));
	CU_ASSERT_EQUAL(mr_job_choose(&j, MR_JOB_SYSTEM, "pipedrem"), MR_ECONFIG);
	CU_ASSERT(says("did you mean \"pipedream\"?"));
	CU_ASSERT_EQUAL(mr_job_set(&j, "dtype", "f64"), MR_ECONFIG);
	CU_ASSERT(says("dtype: is called precision now"));
	CU_ASSERT_EQUAL(mr_job_set(&j, "machine.steps", "3"), MR_ECONFIG);
	CU_ASSERT(says("did you mean train.steps?"));
	mr_job_fini(&j);
}

static void unknown_plugins_are_one_message(void)
{
	mr_plugin p;

	MR_CHECK_OK(mr_plugin_get(MR_PLUGIN_SYSTEM, "pipedream_flush", &p));
	CU_ASSERT_STRING_EQUAL(p.name, "1f1b");
	MR_CHECK_FAIL(mr_plugin_get(MR_PLUGIN_SYSTEM, "1f1d", &p), MR_ECONFIG,
		      "no system is called \"1f1d\"; did you mean \"1f1b\"? (known: ");
	MR_CHECK_FAIL(mr_plugin_get(MR_PLUGIN_SYSTEM, "zeppelin", &p), MR_ECONFIG, "\"zeppelin\" (known: ");
	MR_CHECK_FAIL(mr_plugin_get(MR_PLUGIN_MODEL, "gtp", &p), MR_ECONFIG, "did you mean \"gpt\"? (known: mlp, ");
	MR_CHECK_FAIL(mr_plugin_get(MR_PLUGIN_MODEL, "adamw", &p), MR_ECONFIG, "it is among the optimizers");
}

static void blames(void)
{
	mr_job j;

	fill(&j);
	CU_ASSERT_EQUAL(mr_job_blame(&j, MR_JOB_MACHINE, "workers", mr_fail(MR_ECONFIG, "threads: too many")),
			MR_ECONFIG);
	CU_ASSERT_STRING_EQUAL(mr_error_text(), "machine.threads: too many");
	CU_ASSERT_EQUAL(mr_job_blame(&j, MR_JOB_MODEL, "name", mr_fail(MR_ECONFIG, "hidden: too wide")), MR_ECONFIG);
	CU_ASSERT_STRING_EQUAL(mr_error_text(), "model.hidden: too wide");
	mr_job_fini(&j);
}

static void copies(void)
{
	mr_job j, k;

	fill(&j);
	MR_CHECK_OK(mr_job_copy(&j, &k));
	MR_CHECK_OK(mr_job_choose(&k, MR_JOB_SYSTEM, "pipedream"));
	MR_CHECK_OK(mr_values_set_text(k.model.values, "hidden", "[5, 5]"));
	k.train.steps = 99;
	MR_CHECK_OK(mr_job_check(&k));
	MR_CHECK_OK(mr_job_check(&j));
	CU_ASSERT_STRING_EQUAL(j.system.name, "1f1b");
	CU_ASSERT_EQUAL(j.train.steps, 10);
	CU_ASSERT_EQUAL(k.train.microbatches, 1);
	mr_job_fini(&k);
	mr_job_fini(&j);
}

/* Each key of each group has a field: what is put there is what was taken, also where it is not the default. */
static void has_a_field_for_each_key(void)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_option *table = mr_job_group_of((mr_job_group)g)->options;
		mr_values *v, *back;
		mr_job j;

		if (mr_job_group_of((mr_job_group)g)->plugin)
			continue;
		MR_CHECK_OK(mr_job_init(&j));
		MR_CHECK_OK(mr_values_create(table, &v));
		MR_CHECK_OK(mr_values_create(table, &back));
		for (const mr_option *o = table; o->name; o++) {
			const char *last = o->words ? strrchr(o->words, '|') : NULL;

			if (o->type == MR_OPT_ENUM)
				MR_CHECK_OK(mr_values_set_string(v, o->name, last ? last + 1 : o->words));
			else if (o->type == MR_OPT_STRING)
				MR_CHECK_OK(mr_values_set_string(v, o->name, "some text"));
			else if (o->type == MR_OPT_INT)
				MR_CHECK_OK(mr_values_set_int(v, o->name, 7));
			else if (o->type == MR_OPT_BOOL)
				MR_CHECK_OK(mr_values_set_bool(v, o->name, true));
			else
				MR_CHECK_OK(mr_values_set_float(v, o->name, o->max == 1 ? 0.75 : 7.25));
		}
		mr_job_take(&j, (mr_job_group)g, v);
		MR_CHECK_OK(mr_job_put(&j, (mr_job_group)g, back));
		for (const mr_option *o = table; o->name; o++) {
			char a[128], b[128];

			mr_values_print(v, o->name, a, sizeof(a));
			mr_values_print(back, o->name, b, sizeof(b));
			CU_ASSERT_STRING_EQUAL(a, b);
			CU_ASSERT(mr_values_is_set(back, o->name));
		}
		mr_values_destroy(v);
		mr_values_destroy(back);
		mr_job_fini(&j);
	}
}

void mr_suite_job(void)
{
	CU_pSuite s = CU_add_suite("job", NULL, NULL);

	CU_add_test(s, "what follows from other fields is settled", settles);
	CU_add_test(s, "a precision is the same in words, numbers and types", has_precisions);
	CU_add_test(s, "all mistakes are named at once", tells_all_mistakes);
	CU_add_test(s, "an unknown plug-in is one message", unknown_plugins_are_one_message);
	CU_add_test(s, "a later mistake names its key", blames);
	CU_add_test(s, "a copy stands by itself", copies);
	CU_add_test(s, "each key has a field", has_a_field_for_each_key);
}
