/*
 * plan.c - what `plan --auto --verify 3` chooses, against everything that might have been chosen.
 *
 *	plan [--tiny] [--case NAME]... [--table choices|threads|runs]... [--precision f32|bf16]
 *
 * Six models with three sizes of a step each. For each the choice is made as the command makes it. Then the choice, the
 * best eight predictions, and the best candidate of each of some systems (sequential training among them) are trained
 * side by side in this process, in turns, and the choice is compared with the fastest of all and with the fastest of
 * one worker. Tables are Markdown: predicted before any run, after the corrections, and measured. Two more tables say
 * how good the pieces of the model are: layers with two threads, predicted from those of one thread and the machine's
 * measured constants, against layers measured with two; and two runs that stream their weights from memory at once,
 * predicted from one and the memory's bandwidth. Under ten minutes on a quiet machine; nothing else should run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/auto_internal.h"
#include "job/job.h"
#include "profile/profile.h"
#include "costs/cost_model.h"

enum { MAX_SETTINGS = 12, N_SIZES = 3, N_BEST = 8, MAX_ROWS = 24, VERIFIED = 3 };

typedef struct setting {
	const char *key, *value;
} setting;

typedef struct model {
	const char *name;
	setting set[MAX_SETTINGS]; /* key NULL: no more */
	int64_t batch[N_SIZES];
} model;

#define ROWS(n, features)                                                                                    \
	{"data.name", "synthetic"}, {"data.features", features}, {"data.classes", "10"}, {"data.samples", n}
#define X8(w) w "," w "," w "," w "," w "," w "," w "," w

static const model models[] = {
	{"wide mlp",
	 {{"model.name", "mlp"}, {"model.hidden", "[2048, 2048]"}, ROWS("4096", "1024"), {"optimizer.name", "adamw"}},
	 {16, 64, 256}},
	{"deep mlp",
	 {{"model.name", "mlp"}, {"model.hidden", "[" X8("128") "," X8("128") "]"}, ROWS("4096", "128"),
	  {"optimizer.name", "momentum"}},
	 {8, 32, 128}},
	{"gpt",
	 {{"model.name", "gpt"}, {"model.layers", "4"}, {"model.width", "128"}, {"model.heads", "4"},
	  {"model.context", "128"}, {"data.name", "sources"}, {"optimizer.name", "adamw"}},
	 {2, 4, 8}},
	{"lopsided",
	 {{"model.name", "mlp"}, {"model.hidden", "[128, 128, 128, 128, 128, 1536, 1536]"}, ROWS("4096", "128"),
	  {"optimizer.name", "adamw"}},
	 {16, 64, 256}},
	{"convolutional",
	 {{"model.name", "resnet18"}, {"data.name", "synthetic"}, {"data.image", "[16, 16, 3]"}, {"data.classes", "10"},
	  {"data.samples", "512"}, {"optimizer.name", "momentum"}},
	 {4, 8, 16}},
	{"embedding-heavy",
	 {{"model.name", "dlrm"}, {"data.name", "clicks"}, {"optimizer.name", "sgd"}},
	 {64, 256, 1024}},
};
static const model tiny_model = {
	"tiny",
	{{"model.name", "mlp"}, {"model.hidden", "[16, 16, 16]"}, ROWS("256", "8"), {"optimizer.name", "sgd"}},
	{8, 8, 8}};
static const char *const named[] = {MR_SEQUENTIAL, "data_parallel", "gpipe", "1f1b", "zb_h1", "zb_v", "interleaved"};

static const char *precision = "f32"; /* of all models */

#define N_MODELS (sizeof(models) / sizeof(models[0]))
#define N_NAMED (sizeof(named) / sizeof(named[0]))

static void check(mr_status st, const char *what)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "plan: %s: %s\n", what, mr_error_text());
	exit(mr_status_exit_code(st));
}

static void fill(const model *m, int64_t batch, mr_job *j)
{
	check(mr_job_init(j), m->name);
	for (const setting *set = m->set; set->key; set++)
		check(mr_job_set(j, set->key, set->value), m->name);
	check(mr_job_choose(j, MR_JOB_SYSTEM, MR_SEQUENTIAL), m->name);
	check(mr_job_set(j, "precision", precision), m->name);
	j->name = "plan";
	j->base_dir = getenv("MR_SOURCE"); /* ctest says where the sources are */
	j->train.steps = 1000000;
	j->train.batch = batch;
	j->train.microbatches = 1;
	check(mr_job_set(j, "optimizer.lr", "1e-4"), m->name);
	check(mr_job_check(j), m->name);
}

