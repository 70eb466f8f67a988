/*
 * test_training_misuse.c - every function of the library's headers with NULL, in every wrong state and from every wrong
 * place: a status and a sentence, and nothing else happens. The last table has the functions by name; the test fails
 * when a header has one that stands in no table.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "millrace/millrace.h"

static const char *const settings[][2] = {
	{"model.name", "mlp"},      {"model.hidden", "[8]"},  {"data.name", "synthetic"}, {"data.features", "4"},
	{"data.classes", "2"},      {"data.samples", "100"},  {"optimizer.name", "sgd"},  {"system.name", "1f1b"},
	{"train.steps", "100000"},  {"train.batch", "4"},     {"optimizer.lr", "0.01"},       {"machine.workers", "2"},
	{"machine.threads", "1"},   {"backend", "reference"}, {"machine.peak_gflops", "1"},
};

static void fill(mr_job *job, const char *system)
{
	MR_CHECK_OK(mr_job_init(job));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		MR_CHECK_OK(mr_job_set(job, settings[i][0], settings[i][1]));
	MR_CHECK_OK(mr_job_set(job, "system.name", system));
}

/* @st is MR_EINVAL with a sentence that has @part. */
static void refused(mr_status st, const char *part, const char *what)
{
	bool good = st == MR_EINVAL && strstr(mr_error_text(), part);

	if (!good)
		fprintf(stderr, "\n%s: %s: \"%s\", expected one with \"%s\"\n", what, mr_status_name(st),
			st ? mr_error_text() : "", part);
	CU_ASSERT_TRUE(good);
}

/* --- functions of a training, called on one that is in some state --- */

typedef struct call_result {
	mr_status st;
	double number; /* of functions without a status */
} call_result;

static call_result do_close(mr_training *t) { return (call_result){.st = mr_training_close(t)}; }

static call_result do_run(mr_training *t) { return (call_result){.st = mr_training_run(t, 7, NULL, NULL)}; }

static call_result do_on_wait(mr_training *t) { return (call_result){.st = mr_training_on_wait(t, NULL, NULL)}; }

static call_result do_evaluate(mr_training *t)
{
	double loss;

	return (call_result){.st = mr_training_evaluate(t, &loss, NULL)};
}

static call_result do_tensors(mr_training *t)
{
	size_t n;

	return (call_result){.st = mr_training_tensors(t, &n)};
}

static call_result do_tensor_at(mr_training *t)
{
	mr_training_tensor x = {.name = "old"};
	call_result r = {.st = mr_training_tensor_at(t, 0, &x)};

	CU_ASSERT_PTR_NULL(r.st == MR_OK ? NULL : x.name);
	return r;
}

static call_result do_stop(mr_training *t) { return (call_result){.st = mr_training_stop(t)}; }

static call_result do_steps(mr_training *t) { return (call_result){.number = (double)mr_training_steps(t)}; }

static call_result do_loss(mr_training *t)
{
	double loss = mr_training_loss(t);

	return (call_result){.number = isnan(loss) ? 0 : loss};
}

static call_result do_lag(mr_training *t) { return (call_result){.number = mr_training_lag(t)}; }

static call_result do_notices(mr_training *t)
{
	return (call_result){.number = (double)strlen(mr_training_notices(t))};
}

static call_result do_save(mr_training *t) { return (call_result){.st = mr_training_save(t)}; }

static call_result do_shapes(mr_training *t)
{
	mr_training_shape in, out;

	return (call_result){.st = mr_training_shapes(t, &in, &out)};
}

static call_result do_predict(mr_training *t)
{
	double in[4] = {0}, out[2];

	return (call_result){.st = mr_training_predict(t, in, 1, out)};
}

static call_result do_plan(mr_training *t)
{
	const char *text;

	return (call_result){.st = mr_training_plan(t, &text)};
}

static call_result do_figure(mr_training *t)
{
	double loss = 1;
	call_result r = {.st = mr_training_figure(t, "loss", &loss)};

	CU_ASSERT_TRUE(r.st == MR_OK || isnan(loss));
	return r;
}

static call_result do_sample(mr_training *t)
{
	const char *text;

	return (call_result){.st = mr_training_sample(t, &text)};
}

