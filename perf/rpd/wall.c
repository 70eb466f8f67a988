/*
 * wall.c - experiment 5 on this machine: PipeDream against LocalSGD over H, in seconds, averaging included.
 *
 * A gpt of 4 blocks of width 64, 4 heads, context 32 on the text given with --text, cut into two stages on two
 * workers of one thread, minibatches of 16 windows, one step size 2^-3 for all: the sizes of the experiment in unit
 * time (lm.c), with as many stages as the machine has cores for. LocalSGD has two replicas, each with minibatches of
 * its own; `rotated` begins each at another worker.
 *
 * Every method trains for --seconds of the clock (default 20), in parts of 128 minibatches; behind each part the loss
 * on the tenth of the text that is kept back, which the clock does not count. Methods are compared at the time at which
 * the first of them had enough. wall_cost.csv has where the time went: minibatches a second, and how many parts in a
 * hundred of both workers' time computed, averaged, and waited. Figures change from run to run.
 */
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "host/topo.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/lm_model.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"
#include "threads/engine.h"

#define WORKERS 2
#define PART 128 /* minibatches; a multiple of every H times the replicas */
#define MOST_PARTS 20000

typedef struct method {
	const char *name, *system, *every, *placement;
	uint32_t n_micro; /* of a step */
} method;

static const method methods[] = {
	{"PipeDream", "pipedream", NULL, NULL, 1},
	{"LocalSGD H = 1", "local_sgd", "1", "stages", 2},
	{"LocalSGD H = 4", "local_sgd", "4", "stages", 2},
	{"LocalSGD H = 16", "local_sgd", "16", "stages", 2},
	{"LocalSGD H = 16, rotated", "local_sgd", "16", "rotated", 2},
};

#define N_METHODS (sizeof(methods) / sizeof(methods[0]))

typedef struct result {
	double *seconds, *loss; /* [n] behind each part */
	size_t n;
	double rate, busy, average, waited; /* minibatches a second; shares of the workers' time */
	uint32_t n_averages;
	double average_us;                  /* of one worker */
} result;

static mr_plan *plan_of(const method *m)
{
	const char *const all[][2] = {{"every", m->every}, {"placement", m->placement}, {NULL, NULL}};

	return lm_plan(m->system, m->every ? all : NULL, (mr_sched_args){.n_workers = WORKERS, .n_micro = m->n_micro});
}

/* Where the time of @run's workers went, @seconds of each. */
static void account(const mr_run *run, double seconds, result *r)
{
	double all = seconds * 1e9 * run->n_workers, busy = 0, average = 0;

	for (uint16_t w = 0; w < run->n_workers; w++)
		for (int op = 0; op < MR_N_OPS; op++) {
			double ns = (double)run->worker[w].stats.busy_ns[op];

			busy += ns;
			average += op == MR_OP_AVG ? ns : 0;
			r->n_averages += op == MR_OP_AVG ? (uint32_t)run->worker[w].stats.count[op] : 0;
		}
	r->busy = (busy - average) / all;
	r->average = average / all;
	r->waited = 1 - busy / all;
	r->average_us = r->n_averages ? average / r->n_averages / 1e3 : 0;
}

static void train(mr_engine *e, const method *m, double seconds, result *r)
{
	uint64_t step = 0, spent = 0, begun, reached;

	while (r->n < MOST_PARTS && (double)spent < seconds * 1e9) {
		step += PART / m->n_micro;
		begun = mr_clock_ns();
		die_unless(mr_engine_run(e, step, NULL, NULL, &reached), m->name);
		spent += mr_clock_ns() - begun;
		r->seconds[r->n] = (double)spent / 1e9;
		die_unless(mr_engine_eval(e, NULL, NULL, &r->loss[r->n]), m->name);
		r->n++;
	}
	r->rate = (double)r->n * PART / ((double)spent / 1e9);
	account(mr_engine_run_of(e), (double)spent / 1e9, r);
}