/* --- the choice against all --- */

static void add_row(uint32_t *row, uint32_t *n, uint32_t i)
{
	for (uint32_t k = 0; k < *n; k++)
		if (row[k] == i)
			return;
	if (*n < MAX_ROWS)
		row[(*n)++] = i;
}

/* The choice, those that are predicted to be the best, and the best of some systems. */
static uint32_t rows_of(const mr_auto *a, uint32_t *row)
{
	uint32_t n = 0, best = 0;

	for (uint32_t i = 0; i < a->n && best < N_BEST && mr_auto_is_done(&a->row[i]); i++, best++)
		add_row(row, &n, i);
	for (size_t k = 0; k < N_NAMED; k++)
		for (uint32_t i = 0; i < a->n && mr_auto_is_done(&a->row[i]); i++)
			if (!strcmp(mr_auto_value(&a->row[i], "system.name"), named[k])) {
				add_row(row, &n, i);
				break;
			}
	return n;
}

static const char *text_of(const mr_auto_row *r, char *text, size_t size)
{
	snprintf(text, size, "%s, %u x %u, %u", r->label, r->workers, r->threads, r->n_micro);
	return text;
}

typedef struct score {
	uint32_t n, near, safe; /* within 5 % of the best; at most 2 % slower than one worker */
	double error;           /* sum of |corrected / measured - 1| */
} score;

static void compare(const model *m, int64_t batch, score *sum)
{
	mr_auto_question q = {0};
	uint32_t row[MAX_ROWS], n, best, alone = UINT32_MAX;
	char chosen[128], fastest[128];
	mr_auto a;
	mr_job j;
	double first, is;

	fill(m, batch, &j);
	q.job = &j;
	q.measures = true;
	check(mr_auto_search(&q, &a), m->name);
	check(mr_auto_verify(&q, &a, VERIFIED), m->name);
	n = rows_of(&a, row);
	check(mr_auto_measure(&a, row, n), m->name);
	best = row[0];
	for (uint32_t i = 0; i < n; i++) {
		best = a.row[row[i]].measured_s < a.row[best].measured_s ? row[i] : best;
		if (a.row[row[i]].workers == 1 &&
		    (alone == UINT32_MAX || a.row[row[i]].measured_s < a.row[alone].measured_s))
			alone = row[i];
	}
	first = a.row[0].first_s > 0 ? a.row[0].first_s : a.row[0].step_s;
	is = a.row[0].measured_s;
	printf("| %s | %lld | %s | %.3g | %.3g | %.3g | %s | %.3g | %.3f | %.3f |\n", m->name, (long long)batch,
	       text_of(&a.row[0], chosen, sizeof(chosen)), 1e3 * first, 1e3 * a.row[0].step_s, 1e3 * is,
	       text_of(&a.row[best], fastest, sizeof(fastest)), 1e3 * a.row[best].measured_s,
	       is / a.row[best].measured_s, is / a.row[alone].measured_s);
	fflush(stdout);
	sum->n++;
	sum->near += is <= 1.05 * a.row[best].measured_s;
	sum->safe += is <= 1.02 * a.row[alone].measured_s;
	sum->error += fabs(a.row[0].step_s / is - 1);
	mr_auto_fini(&a);
	mr_job_fini(&j);
}

/* --- layers with two threads --- */

/* Seconds of all layers of @m, one micro-batch and step, measured with @threads; @c: with the costs. */
static double measured_layers(const model *m, int64_t batch, uint32_t threads, mr_session *s, mr_job *j, mr_costs *c)
{
	mr_workload of;
	mr_profile p;
	double sum = 0;

	fill(m, batch, j);
	j->machine.threads = threads;
	check(mr_job_check(j), m->name);
	check(mr_session_open(j, s), m->name);
	{
		mr_run_config r = mr_session_run_config(s, NULL);

		r.norm_every = 0;
		check(mr_profile_measure(&r, s->n_micro, 0.4, MR_PROFILE_ALONE, &p), m->name);
	}
	of = mr_session_workload(s);
	check(mr_costs_of_profile(&of, &p, c), m->name);
	mr_profile_fini(&p);
	for (uint32_t i = 0; i < s->graph->n_nodes; i++)
		sum += c->layer[i].f + c->layer[i].i + c->layer[i].w + c->layer[i].u;
	return sum;
}