static const struct {
	const char *name;
	call_result (*call)(mr_training *t);
	bool tells;   /* it has no status: 0 is its refusal */
	bool always;  /* it may be called at any time and in callbacks */
	bool called_back; /* it may be called in callbacks */
	bool accepts_null;
} functions[] = {
	{"mr_training_run", do_run, .tells = false},
	{"mr_training_on_wait", do_on_wait, .tells = false},
	{"mr_training_evaluate", do_evaluate, .tells = false},
	{"mr_training_tensors", do_tensors, .tells = false},
	{"mr_training_tensor_at", do_tensor_at, .tells = false},
	{"mr_training_save", do_save, .tells = false},
	{"mr_training_shapes", do_shapes, .tells = false},
	{"mr_training_predict", do_predict, .tells = false},
	{"mr_training_plan", do_plan, .tells = false},
	{"mr_training_sample", do_sample, .tells = false},
	{"mr_training_figure", do_figure, .called_back = true},
	{"mr_training_stop", do_stop, .always = true},
	{"mr_training_steps", do_steps, .tells = true, .always = true},
	{"mr_training_loss", do_loss, .tells = true, .always = true},
	{"mr_training_lag", do_lag, .tells = true, .always = true},
	{"mr_training_notices", do_notices, .tells = true, .always = true},
	{"mr_training_close", do_close, .accepts_null = true},
};
enum { N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static void all_refuse(mr_training *t, const char *part, bool always_too)
{
	bool back = !strcmp(part, "has not returned");

	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		call_result r;

		if (back && functions[i].called_back) {
			MR_CHECK_OK(functions[i].call(t).st);
			continue;
		}
		if ((functions[i].always && !always_too) || (!t && functions[i].accepts_null))
			continue;
		r = functions[i].call(t);
		if (functions[i].tells) {
			CU_ASSERT_EQUAL(r.number, 0);
			continue;
		}
		refused(r.st, part, functions[i].name);
	}
}

/* --- states and places --- */

typedef struct place {
	mr_training *t;
	unsigned calls;
	_Atomic bool running, leave;
} place;

static bool call_all(void *arg, const mr_training_step *step)
{
	place *p = arg;

	all_refuse(p->t, "has not returned", false);
	CU_ASSERT_EQUAL(mr_training_steps(p->t), step->step);
	p->calls++;
	return true;
}

static bool hold(void *arg, const mr_training_step *step)
{
	place *p = arg;

	(void)step;
	atomic_store(&p->running, true);
	return !atomic_load(&p->leave);
}

static void *run_beside(void *arg)
{
	place *p = arg;

	MR_CHECK_OK(mr_training_run(p->t, 90000000, hold, p));
	return NULL;
}

static void test_states(const char *system)
{
	mr_training_tensor x;
	place p = {0};
	pthread_t thread;
	double loss;
	size_t n;
	int status;
	pid_t child;
	mr_job job;

	fill(&job, system); /* not checked: opening checks it */
	MR_CHECK_OK(mr_training_open(&job, &p.t));
	refused(mr_training_tensor_at(p.t, 0, &x), "has not been called", "tensor_at before tensors");
	refused(mr_training_evaluate(p.t, NULL, NULL), "NULL", "evaluate");
	refused(mr_training_tensors(p.t, NULL), "NULL", "tensors");
	refused(mr_training_figure(p.t, "loss", NULL), "NULL", "figure");
	refused(mr_training_figure(p.t, NULL, &loss), "NULL", "figure");
	refused(mr_training_figure(p.t, "los", &loss), "no figure is called", "figure");
	MR_CHECK_OK(mr_training_tensors(p.t, &n));
	refused(mr_training_tensor_at(p.t, n, &x), "there is no tensor", "tensor_at beyond the last");
	refused(mr_training_tensor_at(p.t, SIZE_MAX, &x), "there is no tensor", "tensor_at");
	refused(mr_training_tensor_at(p.t, 0, NULL), "NULL", "tensor_at");
	MR_CHECK_OK(mr_training_tensor_at(p.t, n - 1, &x));

	/* in its own callback: 20 steps are 20 steps */
	MR_CHECK_OK(mr_training_run(p.t, 20, call_all, &p));
	CU_ASSERT_EQUAL(p.calls, 20);
	CU_ASSERT_EQUAL(mr_training_steps(p.t), 20);
	refused(mr_training_tensor_at(p.t, 0, &x), "has not been called", "tensor_at after a run");

	/* beside a run on another thread */
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_beside, &p), 0);
	while (!atomic_load(&p.running))
		usleep(1000);
	all_refuse(p.t, "another thread", false);
	atomic_store(&p.leave, true);
	pthread_join(thread, NULL);
	CU_ASSERT_TRUE(mr_training_steps(p.t) > 20);
	MR_CHECK_OK(mr_training_evaluate(p.t, &loss, NULL)); /* it can still be used */

	/* in a forked process */
	fflush(NULL);
	child = fork();
	if (!child) {
		for (size_t i = 0; i < N_FUNCTIONS; i++) {
			call_result r = functions[i].call(p.t);

			if (functions[i].tells ? r.number != 0
					       : r.st != MR_EINVAL || !strstr(mr_error_text(), "forked"))
				_exit(10 + (int)i);
		}
		_exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	MR_CHECK_OK(mr_training_close(p.t));

	/* closed */
	all_refuse(p.t, "was closed", true);
	refused(mr_training_close(p.t), "was closed", "close twice");
	mr_job_fini(&job);
}

