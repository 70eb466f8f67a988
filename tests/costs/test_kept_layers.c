/* test_kept_layers.c - measured times that correct predictions: which layers, by how much, and which files are refused.
 */
#include "costs/kept_layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/result.h"
#include "check.h"
#include "job/job_help.h"
#include "costs/cost_model.h"
#include "costs/measured_machine.h"
#include "session/session.h"
#include "store/kept_machine.h"
#include "store/kept_path.h"

#define BASE                                                                                                           \
	"model.name=mlp data.name=synthetic data.features=16 data.classes=4 data.samples=64 optimizer.name=adamw "     \
	"system.name=sequential train.steps=2 train.batch=8 optimizer.lr=0.01 "      \
	"machine.workers=1 machine.threads=1 "

static char folder[] = "/tmp/millrace-kept-XXXXXX", before[4096];

static int make_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME");

	snprintf(before, sizeof(before), "%s", cache ? cache : "");
	return !mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1);
}

static void forget(void)
{
	char path[4096];

	if (mr_kept_rows_path(path, sizeof(path)))
		unlink(path);
}

static int remove_folder(void)
{
	char path[4096];

	forget();
	if (mr_kept_path("kept-machine.csv", path, sizeof(path)))
		unlink(path);
	snprintf(path, sizeof(path), "%s/millrace", folder);
	rmdir(path);
	return rmdir(folder) || setenv("XDG_CACHE_HOME", before, 1);
}

typedef struct model {
	mr_job job;
	mr_session s;
	mr_measured_machine here;
	mr_costs modelled;
} model;

static mr_status forecast(const model *m, mr_costs *out)
{
	mr_workload of = mr_session_workload(&m->s);

	return mr_costs_forecast(&of, 0, out);
}

/* What is kept of layer @node, by one thread. */
static bool finds(mr_kept_layers *k, const model *m, uint32_t node, mr_kept_layer *row)
{
	mr_workload of = mr_session_workload(&m->s);

	return mr_kept_layers_find(k, &of, node, 1, row);
}

static void open_model(model *m, const char *more)
{
	mr_workload of;

	mr_test_job_of(&m->job, BASE, more);
	MR_CHECK_OK(mr_session_survey(&m->job, &m->s));
	of = mr_session_workload(&m->s);
	m->here = (mr_measured_machine){.server = mr_model_server(&of)};
	m->s.measured = &m->here;
	MR_CHECK_OK(forecast(m, &m->modelled));
}

static void close_model(model *m)
{
	mr_costs_fini(&m->modelled);
	mr_measured_machine_fini(&m->here);
	mr_session_close(&m->s);
	mr_job_fini(&m->job);
}

/* Keep times of the layers of @m that are @f, @w and @u times those of the model. */
static uint32_t keep(model *m, double f, double w, double u, bool anew)
{
	mr_workload of = mr_session_workload(&m->s);
	mr_costs c;
	uint32_t n = 0;

	MR_CHECK_OK(forecast(m, &c));
	for (uint32_t i = 0; i < m->s.graph->n_nodes; i++) {
		c.layer[i].f = f * m->modelled.layer[i].f;
		c.layer[i].w = w * m->modelled.layer[i].w;
		c.layer[i].u = u * m->modelled.layer[i].u;
	}
	MR_CHECK_OK(mr_kept_layers_store(&of, &c, anew, &n));
	mr_costs_fini(&c);
	return n;
}

static bool recalls_nothing(const model *m)
{
	mr_kept_layers *k = mr_kept_layers_open();
	mr_kept_layer row;
	bool nothing = !finds(k, m, 1, &row);

	mr_kept_layers_close(k);
	return nothing;
}

/* The factor by which F of layer 1 changes when what is kept is recalled. */
static double factor_of(model *m)
{
	mr_costs c;
	double by;

	m->here.kept = mr_kept_layers_open();
	MR_CHECK_OK(forecast(m, &c));
	by = c.layer[1].f / m->modelled.layer[1].f;
	mr_costs_fini(&c);
	mr_measured_machine_fini(&m->here);
	return by;
}

