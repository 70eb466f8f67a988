/*
 * test_predictor.c - the library's predictor (millrace/predictor.h): a run that the library trained is predicted from
 * its folder alone, from memory and from files, and misuse is refused.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "millrace/millrace.h"
#include "scratch.h"

#define ROWS 60

static const char *const settings[][2] = {
	{"model.name", "mlp"},         {"model.hidden", "[8]"},    {"data.name", "csv"},
	{"data.targets", "classes"},   {"optimizer.name", "adam"}, {"train.steps", "60"},
	{"train.batch", "10"},         {"optimizer.lr", "0.03"},   {"system.name", "sequential"},
	{"machine.workers", "1"},      {"machine.threads", "1"},   {"backend", "reference"},
	{"machine.peak_gflops", "1"},  {"data.validation", "0"},   {"data.categories", "\"kind\""},
	{"data.category", "known"},    {"data.one_hot", "5"},      {"data.empty", "mean"},
};

static char root[64], table[128], folder[128];
static double row[ROWS][2]; /* as in the table, whose kinds are 1 and 2 */

static void write_table(const char *path, const char *head, bool targets)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, "%s\n", head);
	for (int i = 0; i < ROWS; i++)
		fprintf(f, "%g,%g%s\n", row[i][0], row[i][1], !targets ? "" : row[i][0] > 0 ? ",up" : ",down");
	fclose(f);
}

static void train(void)
{
	char text[160];
	mr_training *t;
	mr_job job;

	mkdtemp(mr_scratch(root, sizeof(root), "predictor"));
	snprintf(table, sizeof(table), "%s/table.csv", root);
	snprintf(folder, sizeof(folder), "%s/run", root);
	for (int i = 0; i < ROWS; i++) {
		row[i][0] = (i * 7 % 13) / 3.0 - 2.1;
		row[i][1] = 1 + i % 2;
	}
	write_table(table, "size,kind,way", true);
	MR_CHECK_OK(mr_job_init(&job));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		MR_CHECK_OK(mr_job_set(&job, settings[i][0], settings[i][1]));
	snprintf(text, sizeof(text), "\"%s\"", table);
	MR_CHECK_OK(mr_job_set(&job, "data.path", text));
	snprintf(text, sizeof(text), "\"%s\"", folder);
	MR_CHECK_OK(mr_job_set(&job, "run.dir", text));
	MR_CHECK_OK(mr_job_check(&job));
	MR_CHECK_OK(mr_training_open(&job, &t));
	MR_CHECK_OK(mr_training_run(t, MR_TRAINING_ALL, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	mr_job_fini(&job);
}

typedef struct seen {
	double value[ROWS][2], target[ROWS];
	uint64_t n, most; /* rows so far; it stops at so many */
} seen;

static bool see(void *arg, uint64_t n, const double *values, const double *targets)
{
	seen *s = arg;

	for (uint64_t i = 0; i < n && s->n < ROWS; i++, s->n++) {
		memcpy(s->value[s->n], values + 2 * i, sizeof(s->value[0]));
		s->target[s->n] = targets[i];
	}
	return s->n < s->most;
}

/* Rows in memory and rows of a file are predicted alike; the file's targets come with them. */
static void test_alike(void)
{
	mr_predictor_opts opts = {.checkpoint = "last", .batch = 7};
	seen s = {.most = UINT64_MAX};
	double value[ROWS][2];
	mr_predictor *p;
	char *json;

	CU_ASSERT_EQUAL(unlink(table), 0); /* the training's own file is not needed */
	MR_CHECK_OK(mr_predictor_open(folder, &opts, &p));
	write_table(table, "size,kind,way", true);
	MR_CHECK_OK(mr_predictor_numbers(p, row[0], ROWS, value[0]));
	MR_CHECK_OK(mr_predictor_file(p, &(mr_predictor_input){.path = table, .rows = see, .arg = &s}));
	CU_ASSERT_STRING_EQUAL(mr_predictor_notices(p), "accuracy 100.0000%, 60 samples\n");
	CU_ASSERT_EQUAL_FATAL(s.n, ROWS);
	for (int i = 0; i < ROWS; i++) {
		CU_ASSERT_DOUBLE_EQUAL(value[i][0], s.value[i][0], 1e-6);
		CU_ASSERT_DOUBLE_EQUAL(value[i][0] + value[i][1], 1, 1e-9);
		CU_ASSERT_EQUAL(s.target[i], value[i][1] > value[i][0]);
	}
	MR_CHECK_OK(mr_predictor_about(p, &json));
	CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"step\":60,\"data\":\"csv\",\"language\":false,\"task\":\"classes\","
					    "\"classes\":[\"down\",\"up\"],\"columns\":[{\"name\":\"size\",\"kind\":"
					    "\"number\"},{\"name\":\"kind\",\"kind\":\"category\"}],\"target\":\"way\","
					    "\"width\":2,\"values\":2}"));
	free(json);
	mr_predictor_close(p);
}