static void test_wrong_states(void)
{
	test_states("1f1b");
	test_states("pipedream");
	test_states("sequential");
}

static void test_null(void)
{
	mr_training *t = (mr_training *)&t;
	const char *no_text = NULL;
	mr_job job, other, *loaded;
	char text[64], *json;

	all_refuse(NULL, "is NULL", true);
	MR_CHECK_OK(mr_training_close(NULL));
	refused(mr_training_open(NULL, &t), "the job is NULL", "open");
	CU_ASSERT_PTR_NULL(t);
	refused(mr_job_init(NULL), "NULL", "init");
	mr_job_fini(NULL);
	mr_job_destroy(NULL);
	refused(mr_job_create(NULL), "NULL", "create");
	refused(mr_job_check(NULL), "NULL", "check");
	refused(mr_job_set(NULL, "a", "b"), "NULL", "set");
	refused(mr_job_choose(NULL, MR_JOB_MODEL, "mlp"), "NULL", "choose");
	refused(mr_job_copy(NULL, &other), "NULL", "copy");
	refused(mr_job_load(NULL, NULL, 0, &loaded), "NULL", "load");
	refused(mr_job_load("job.cfg", NULL, 0, NULL), "NULL", "load");
	refused(mr_job_load("job.cfg", NULL, 1, &loaded), "NULL", "load");
	refused(mr_job_load("job.cfg", &no_text, 1, &loaded), "NULL", "load");
	refused(mr_inspect(NULL, &json), "NULL", "inspect");
	refused(mr_inspect("runs", NULL), "NULL", "inspect");
	refused(mr_plan_job(NULL, NULL, &json), "NULL", "plan");
	MR_CHECK_OK(mr_job_init(&job));
	refused(mr_plan_job(&job, NULL, NULL), "NULL", "plan");
	CU_ASSERT_EQUAL(mr_plan_job(&job, NULL, &json), MR_ECONFIG);
	CU_ASSERT_PTR_NULL(json);
	CU_ASSERT_PTR_NULL(mr_training_figure_name(10000));
	refused(mr_training_open(&job, NULL), "is NULL", "open");
	refused(mr_job_set(&job, NULL, "b"), "key", "set");
	refused(mr_job_set(&job, "backend", NULL), "text", "set");
	refused(mr_job_choose(&job, MR_JOB_MODEL, NULL), "name", "choose");
	refused(mr_job_copy(&job, NULL), "NULL", "copy");
	refused(mr_job_copy(&job, &job), "same", "copy onto itself");
	for (int g = -2; g < MR_N_JOB_GROUPS + 3; g++)
		if (g < MR_JOB_MODEL || g > MR_JOB_SYSTEM) {
			snprintf(text, sizeof(text), "group %d", g);
			refused(mr_job_choose(&job, (mr_job_group)g, "mlp"), text, "choose");
		}

	/* a job with nothing in it, and one that is empty again */
	CU_ASSERT_EQUAL(mr_job_check(&job), MR_ECONFIG);
	CU_ASSERT_EQUAL(mr_training_open(&job, &t), MR_ECONFIG);
	CU_ASSERT_PTR_NULL(t);
	mr_job_fini(&job);
	mr_job_fini(&job);
	refused(mr_job_check(&job), "NULL", "an empty job");
	refused(mr_training_open(&job, &t), "NULL", "an empty job");

	CU_ASSERT_STRING_EQUAL(mr_status_name((mr_status)-1), "unknown");
	CU_ASSERT_STRING_EQUAL(mr_status_name(MR_N_STATUS), "unknown");
	CU_ASSERT_EQUAL(mr_status_exit_code((mr_status)99), 1);
	CU_ASSERT_PTR_NOT_NULL(mr_error_text());
	CU_ASSERT_PTR_NOT_NULL(mr_version());
}