static void other_models_have_the_times_of_layers_that_are_alike(void)
{
	model a, b, c;
	mr_kept_layer row;
	mr_costs got;

	forget();
	open_model(&a, "model.hidden=[32,32,32]");
	open_model(&b, "model.hidden=[32,32,32,32,32] system.name=1f1b machine.workers=2 train.microbatches=2");
	open_model(&c, "model.hidden=[48,48]");
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&a), 1, 1e-12);
	CU_ASSERT(keep(&a, 2, 3, 4, false) > 2);
	a.here.kept = mr_kept_layers_open();
	MR_CHECK_OK(forecast(&a, &got));
	for (uint32_t i = 0; i < b.s.graph->n_nodes; i++)
		CU_ASSERT(finds(a.here.kept, &b, i, &row) && row.samples == 8 && row.threads == 1);
	CU_ASSERT(!finds(a.here.kept, &c, 1, &row));
	for (uint32_t i = 0; i < a.s.graph->n_nodes; i++) {
		CU_ASSERT_DOUBLE_EQUAL(got.layer[i].f, 2 * a.modelled.layer[i].f, 1e-5 * got.layer[i].f);
		CU_ASSERT_DOUBLE_EQUAL(got.layer[i].i, a.modelled.layer[i].i, 1e-5 * got.layer[i].i);
		CU_ASSERT_DOUBLE_EQUAL(got.layer[i].w, 3 * a.modelled.layer[i].w, 1e-5 * got.layer[i].w);
		CU_ASSERT_DOUBLE_EQUAL(got.layer[i].u, 4 * a.modelled.layer[i].u, 1e-5 * got.layer[i].u);
	}
	mr_costs_fini(&got);
	mr_measured_machine_fini(&a.here);
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&b), 2, 1e-4); /* micro-batches of half the size */
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&c), 1, 1e-12);
	close_model(&a);
	close_model(&b);
	close_model(&c);
}

/* Where all steps are inside of backward passes, the time of W contains that of U. */
static void a_step_inside_counts_once(void)
{
	model a;
	mr_costs c;

	forget();
	open_model(&a, "model.hidden=[32,32]");
	keep(&a, 1, 3, 0, false);
	a.here.kept = mr_kept_layers_open();
	MR_CHECK_OK(forecast(&a, &c));
	CU_ASSERT_DOUBLE_EQUAL((c.layer[1].w + c.layer[1].u) / (3 * a.modelled.layer[1].w), 1, 1e-4);
	mr_costs_fini(&c);
	close_model(&a);
}

static void rows_are_added_replaced_and_forgotten(void)
{
	model a, b;
	uint32_t n, both;

	forget();
	open_model(&a, "model.hidden=[32,32,32]");
	open_model(&b, "model.hidden=[40,40,40]");
	n = keep(&a, 2, 1, 1, false);
	both = keep(&b, 3, 1, 1, false);
	CU_ASSERT(both > n);
	CU_ASSERT_EQUAL(keep(&a, 5, 1, 1, false), both);
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&a), 5, 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&b), 3, 1e-4);
	CU_ASSERT_EQUAL(keep(&a, 2, 1, 1, true), n);
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&b), 1, 1e-12);
	close_model(&a);
	close_model(&b);
}

/* Far from what was measured, the model stands alone; and costs of a file are nobody else's. */
static void what_is_too_far_away_is_not_corrected(void)
{
	model a, b;

	forget();
	open_model(&a, "model.hidden=[32,32]");
	keep(&a, 2, 1, 1, false);
	open_model(&b, "model.hidden=[32,32] train.batch=32");
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&b), 2, 1e-4);
	close_model(&b);
	open_model(&b, "model.hidden=[32,32] train.batch=640 data.samples=6400");
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&b), 1, 1e-12);
	close_model(&b);
	a.s.costs = &a.modelled;
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&a), 1, 1e-12);
	a.s.costs = NULL;
	close_model(&a);
}

