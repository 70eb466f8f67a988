/*
 * live.c - experiment 5 in the running engine: the language model of lm.c with the same number of micro-batches, on 4,
 * 8 and 16 parallel workers.
 *
 * The model of 14 blocks is cut into S stages with a worker each, on however many cores there are: PipeDream over 1,024
 * micro-batches; and Randomized PipeDream with the order and the delays of PipeDream in unit time, in 1,024 S steps of
 * one stage each. Its last weights must equal those of PipeDream in unit time (lm.c), to the bit, although its steps
 * overlap as their versions allow. Each of its steps runs the forward pass of the whole model, so the run costs about
 * 0.7 S times as much: it is done for S = 4 only, and there also with drawn steps (delta = S^2 - S/2). Curves are means
 * over 32 micro-batches' losses; live.csv has each loss with the seconds since the start, live_table.csv one row per
 * run. Seconds change from run to run; losses and differences do not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "threads/engine.h"
#include "host/topo.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/lm_model.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

#define MINIBATCHES 8
#define SMOOTH 32

typedef struct way {
	const char *name, *system;
	uint16_t stages;
	const char *sets[4][2];
} way;

static const way ways[] = {
	{"PipeDream", "pipedream", 4, {{NULL, NULL}}},
	{"PipeDream", "pipedream", 8, {{NULL, NULL}}},
	{"PipeDream", "pipedream", 16, {{NULL, NULL}}},
	{"RPD as PipeDream",
	 "rpd",
	 4,
	 {{"stage", "timeline"}, {"batch", "timeline"}, {"delays", "exact"}, {NULL, NULL}}},
	{"RPD, drawn", "rpd", 4, {{NULL, NULL}}},
};

#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

typedef struct task {
	const settings *s;
	lm_model m;
	const way *way;
	uint32_t n_micro, n_steps, each; /* each: steps per micro-batch of PipeDream */
	int64_t samples;
	mr_lr lr;
	mr_optim o;
	FILE *table;
	double *loss;                    /* [n_steps] */
	uint64_t first_ns, last_ns;
	uint64_t n;
} task;

static bool on_progress(void *arg, const mr_step_rec *r)
{
	task *t = arg;

	if (!r)
		return true;
	t->first_ns = t->n ? t->first_ns : r->time_ns;
	t->last_ns = r->time_ns;
	t->loss[t->n++] = r->loss;
	fprintf(t->table, "\"%s\",%u,%llu,%.6f,%.9g\n", t->way->name, t->way->stages, (unsigned long long)r->step,
		(double)(r->time_ns - t->first_ns) * 1e-9, r->loss);
	return true;
}

static mr_plan *plan_of(const task *t)
{
	/* A micro-batch is a minibatch of the data counted on over epochs, as in unit time. */
	return lm_plan(t->way->system, t->way->sets,
		       (mr_sched_args){.n_workers = t->way->stages,
				       .n_micro = 1,
				       .n_steps = t->n_steps,
				       .n_batches = t->n_micro + t->way->stages});
}

/* --- PipeDream in unit time, to compare weights with --- */

typedef struct compared {
	const task *t;
	const mr_run *run;
	uint32_t n_updates, n_all;
	double worst;
} compared;

static bool on_update(void *arg, const mr_unit_event *e)
{
	compared *c = arg;

	if (e->kind != MR_UNIT_UPDATE || ++c->n_updates != c->n_all)
		return true;
	for (uint16_t s = 0; s < c->run->n_stages; s++) {
		const mr_stage_weights *b = &c->run->weights[s];
		const uint8_t *want = mr_history_latest(&e->model[0].at[s]), *got = mr_weights_at(b, 0, b->latest);
		uint32_t first, end;

		mr_stage_params(b->stage, &first, &end);
		for (uint32_t p = first; p < end; p++) {
			const float *x = (const float *)(const void *)(want + mr_stage_weight_at(b->stage, p));
			const float *y = (const float *)(const void *)(got + mr_stage_weight_at(b->stage, p));

			for (int64_t i = 0; i < c->t->m.graph->params[p].n; i++)
				c->worst = fmax(c->worst, fabs((double)x[i] - (double)y[i]));
		}
	}
	return true;
}

/* The largest difference of a weight of @run from PipeDream's in unit time. */
static double difference(const task *t, const mr_run *run)
{
	mr_place_worker place = {.n_threads = 1};
	compared c = {.t = t, .run = run};
	mr_unit_time u;

	/* The plan has the first steps of a pipeline that goes on, so here too none drains. */
	die_unless(mr_unit_greedy(t->way->stages, t->n_micro + t->way->stages, 0, &u), "a timeline");
	c.n_all = t->n_steps;
	die_unless(mr_unit_run(&(mr_unit_config){.graph = t->m.graph,
						 .partition = &t->m.partition,
						 .kernels = t->m.kernels,
						 .data = t->m.data,
						 .optim = &t->o,
						 .lr = &t->lr,
						 .place = &place,
						 .samples = t->samples,
						 .seed = 1,
						 .timeline = &u,
						 .observer = on_update,
						 .arg = &c}),
		   "unit time");
	mr_unit_time_fini(&u);
	return c.worst;
}

/* --- a run --- */

static double mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] / (double)n;
	return sum;
}