/* Fields that no configuration can have. */
static void test_fields(void)
{
	static const size_t texts[] = {
		offsetof(mr_job, name), offsetof(mr_job, backend), offsetof(mr_job, costs),
		offsetof(mr_job, partition), offsetof(mr_job, run_dir), offsetof(mr_job, machine.cpus),
		offsetof(mr_job, machine.topology), offsetof(mr_job, machine.choices), offsetof(mr_job, trace.steps),
		offsetof(mr_job, sample.prompt),
	};
	static const struct {
		size_t at;
		int64_t value;
	} numbers[] = {
		{offsetof(mr_job, train.batch), 0},          {offsetof(mr_job, train.batch), INT64_MIN},
		{offsetof(mr_job, train.microbatches), -1},  {offsetof(mr_job, train.microbatches), INT64_MAX},
		{offsetof(mr_job, train.steps), 0},          {offsetof(mr_job, machine.workers), -1},
		{offsetof(mr_job, machine.workers), 1 << 20}, {offsetof(mr_job, machine.threads), -5},
		{offsetof(mr_job, precision), 77},           {offsetof(mr_job, precision), -1},
		{offsetof(mr_job, lr_schedule.name), 99},      {offsetof(mr_job, train.nonfinite), 99},
		{offsetof(mr_job, checkpoint.hung), 99},     {offsetof(mr_job, machine.loaders), -1},
		{offsetof(mr_job, machine.teams), 99},
	};
	mr_training *t;
	mr_job job;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fill(&job, "1f1b");
		*(const char **)((char *)&job + texts[i]) = NULL;
		refused(mr_job_check(&job), "NULL", "a text");
		refused(mr_training_open(&job, &t), "NULL", "a text");
		mr_job_fini(&job);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		fill(&job, "1f1b");
		*(int64_t *)((char *)&job + numbers[i].at) = numbers[i].value;
		if (mr_training_open(&job, &t) != MR_ECONFIG)
			fprintf(stderr, "\nnumber %zu was taken, or refused as: %s\n", i, mr_error_text());
		CU_ASSERT_EQUAL(mr_training_open(&job, &t), MR_ECONFIG);
		mr_job_fini(&job);
	}
}

/* Without a folder nothing can be written: each key that asks for files is named. */
static void test_no_folder(void)
{
	static const char *const asks[][2] = {
		{"checkpoint.every", "5"}, {"checkpoint.keep", "7"},     {"checkpoint.hung", "skip"},
		{"trace.steps", "3-4"},    {"run.tensorboard", "true"}, {"checkpoint.keep_every", "10"},
	};
	mr_training_opts resumed = {.resume = ""};
	mr_training *t;
	mr_job job;

	fill(&job, "1f1b");
	refused(mr_training_open_with(&job, NULL, &t), "options", "no options");
	CU_ASSERT_EQUAL(mr_training_open_with(&job, &resumed, &t), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "resume: there is no folder"));
	MR_CHECK_OK(mr_job_check(&job));
	MR_CHECK_OK(mr_training_open(&job, &t));
	CU_ASSERT_STRING_EQUAL(mr_training_notices(t), "");
	refused(mr_training_save(t), "no folder", "save before a step");
	MR_CHECK_OK(mr_training_run(t, 3, NULL, NULL));
	refused(mr_training_save(t), "no folder", "save");
	refused(mr_training_predict(t, NULL, 1, NULL), "NULL", "predict");
	refused(mr_training_shapes(t, NULL, NULL), "NULL", "shapes");
	refused(mr_training_sample(t, NULL), "NULL", "sample");
	MR_CHECK_OK(mr_training_close(t));
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		MR_CHECK_OK(mr_job_set(&job, asks[i][0], asks[i][1]));
	CU_ASSERT_EQUAL(mr_training_open(&job, &t), MR_ECONFIG);
	CU_ASSERT_PTR_NULL(t);
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), asks[i][0]));
	mr_job_fini(&job);
}

/* Each function of the headers is in one of the tests above. */
static void test_all_functions(void)
{
	static const char *const headers[] = {"inspect", "job", "status", "training", "millrace"};
	char path[4096], line[512], name[128];
	char *tests = NULL;
	size_t len = 0;
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/training/test_training_misuse.c", getenv("MR_SOURCE"));
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_TRUE(getdelim(&tests, &len, '\0', f) > 0);
	fclose(f);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		snprintf(path, sizeof(path), "%s/engine/include/millrace/%s.h", getenv("MR_SOURCE"), headers[i]);
		f = fopen(path, "r");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		while (fgets(line, sizeof(line), f)) {
			char *open = strchr(line, '('), *at = open;

			if (strncmp(line, "MR_API ", 7) || !open)
				continue;
			while (at > line && at[-1] != ' ' && at[-1] != '*')
				at--;
			snprintf(name, sizeof(name), "%.*s(", (int)(open - at), at);
			if (!strstr(tests, name))
				fprintf(stderr, "\n%s is in no table of misuse\n", name);
			CU_ASSERT_PTR_NOT_NULL(strstr(tests, name));
			n++;
		}
		fclose(f);
	}
	CU_ASSERT_TRUE(n >= 20);
	free(tests);
}

void mr_suite_training_misuse(void);

void mr_suite_training_misuse(void)
{
	MR_SUITE("training_misuse");
	MR_TEST(test_null);
	MR_TEST(test_fields);
	MR_TEST(test_no_folder);
	MR_TEST(test_wrong_states);
	MR_TEST(test_all_functions);
}