/* Between rows of fewer and of more samples a time is a power of the samples through both, whatever the model has. */
static void between_two_rows_times_follow_from_both(void)
{
	model few, many, c;

	forget();
	open_model(&few, "model.hidden=[32,32]");
	keep(&few, 2, 1, 1, false);
	open_model(&many, "model.hidden=[32,32] train.batch=32");
	keep(&many, 7, 1, 1, false);
	open_model(&c, "model.hidden=[32,32] train.batch=16");
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&c),
			       sqrt(2 * few.modelled.layer[1].f * 7 * many.modelled.layer[1].f) /
				       c.modelled.layer[1].f,
			       1e-4);
	close_model(&c);
	close_model(&many);
	close_model(&few);
}

static void save(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_FATAL(f && fwrite(text, 1, len, f) == len && !fclose(f));
}

static void files_of_another_machine_or_damaged_ones_are_ignored(void)
{
	static const char *const words[] = {"processor=", "instructions=", "kernels=", "program=", "hash=", "layers 1"};
	char path[4096], *text;
	size_t len;
	model a;

	forget();
	open_model(&a, "model.hidden=[32,32]");
	keep(&a, 2, 1, 1, false);
	MR_CHECK_OK(mr_kept_rows_path(path, sizeof(path)) ? MR_OK : MR_EIO);
	MR_CHECK_OK(mr_file_read(path, 1 << 20, &text, &len));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *at = strstr(text, words[i]) + strlen(words[i]), was = *at;

		*at = was == '7' ? '8' : '7';
		save(path, text, len);
		CU_ASSERT(recalls_nothing(&a));
		*at = was;
	}
	for (size_t at = 0; at < len; at += 37) {
		char was = text[at];

		save(path, text, at);
		CU_ASSERT(recalls_nothing(&a));
		text[at] = (char)(was ^ 1);
		save(path, text, len);
		CU_ASSERT(recalls_nothing(&a));
		text[at] = was;
	}
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&a), 1, 1e-12);
	keep(&a, 3, 1, 1, false); /* replaces it */
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&a), 3, 1e-4);
	free(text);
	close_model(&a);
}

/* Profiles of two processes at once are both kept. */
static void two_at_once(void)
{
	model m[2];
	pid_t child[2];
	int status;

	forget();
	open_model(&m[0], "model.hidden=[32,32]");
	open_model(&m[1], "model.hidden=[40,40]");
	for (int k = 0; k < 2; k++) {
		child[k] = fork();
		if (child[k])
			continue;
		for (int i = 0; i < 10; i++)
			keep(&m[k], 2 + k, 1, 1, false);
		_exit(0);
	}
	for (int k = 0; k < 2; k++)
		CU_ASSERT(waitpid(child[k], &status, 0) == child[k] && !status);
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&m[0]), 2, 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(factor_of(&m[1]), 3, 1e-4);
	close_model(&m[0]);
	close_model(&m[1]);
}

static void without_a_folder_nothing_is_kept(void)
{
	mr_workload of;
	model a;
	uint32_t n;

	open_model(&a, "model.hidden=[32,32]");
	of = mr_session_workload(&a.s);
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	MR_CHECK_FAIL(mr_kept_layers_store(&of, &a.modelled, false, &n), MR_EIO, "/dev/null/millrace: ");
	CU_ASSERT(recalls_nothing(&a));
	setenv("XDG_CACHE_HOME", folder, 1);
	close_model(&a);
}

/* --- the machine itself --- */

static void forget_machine(void)
{
	char path[4096];

	if (mr_kept_path("kept-machine.csv", path, sizeof(path)))
		unlink(path);
}

/* A measurement of two cores that read so much from L3 while others took @foreign of the time. */
static mr_measured_machine measured(double l3_gbs, double foreign)
{
	mr_measured_machine m = {.f32 = 100, .bf16 = 200, .bandwidth = {.n_cores = 2, .foreign = foreign}};

	for (int level = 0; level < MR_N_BANDWIDTH_LEVELS; level++)
		m.bandwidth.at[level].one = m.bandwidth.at[level].all =
			(mr_bandwidth_rates){l3_gbs * 1e9, l3_gbs * 1e9, 0};
	return m;
}

static double l3_of(const mr_measured_machine *m)
{
	return m->bandwidth.at[MR_BANDWIDTH_L3].all.read / 1e9;
}