/* Stopped within a batch; without targets; missing values and unknown ones; what is wrong is named. */
static void test_odd(void)
{
	mr_predictor_opts opts = {.batch = 7};
	const double odd[] = {NAN, 3, 1, NAN, INFINITY, 1};
	seen s = {.most = 8};
	double value[2][2];
	mr_predictor_input in = {.path = table, .rows = see, .arg = &s};
	mr_predictor *p;

	write_table(table, "size,kind", false);
	MR_CHECK_OK(mr_predictor_open(folder, &opts, &p));
	CU_ASSERT_EQUAL(mr_predictor_file(p, &in), MR_ESTOPPED);
	CU_ASSERT_EQUAL(s.n, 14);
	CU_ASSERT(isnan(s.target[0]));
	MR_CHECK_OK(mr_predictor_numbers(p, odd, 2, value[0]));
	CU_ASSERT_STRING_EQUAL(mr_predictor_notices(p),
			       "warning: 2 unknown values of kind, such as \"3\": taken as unknown\n");
	CU_ASSERT_EQUAL(mr_predictor_numbers(p, odd, 3, value[0]), MR_EDATA);
	CU_ASSERT_STRING_EQUAL(mr_error_text(), "row 3: size is infinite, expected a number");
	write_table(table, "kind,sizes", false);
	CU_ASSERT_EQUAL(mr_predictor_file(p, &in), MR_EDATA);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "there is no column \"size\" (did \"sizes\" have this name?)"));
	mr_predictor_close(p);
}

static void test_misuse(void)
{
	mr_predictor *p = (mr_predictor *)root;
	mr_predictor_input in = {.path = table};

	CU_ASSERT_EQUAL(mr_predictor_open(root, NULL, &p), MR_ECKPT);
	CU_ASSERT_PTR_NULL(p);
	CU_ASSERT_EQUAL(mr_predictor_open(NULL, NULL, &p), MR_EINVAL);
	CU_ASSERT_EQUAL(mr_predictor_open(folder, &(mr_predictor_opts){.batch = -1}, &p), MR_EINVAL);
	CU_ASSERT_EQUAL(mr_predictor_file(NULL, &in), MR_EINVAL);
	MR_CHECK_OK(mr_predictor_open(folder, NULL, &p));
	CU_ASSERT_EQUAL(mr_predictor_file(p, NULL), MR_EINVAL);
	CU_ASSERT_EQUAL(mr_predictor_about(p, NULL), MR_EINVAL);
	CU_ASSERT_EQUAL(mr_predictor_numbers(p, NULL, 1, NULL), MR_EINVAL);
	in.format = "xml";
	CU_ASSERT_EQUAL(mr_predictor_file(p, &in), MR_EINVAL);
	in = (mr_predictor_input){.path = table, .input = "lines"};
	CU_ASSERT_EQUAL(mr_predictor_file(p, &in), MR_EUSAGE);
	mr_predictor_close(p);
	mr_predictor_close(NULL);
}

static void remove_all(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CU_ASSERT_EQUAL(system(command), 0);
}

void mr_suite_predictor(void);
void mr_suite_predictor(void)
{
	MR_SUITE("predictor");
	MR_TEST(train);
	MR_TEST(test_alike);
	MR_TEST(test_odd);
	MR_TEST(test_misuse);
	MR_TEST(remove_all);
}