static result run(const lm_model *model, const method *m, const settings *s)
{
	result r = {.seconds = calloc(MOST_PARTS, sizeof(double)), .loss = calloc(MOST_PARTS, sizeof(double))};
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 0.125};
	mr_optim o = {.ops = mr_optim_find("sgd")};
	mr_plan *plan = plan_of(m);
	mr_place_params params;
	mr_engine *e;
	mr_topo topo;
	mr_place place;

	if (!r.seconds || !r.loss)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for losses"), m->name);
	die_unless(mr_topo_detect(&topo), "the machine");
	mr_place_defaults(&params, WORKERS);
	params.max_threads = 1;
	die_unless(mr_place_init(&place, &topo, &params), "placing workers");
	die_unless(mr_engine_create(&(mr_run_config){.graph = model->graph,
						     .partition = &model->partition,
						     .plan = plan,
						     .kernels = model->kernels,
						     .data = model->data,
						     .optim = &o,
						     .lr = &lr,
						     .place = &place,
						     .seed = 1,
						     .samples = s->tiny ? 2 : 16,
						     .spin_us = UINT32_MAX},
				    60, &e),
		   m->name);
	train(e, m, s->tiny ? 0.01 : s->seconds, &r);
	mr_engine_destroy(e);
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	mr_plan_destroy(plan);
	return r;
}

/* The loss at the last part that ended by @time. */
static double loss_at(const result *r, double time)
{
	size_t i = 0;

	while (i + 1 < r->n && r->seconds[i + 1] <= time)
		i++;
	return r->loss[i];
}

static void report(const settings *s, const result *r)
{
	FILE *f = table_open(s, "wall_cost.csv");
	double common = r[0].seconds[r[0].n - 1];

	for (size_t i = 1; i < N_METHODS; i++)
		common = r[i].seconds[r[i].n - 1] < common ? r[i].seconds[r[i].n - 1] : common;
	fprintf(f, "method,minibatches_per_second,computed,averaged,waited,averages,microseconds_per_average,seconds,"
		   "validation_loss\n");
	for (size_t i = 0; i < N_METHODS; i++) {
		double loss = loss_at(&r[i], common);

		fprintf(f, "\"%s\",%.6g,%.4f,%.4f,%.4f,%u,%.4g,%.4g,%.9g\n", methods[i].name, r[i].rate, r[i].busy,
			r[i].average, r[i].waited, r[i].n_averages, r[i].average_us, common, loss);
		printf("  %-25s %8.1f minibatches/s: computed %4.1f %%, averaged %4.2f %% (%.0f us each), waited %4.1f "
		       "%%; "
		       "validation loss after %.1f s: %.4f\n",
		       methods[i].name, r[i].rate, 100 * r[i].busy, 100 * r[i].average, r[i].average_us,
		       100 * r[i].waited, common, loss);
	}
	table_close(f);
}

void experiment_wall(const settings *s)
{
	lm_size size = {.stages = WORKERS, .blocks = s->tiny ? 2 : 4, .width = s->tiny ? 8 : 64, .heads = 4,
			.context = s->tiny ? 8 : 32, .validation = "0.1"};
	plot chart = {.title = "A character language model on two workers, step size 2^-3",
		      .x_label = "seconds of training",
		      .y_label = "validation loss",
		      .high_only = true};
	result r[N_METHODS];
	lm_model m;
	FILE *table;

	if (!s->text) {
		printf("wall: no text: give one with --text FILE\n");
		return;
	}
	m = lm_model_open(s->text, &size);
	table = table_open(s, "wall.csv");
	fprintf(table, "method,seconds,minibatches,validation_loss\n");
	printf("gpt on %d workers, %lld parameters:\n", WORKERS, (long long)mr_graph_n_params(m.graph));
	for (size_t i = 0; i < N_METHODS; i++) {
		series *line;

		r[i] = run(&m, &methods[i], s);
		for (size_t k = 0; k < r[i].n; k++)
			fprintf(table, "\"%s\",%.6f,%zu,%.9g\n", methods[i].name, r[i].seconds[k], (k + 1) * PART,
				r[i].loss[k]);
		line = plot_add(&chart, methods[i].name, r[i].n);
		memcpy(line->x, r[i].seconds, r[i].n * sizeof(double));
		memcpy(line->y, r[i].loss, r[i].n * sizeof(double));
	}
	table_close(table);
	report(s, r);
	for (size_t i = 0; i < N_METHODS; i++) {
		free(r[i].seconds);
		free(r[i].loss);
	}
	plot_write(&chart, out_path(s, "wall.svg"));
	lm_model_close(&m);
}