static void two_threads(const model *m, int64_t batch)
{
	mr_measured_machine here;
	mr_workload of;
	mr_session one, two;
	mr_job j[2];
	mr_costs c[2];
	double k1 = measured_layers(m, batch, 1, &one, &j[0], &c[0]), predicted = 0;
	double k2 = measured_layers(m, batch, 2, &two, &j[1], &c[1]);

	check(mr_measured_machine_init(&here, &two.topo), m->name);
	two.measured = &here;
	of = mr_session_workload(&two);
	check(mr_costs_rescale(&c[0], &of), m->name);
	for (uint32_t i = 0; i < two.graph->n_nodes; i++)
		predicted += c[0].layer[i].f + c[0].layer[i].i + c[0].layer[i].w + c[0].layer[i].u;
	printf("| %s | %lld | %.3g | %.3g | %.3g | %+.0f %% |\n", m->name, (long long)batch, 1e3 * k1, 1e3 * predicted,
	       1e3 * k2, 100 * (predicted / k2 - 1));
	mr_costs_fini(&c[0]);
	mr_costs_fini(&c[1]);
	mr_session_close(&one);
	mr_session_close(&two);
	mr_job_fini(&j[0]);
	mr_job_fini(&j[1]);
}

/* --- two runs at once --- */

static void two_runs(const model *m, int64_t batch)
{
	mr_auto_question q = {.systems = MR_SEQUENTIAL};
	mr_auto a;
	mr_job j;

	fill(m, batch, &j);
	j.machine.threads = 1;
	q.job = &j;
	check(mr_auto_search(&q, &a), m->name);
	check(mr_auto_verify(&q, &a, MAX_ROWS / 2), m->name);
	if (a.half < a.n && a.half_measured_s > 0)
		printf("| %s | %lld | %.3g | %.3g | %.3g | %+.0f %% |\n", m->name, (long long)batch,
		       1e3 * a.row[a.half].measured_s, 1e3 * a.half_s, 1e3 * a.half_measured_s,
		       100 * (a.half_s / a.half_measured_s - 1));
	mr_auto_fini(&a);
	mr_job_fini(&j);
}

/* --- all of it --- */

/* Is @name a value of @option, or is there none? */
static bool is_asked(int argc, char **argv, const char *option, const char *name)
{
	bool any = false;

	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], option)) {
			any = true;
			if (!strcmp(argv[i + 1], name))
				return true;
		}
	return !any;
}

static void choices(int argc, char **argv, const model *list, size_t n, size_t sizes)
{
	score sum = {0};

	puts("Choices: system, workers x threads, micro-batches; ms a step.\n\n"
	     "| model | batch | chosen | predicted | corrected | measured | fastest of all | measured | "
	     "chosen / fastest | chosen / one worker |\n|---|---|---|---|---|---|---|---|---|---|");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizes && is_asked(argc, argv, "--case", list[i].name); k++)
			compare(&list[i], list[i].batch[k], &sum);
	printf("\nwithin 5 %% of the fastest: %u of %u; at most 2 %% slower than one worker: %u of %u; mean error of "
	       "the corrected prediction %.0f %%\n",
	       sum.near, sum.n, sum.safe, sum.n, sum.n ? 100 * sum.error / sum.n : 0);
}

int main(int argc, char **argv)
{
	bool tiny = argc > 1 && !strcmp(argv[1], "--tiny");
	const model *list = tiny ? &tiny_model : models;
	size_t n = tiny ? 1 : N_MODELS, sizes = tiny ? 1 : N_SIZES;

	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--precision"))
			precision = argv[i + 1];
	if (is_asked(argc, argv, "--table", "choices"))
		choices(argc, argv, list, n, sizes);
	if (is_asked(argc, argv, "--table", "threads"))
		puts("\nAll layers of a step, ms: two threads predicted from one.\n\n"
		     "| model | batch | one thread | two predicted | two measured | error |\n"
		     "|---|---|---|---|---|---|");
	for (size_t i = 0; i < n && is_asked(argc, argv, "--table", "threads"); i++)
		if (is_asked(argc, argv, "--case", list[i].name))
			two_threads(&list[i], list[i].batch[sizes - 1]);
	if (is_asked(argc, argv, "--table", "runs"))
		puts("\nTwo runs at once, each on one core, ms a step: predicted from one run, caches and memory.\n\n"
		     "| model | batch | alone | two predicted | two measured | error |\n|---|---|---|---|---|---|");
	for (size_t i = 0; i < n && is_asked(argc, argv, "--table", "runs"); i++)
		if (is_asked(argc, argv, "--case", list[i].name))
			two_runs(&list[i], list[i].batch[0]);
	return 0;
}