/* A busy second takes the figures of a quiet one, of the same processor and cores, and says so. */
static void a_busy_second_takes_the_kept_figures(void)
{
	mr_measured_machine m = measured(17, 0.46);

	forget_machine();
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!m.recalled && l3_of(&m) == 17);
	CU_ASSERT_PTR_NOT_NULL(strstr(m.busy, "other programs took 46 % of the processors' time"));
	CU_ASSERT_PTR_NOT_NULL(strstr(m.busy, "nothing is kept"));
	m = measured(62, 0.01);
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!*m.busy && !m.recalled && l3_of(&m) == 62);
	m = measured(17, 0.46);
	m.f32 = 50;
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(m.recalled && l3_of(&m) == 62 && m.f32 == 100 && m.bf16 == 200);
	CU_ASSERT_PTR_NOT_NULL(strstr(m.busy, "figures of 20"));
	m = measured(17, 0.46);
	mr_measured_machine_judge(&m, "cpu B");
	CU_ASSERT(!m.recalled && l3_of(&m) == 17);
	m = measured(17, 0.46);
	m.bandwidth.n_cores = 3;
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!m.recalled);
	forget_machine();
}

/* The best value of each figure is kept. A measurement with a figure far below its kept value counts as disturbed, even
 * where no other program here took time. */
static void a_slow_second_takes_the_best_figures(void)
{
	mr_measured_machine m = measured(60, 0.01);

	forget_machine();
	mr_measured_machine_judge(&m, "cpu A");
	m = measured(66, 0.01);
	m.f32 = 90;
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!*m.busy && !m.recalled && l3_of(&m) == 66 && m.f32 == 100);
	m = measured(59, 0.01);
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!*m.busy && !m.recalled && l3_of(&m) == 66 && m.f32 == 100);
	m = measured(66, 0.01);
	m.bf16 = 120;
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(m.recalled && l3_of(&m) == 66 && m.bf16 == 200);
	CU_ASSERT_PTR_NOT_NULL(strstr(m.busy, "reached only 60 % of what they had"));
	CU_ASSERT_PTR_NOT_NULL(strstr(m.busy, "figures of 20"));
	mr_kept_machine_forget();
	m = measured(40, 0.02);
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!*m.busy && !m.recalled && l3_of(&m) == 40);
	m = measured(17, 0.46);
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(m.recalled && l3_of(&m) == 40);
	forget_machine();
}

/* A file with one byte changed is as none. */
static void a_damaged_machine_is_not_taken(void)
{
	mr_measured_machine m = measured(62, 0);
	char path[4096], *text, *digit;
	size_t len;

	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT_FATAL(mr_kept_path("kept-machine.csv", path, sizeof(path)));
	MR_CHECK_OK(mr_file_read(path, 1 << 16, &text, &len));
	digit = strstr(text, "62000000000");
	CU_ASSERT_PTR_NOT_NULL_FATAL(digit);
	*digit = '7';
	MR_CHECK_OK(mr_result_write(path, text, len, MR_RESULT_OWN));
	free(text);
	m = measured(17, 0.46);
	mr_measured_machine_judge(&m, "cpu A");
	CU_ASSERT(!m.recalled && l3_of(&m) == 17);
	forget_machine();
}

void mr_suite_kept_layers(void);

void mr_suite_kept_layers(void)
{
	CU_pSuite mr_suite_ = CU_add_suite("kept_layers", make_folder, remove_folder);

	MR_TEST(a_busy_second_takes_the_kept_figures);
	MR_TEST(a_slow_second_takes_the_best_figures);
	MR_TEST(a_damaged_machine_is_not_taken);
	MR_TEST(other_models_have_the_times_of_layers_that_are_alike);
	MR_TEST(a_step_inside_counts_once);
	MR_TEST(rows_are_added_replaced_and_forgotten);
	MR_TEST(what_is_too_far_away_is_not_corrected);
	MR_TEST(between_two_rows_times_follow_from_both);
	MR_TEST(files_of_another_machine_or_damaged_ones_are_ignored);
	MR_TEST(two_at_once);
	MR_TEST(without_a_folder_nothing_is_kept);
}
