/*
 * test_library.c - a training of the library with a folder: what it leaves there, going on from it, two at once.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "millrace/millrace.h"
#include "scratch.h"

static const char *const settings[][2] = {
	{"model.name", "mlp"},      {"model.hidden", "[8]"},  {"data.name", "synthetic"},  {"data.features", "4"},
	{"data.classes", "3"},      {"data.samples", "200"},  {"optimizer.name", "adamw"}, {"train.steps", "20"},
	{"train.batch", "8"},       {"optimizer.lr", "0.01"},     {"machine.workers", "2"},    {"machine.threads", "1"},
	{"backend", "reference"},   {"machine.peak_gflops", "1"}, {"checkpoint.every", "5"}, {"train.eval_every", "5"},
};

static char root[128];

static void fill(mr_job *job, const char *system, const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "\"%s/%s-%s\"", root, system, folder);
	MR_CHECK_OK(mr_job_init(job));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		MR_CHECK_OK(mr_job_set(job, settings[i][0], settings[i][1]));
	MR_CHECK_OK(mr_job_set(job, "system.name", system));
	MR_CHECK_OK(mr_job_set(job, "run.dir", path));
}

/* Is @name in the folder of @job? */
static bool has(const mr_job *job, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", job->run_dir, name);
	return access(path, F_OK) == 0;
}

/* The bytes of a file of the job's folder; the caller frees them. */
static char *bytes_of(const mr_job *job, const char *name, size_t *n)
{
	char path[512], *text = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", job->run_dir, name);
	f = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	text = malloc(*n + 1);
	CU_ASSERT_EQUAL(fread(text, 1, *n, f), *n);
	text[*n] = 0;
	fclose(f);
	return text;
}

static void same_model(const mr_job *a, const mr_job *b)
{
	const char *name = "checkpoints/step-00000020/model.safetensors";
	size_t n, m;
	char *x = bytes_of(a, name, &n), *y = bytes_of(b, name, &m);

	CU_ASSERT_EQUAL_FATAL(n, m);
	CU_ASSERT_EQUAL(memcmp(x, y, n), 0);
	free(x);
	free(y);
}

static unsigned lines_with(const char *text, const char *word)
{
	unsigned n = 0;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		n++;
	return n;
}

static bool stop_at_seven(void *arg, const mr_training_step *step)
{
	(void)arg;
	return step->step != 7;
}