static void draw(const task *t, plot *chart)
{
	size_t part = (size_t)SMOOTH * t->each;
	char name[64];
	series *line;

	snprintf(name, sizeof(name), "%s, S = %u", t->way->name, t->way->stages);
	line = plot_add(chart, name, t->n / part);
	line->dashed = t->each > 1;
	for (size_t i = 0; i < line->n; i++) {
		line->x[i] = (double)(i + 1) * SMOOTH;
		line->y[i] = mean(t->loss + i * part, part);
	}
}

static void report(const task *t, const mr_run *run, FILE *rows)
{
	bool compares = t->way->sets[0][0] && !strcmp(t->way->system, "rpd");
	size_t tail = (t->n + 4) / 5;
	double seconds = (double)(t->last_ns - t->first_ns) * 1e-9, worst = compares ? difference(t, run) : NAN;
	uint32_t first = t->each;

	printf("  %-17s S %-3u %6llu steps in %6.1f s: first loss %.4f, mean of the last fifth %.4f", t->way->name,
	       t->way->stages, (unsigned long long)t->n, seconds, mean(t->loss, first),
	       mean(t->loss + t->n - tail, tail));
	if (compares)
		printf("; from PipeDream in unit time no weight differs by more than %g", worst);
	printf("\n");
	fflush(stdout);
	fprintf(rows, "\"%s\",%u,%llu,%.3f,%.6g,%.6g,", t->way->name, t->way->stages, (unsigned long long)t->n, seconds,
		mean(t->loss, first), mean(t->loss + t->n - tail, tail));
	fprintf(rows, compares ? "%g\n" : "\n", worst);
}

static void run(task *t, FILE *rows, plot *chart)
{
	mr_plan *plan = plan_of(t);
	mr_place_params params;
	uint64_t reached;
	mr_engine *e;
	mr_topo topo;
	mr_place place;

	die_unless(mr_topo_detect(&topo), "the machine");
	mr_place_defaults(&params, t->way->stages);
	params.max_threads = 1;
	die_unless(mr_place_init(&place, &topo, &params), "placing workers");
	die_unless(mr_engine_create(&(mr_run_config){.graph = t->m.graph,
						     .partition = &t->m.partition,
						     .plan = plan,
						     .kernels = t->m.kernels,
						     .data = t->m.data,
						     .optim = &t->o,
						     .lr = &t->lr,
						     .place = &place,
						     .seed = 1,
						     .samples = t->samples,
						     .spin_us = UINT32_MAX},
				    600, &e),
		   t->way->name);
	die_unless(mr_engine_run(e, t->n_steps, on_progress, t, &reached), t->way->name);
	report(t, mr_engine_run_of(e), rows);
	draw(t, chart);
	mr_engine_destroy(e);
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	mr_plan_destroy(plan);
}

static void one(const settings *s, const char *text, const way *w, FILE *table, FILE *rows, plot *chart)
{
	uint16_t blocks = s->tiny ? 4 : 14;
	lm_size size = {.stages = w->stages,
			.blocks = blocks,
			.ends_apart = w->stages == blocks + 2,
			.width = s->tiny ? 8 : 64,
			.context = s->tiny ? 8 : 32,
			.heads = 4,
			.validation = "0"};
	task t = {.s = s, .way = w, .n_micro = s->tiny ? 32 : 1024, .samples = s->tiny ? 2 : 16, .table = table};

	t.each = !strcmp(w->system, "rpd") ? w->stages : 1;
	t.n_steps = t.n_micro * t.each;
	t.lr = (mr_lr){.kind = MR_LR_CONSTANT, .base = 0.125};
	t.o = (mr_optim){.ops = mr_optim_find("sgd")};
	t.loss = calloc(t.n_steps, sizeof(*t.loss));
	if (!t.loss)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for losses"), w->name);
	t.m = lm_model_open(text, &size);
	run(&t, rows, chart);
	lm_model_close(&t.m);
	free(t.loss);
}

void experiment_live(const settings *s)
{
	plot chart = {.title = "A character language model in the running engine, step size 2^-3",
		      .x_label = "micro-batches",
		      .y_label = "loss, mean of 32 micro-batches",
		      .high_only = true};
	FILE *table, *rows;
	char text[1024];

	if (!s->text) {
		printf("live: no text: give one with --text FILE\n");
		return;
	}
	snprintf(text, sizeof(text), "%s",
		 lm_beginning(s, (size_t)MINIBATCHES * (s->tiny ? 2 : 16) * (s->tiny ? 8 : 32) + 1));
	table = table_open(s, "live.csv");
	rows = table_open(s, "live_table.csv");
	fprintf(table, "method,stages,step,seconds,loss\n");
	fprintf(rows, "method,stages,steps,seconds,first_loss,mean_of_last_fifth,difference_from_unit_time\n");
	printf("a gpt of 14 blocks in the running engine, %d micro-batches:\n", s->tiny ? 32 : 1024);
	for (size_t i = 0; i < N_WAYS; i++)
		if (!s->tiny || ways[i].stages == 4)
			one(s, text, &ways[i], table, rows, &chart);
	table_close(table);
	table_close(rows);
	plot_write(&chart, out_path(s, "live.svg"));
}