/* In one go; cut by calls, a callback and a save; and by a process that ends: the same weights, and the same rows. */
static void in_pieces(const char *system)
{
	mr_training_opts resume = {.resume = ""};
	mr_job whole, cut;
	mr_training *t;
	size_t n;
	char *rows;

	fill(&whole, system, "whole");
	fill(&cut, system, "cut");
	MR_CHECK_OK(mr_training_open(&whole, &t));
	MR_CHECK_OK(mr_training_run(t, 20, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	CU_ASSERT_TRUE(has(&whole, "resolved.cfg") && has(&whole, "run.json") && has(&whole, "status.json"));
	MR_CHECK_OK(mr_training_open(&cut, &t));
	MR_CHECK_OK(mr_training_run(t, 20, stop_at_seven, NULL));
	CU_ASSERT_EQUAL(mr_training_steps(t), 7 + mr_training_lag(t));
	MR_CHECK_OK(mr_training_save(t));
	MR_CHECK_OK(mr_training_run(t, 13, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t)); /* which saves step 13 */
	CU_ASSERT_TRUE(has(&cut, "checkpoints/step-00000013"));
	CU_ASSERT_EQUAL(mr_training_open(&cut, &t), MR_EUSAGE); /* it holds a run */
	MR_CHECK_OK(mr_training_open_with(&cut, &resume, &t));
	CU_ASSERT_EQUAL(mr_training_steps(t), 13);
	MR_CHECK_OK(mr_training_run(t, 20, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	same_model(&whole, &cut);
	rows = bytes_of(&cut, "metrics.jsonl", &n);
	CU_ASSERT_EQUAL(lines_with(rows, "\"loss\":"), 20);
	CU_ASSERT_EQUAL(lines_with(rows, "\"val_loss\":"), 4);
	free(rows);
	mr_job_fini(&whole);
	mr_job_fini(&cut);
}

static void test_in_pieces(void)
{
	in_pieces("1f1b");
	in_pieces("pipedream");
	in_pieces("sequential");
}

/* A training without a step leaves no folder. */
static void test_nothing_done(void)
{
	mr_training *t;
	mr_job job;

	fill(&job, "1f1b", "nothing");
	MR_CHECK_OK(mr_training_open(&job, &t));
	CU_ASSERT_TRUE(has(&job, "resolved.cfg"));
	MR_CHECK_OK(mr_training_close(t));
	CU_ASSERT_FALSE(has(&job, ""));
	mr_job_fini(&job);
}

/* Two trainings of one process take turns; the second may not have the first one's folder. */
static void test_two_at_once(void)
{
	mr_training *a, *b, *c;
	mr_job first, second;

	fill(&first, "1f1b", "first");
	fill(&second, "1f1b", "second");
	MR_CHECK_OK(mr_training_open(&first, &a));
	CU_ASSERT_EQUAL(mr_training_open(&first, &c), MR_ERESOURCE);
	CU_ASSERT_PTR_NULL(c);
	CU_ASSERT_TRUE(has(&first, "resolved.cfg"));
	MR_CHECK_OK(mr_training_open(&second, &b));
	for (uint64_t step = 4; step <= 20; step += 4) {
		MR_CHECK_OK(mr_training_run(a, step, NULL, NULL));
		MR_CHECK_OK(mr_training_run(b, step, NULL, NULL));
	}
	MR_CHECK_OK(mr_training_close(b));
	MR_CHECK_OK(mr_training_close(a));
	same_model(&first, &second);
	mr_job_fini(&first);
	mr_job_fini(&second);
}

static void *run_all(void *t)
{
	MR_CHECK_OK(mr_training_run(t, MR_TRAINING_ALL, NULL, NULL));
	return NULL;
}

/* Two that run at the same moment are as two one after the other. */
static void test_two_threads(void)
{
	mr_training *t[2];
	mr_job job[2];
	pthread_t thread;

	fill(&job[0], "pipedream", "here");
	fill(&job[1], "pipedream", "there");
	for (int i = 0; i < 2; i++)
		MR_CHECK_OK(mr_training_open(&job[i], &t[i]));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_all, t[0]), 0);
	run_all(t[1]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		MR_CHECK_OK(mr_training_close(t[i]));
	same_model(&job[0], &job[1]);
	mr_job_fini(&job[0]);
	mr_job_fini(&job[1]);
}

/* A figure of the step before, in its callback: the last step's is there already. */
static bool check_figures(void *arg, const mr_training_step *step)
{
	double loss, steps;

	MR_CHECK_OK(mr_training_figure(arg, "loss", &loss));
	MR_CHECK_OK(mr_training_figure(arg, "steps", &steps));
	CU_ASSERT(loss == step->loss && steps == 20);
	return true;
}

/* The figures of the table by their names: of steps, of an evaluation, of the process. */
static void test_figures(void)
{
	double x, loss, accuracy;
	size_t known = 0;
	mr_training *t;
	mr_job job;

	fill(&job, "1f1b", "figures");
	MR_CHECK_OK(mr_training_open(&job, &t));
	MR_CHECK_OK(mr_training_figure(t, "loss", &x));
	CU_ASSERT_TRUE(isnan(x));
	MR_CHECK_OK(mr_training_run(t, 20, check_figures, t));
	MR_CHECK_OK(mr_training_evaluate(t, &loss, &accuracy));
	MR_CHECK_OK(mr_training_figure(t, "loss", &x));
	CU_ASSERT_EQUAL(x, mr_training_loss(t));
	MR_CHECK_OK(mr_training_figure(t, "val_loss", &x));
	CU_ASSERT_EQUAL(x, loss);
	MR_CHECK_OK(mr_training_figure(t, "val_accuracy", &x));
	CU_ASSERT_EQUAL(x, accuracy);
	MR_CHECK_OK(mr_training_figure(t, "samples", &x));
	CU_ASSERT_EQUAL(x, 160);
	MR_CHECK_OK(mr_training_figure(t, "val_auc", &x)); /* three classes have none */
	CU_ASSERT_TRUE(isnan(x));
	for (size_t i = 0; mr_training_figure_name(i); i++) {
		MR_CHECK_OK(mr_training_figure(t, mr_training_figure_name(i), &x));
		known += !isnan(x);
	}
	CU_ASSERT_TRUE(known > 12);
	MR_CHECK_OK(mr_training_close(t));
	mr_job_fini(&job);
}

/* The order that a racing system took is carried out again, to the same weights; and counts have their file. */
static void test_record(void)
{
	char path[256], name[256];
	mr_training_opts record = {.record = name, .counters = true}, replay = {.replay = path};
	mr_training_opts both = {.replay = path, .plan = path}, alone = {.init_anyway = true};
	mr_training *t;
	mr_job race, again;

	snprintf(path, sizeof(path), "%s/record.txt", root);
	snprintf(name, sizeof(name), "%s", path);
	fill(&race, "ampnet", "race");
	fill(&again, "ampnet", "again");
	MR_CHECK_OK(mr_job_set(&race, "system.order", "racing"));
	MR_CHECK_OK(mr_training_open_with(&race, &record, &t));
	memset(name, 'x', sizeof(name) - 1); /* its caller's string need not stay */
	MR_CHECK_OK(mr_training_run(t, MR_TRAINING_ALL, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	CU_ASSERT_TRUE(has(&race, "counters.json"));
	CU_ASSERT_EQUAL(mr_training_open_with(&again, &both, &t), MR_EUSAGE);
	CU_ASSERT_EQUAL(mr_training_open_with(&again, &alone, &t), MR_EUSAGE);
	MR_CHECK_OK(mr_training_open_with(&again, &replay, &t));
	MR_CHECK_OK(mr_training_run(t, MR_TRAINING_ALL, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	CU_ASSERT_FALSE(has(&again, "counters.json"));
	same_model(&race, &again);
	mr_job_fini(&race);
	mr_job_fini(&again);
}

/* What a training would be, without one: nothing is written and nothing printed, also of times that another program
 * kept, and what does not fit is refused with figures. */
static void test_plan(void)
{
	char *json = NULL, path[300], *said;
	size_t n = 0;
	FILE *f;
	mr_job job;
	int fd = dup(STDERR_FILENO);

	snprintf(path, sizeof(path), "%s/millrace", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/millrace/kept-layers.csv", root);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("of another program\n", f);
	fclose(f);
	setenv("XDG_CACHE_HOME", root, 1);
	snprintf(path, sizeof(path), "%s/said", root);
	CU_ASSERT_PTR_NOT_NULL(freopen(path, "w", stderr));

	fill(&job, "1f1b", "planned");
	MR_CHECK_OK(mr_plan_job(&job, NULL, &json));
	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"stages\""));
	CU_ASSERT_FALSE(has(&job, ""));
	free(json);
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	close(fd);
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	said = NULL;
	CU_ASSERT_TRUE(getdelim(&said, &n, 0, f) <= 0);
	free(said);
	fclose(f);
	MR_CHECK_OK(mr_job_set(&job, "machine.memory_limit", "1000000"));
	CU_ASSERT_EQUAL(mr_plan_job(&job, NULL, &json), MR_ERESOURCE);
	CU_ASSERT_PTR_NULL(json);
	CU_ASSERT_EQUAL(mr_plan_job(&job, "/nonexistent/plan.txt", &json), MR_ECONFIG);
	mr_job_fini(&job);
}

/* What the network says of a sample follows from its weights alone, and a training that goes on says something else. */
static void test_predict(void)
{
	double in[3][4] = {{1, 2, 3, 4}, {0, 0, 0, 0}, {1, 2, 3, 4}}, out[3][3], later[3][3];
	mr_training_shape x, y;
	mr_training *t;
	mr_job job;

	fill(&job, "pipedream", "predict");
	MR_CHECK_OK(mr_training_open(&job, &t));
	MR_CHECK_OK(mr_training_shapes(t, &x, &y));
	CU_ASSERT_TRUE(x.n == 4 && y.n == 3 && !x.tokens);
	MR_CHECK_OK(mr_training_run(t, 4, NULL, NULL));
	MR_CHECK_OK(mr_training_predict(t, in, 3, &out[0][0]));
	CU_ASSERT_EQUAL(memcmp(out[0], out[2], sizeof(out[0])), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(out[0], out[1], sizeof(out[0])), 0);
	MR_CHECK_OK(mr_training_run(t, 8, NULL, NULL));
	MR_CHECK_OK(mr_training_predict(t, in, 3, &later[0][0]));
	CU_ASSERT_NOT_EQUAL(memcmp(out[0], later[0], sizeof(out[0])), 0);
	MR_CHECK_OK(mr_training_close(t));
	mr_job_fini(&job);
}

/* In virtual time the same weights come out. */
static void test_simulated(void)
{
	mr_training_opts simulate = {.simulate = true};
	mr_job real, first;
	mr_training *t;
	const char *text;

	fill(&real, "pipedream", "real");
	fill(&first, "pipedream", "simulated");
	MR_CHECK_OK(mr_training_open(&real, &t));
	MR_CHECK_OK(mr_training_run(t, 20, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	MR_CHECK_OK(mr_training_open_with(&first, &simulate, &t));
	MR_CHECK_OK(mr_training_plan(t, &text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "pipedream"));
	MR_CHECK_OK(mr_training_run(t, 20, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	same_model(&real, &first);
	mr_job_fini(&real);
	mr_job_fini(&first);
}

/* The job of a file has strings and places of its own, and trains what the same job from settings trains. */
static void test_of_a_file(void)
{
	static const char *const sets[] = {"train.seed=3", "system.name=1f1b"};
	char path[300], dir[300];
	const char *given[3] = {sets[0], sets[1], dir};
	mr_job *loaded, job;
	mr_training *t;
	char *json;
	FILE *f;

	snprintf(path, sizeof(path), "%s/small.cfg", root);
	snprintf(dir, sizeof(dir), "run.dir=%s/1f1b-file", root);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("model = { name = \"mlp\"; hidden = [8]; };\n"
	      "data = { name = \"synthetic\"; features = 4; classes = 3; samples = 200; };\n"
	      "optimizer = { name = \"adamw\"; lr = 0.01; }; system = { name = \"pipedream\"; };\n"
	      "train = { steps = 20; batch = 8; eval_every = 5; }; backend = \"reference\";\n"
	      "machine = { workers = 2; threads = 1; peak_gflops = 1.0; }; checkpoint = { every = 5; };\n",
	      f);
	fclose(f);
	MR_CHECK_OK(mr_job_load(path, given, 3, &loaded));
	CU_ASSERT_STRING_EQUAL(loaded->system.name, "1f1b");
	CU_ASSERT_EQUAL(loaded->train.seed, 3);
	MR_CHECK_OK(mr_training_open(loaded, &t));
	MR_CHECK_OK(mr_job_set(loaded, "run.dir", "elsewhere")); /* the training has a copy */
	mr_job_destroy(loaded);
	MR_CHECK_OK(mr_training_run(t, MR_TRAINING_ALL, NULL, NULL));
	CU_ASSERT_EQUAL(mr_training_steps(t), 20);
	MR_CHECK_OK(mr_training_close(t));

	fill(&job, "1f1b", "settings");
	MR_CHECK_OK(mr_job_set(&job, "train.seed", "3"));
	MR_CHECK_OK(mr_training_open(&job, &t));
	MR_CHECK_OK(mr_training_run(t, 20, NULL, NULL));
	MR_CHECK_OK(mr_training_close(t));
	MR_CHECK_OK(mr_job_load(path, given, 3, &loaded));
	same_model(loaded, &job);

	MR_CHECK_OK(mr_inspect(loaded->run_dir, &json));
	CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"step\": 20,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"fc.0.weight\""));
	free(json);
	CU_ASSERT_EQUAL(mr_inspect(root, &json), MR_ECKPT);
	CU_ASSERT_PTR_NULL(json);
	CU_ASSERT_EQUAL(mr_inspect(NULL, &json), MR_EINVAL);
	mr_job_destroy(loaded);
	mr_job_fini(&job);

	CU_ASSERT_EQUAL(mr_job_load(NULL, NULL, 0, &loaded), MR_EINVAL);
	CU_ASSERT_EQUAL(mr_job_load(path, NULL, 1, &loaded), MR_EINVAL);
	given[1] = "system.name=pipedrem";
	CU_ASSERT_EQUAL(mr_job_load(path, given, 3, &loaded), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "did you mean \"pipedream\"?"));
	CU_ASSERT_PTR_NULL(loaded);
	CU_ASSERT_EQUAL(mr_job_load("/nowhere.cfg", NULL, 0, &loaded), MR_ECONFIG);
}

static void remove_all(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	CU_ASSERT_EQUAL(system(command), 0);
}

void mr_suite_library(void);

void mr_suite_library(void)
{
	if (!mkdtemp(mr_scratch(root, sizeof(root), "library")))
		abort();
	MR_SUITE("library");
	MR_TEST(test_in_pieces);
	MR_TEST(test_nothing_done);
	MR_TEST(test_two_at_once);
	MR_TEST(test_two_threads);
	MR_TEST(test_figures);
	MR_TEST(test_record);
	MR_TEST(test_plan);
	MR_TEST(test_predict);
	MR_TEST(test_simulated);
	MR_TEST(test_of_a_file);
	MR_TEST(remove_all);
}
