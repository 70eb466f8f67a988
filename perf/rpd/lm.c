/*
 * lm.c - experiment 5: PipeDream against LocalSGD over H on a small character language model, in unit time.
 *
 * 16 stages, and 1,024 micro-batches of PipeDream, which take 2,078 steps of unit time, as published: the embedding, 14
 * blocks, the head (the model gpt of width 64, 4 heads, context 32); 8 minibatches of 16 windows, cut from the first
 * 4097 characters of the text given with --text; one step size 2^-3 for all: the published program's usual sizes. The
 * curve is the loss of each micro-batch, at the step of unit time in which it leaves the last stage; its mean over the
 * last fifth is compared. The sizes behind the published figure beyond S are unknown, and that
 * program's initial weights are uniform; ours are normal of about the same deviation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf/rpd/experiments.h"
#include "perf/rpd/lm_model.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

#define MINIBATCHES 8

typedef struct losses {
	double *time, *loss;
	size_t n;
	uint32_t seen;
} losses;

static bool on_time(void *arg, const mr_unit_event *e)
{
	losses *l = arg;

	if (e->kind == MR_UNIT_STEP && e->n_losses > l->seen) {
		l->seen = e->n_losses;
		l->time[l->n] = e->time;
		l->loss[l->n++] = e->loss;
	}
	return true;
}

/* Each point of a curve is the mean over this number of losses, since the loss of one micro-batch is noisy. */
#define SMOOTH 8

static void run(const lm_model *m, int64_t samples, FILE *table, plot *chart, const char *name, const mr_unit_time *u)
{
	losses l = {.time = calloc(u->n_micro, sizeof(double)), .loss = calloc(u->n_micro, sizeof(double))};
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 0.125};
	mr_optim o = {.ops = mr_optim_find("sgd")};
	mr_place_worker place = {.n_threads = 1};
	double tail = 0;
	size_t first;
	series *s;

	if (!l.time || !l.loss)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for losses"), name);
	die_unless(mr_unit_run(&(mr_unit_config){.graph = m->graph,
						 .partition = &m->partition,
						 .kernels = m->kernels,
						 .data = m->data,
						 .optim = &o,
						 .lr = &lr,
						 .place = &place,
						 .samples = samples,
						 .seed = 1,
						 .timeline = u,
						 .observer = on_time,
						 .arg = &l}),
		   name);
	first = l.n - (l.n + 4) / 5;
	for (size_t i = first; i < l.n; i++)
		tail += l.loss[i] / (double)(l.n - first);
	for (size_t i = 0; i < l.n; i++)
		fprintf(table, "%s,%g,%.9g\n", name, l.time[i], l.loss[i]);
	s = plot_add(chart, name, l.n / SMOOTH);
	for (size_t i = 0; i < s->n * SMOOTH; i++) {
		s->x[i / SMOOTH] += l.time[i] / SMOOTH;
		s->y[i / SMOOTH] += l.loss[i] / SMOOTH;
	}
	printf("  %-14s %5zu micro-batches in %u steps of time: first loss %.4f, mean of the last fifth %.4f\n", name,
	       l.n, u->length, l.loss[0], tail);
	fflush(stdout);
	free(l.time);
	free(l.loss);
}

/* The number of micro-batches of LocalSGD that fit into @time. */
static uint32_t micro_of(uint16_t stages, uint32_t local, uint32_t time)
{
	uint32_t n = 1;

	while (mr_unit_rounds_length(stages, n + 1, stages, local) <= time)
		n++;
	return n;
}

void experiment_lm(const settings *s)
{
	static const uint32_t locals[] = {1, 4, 8};
	uint16_t stages = s->tiny ? 3 : 16, context = s->tiny ? 8 : 32;
	lm_size size = {.stages = stages,
			.blocks = (uint16_t)(stages - 2),
			.ends_apart = true,
			.width = s->tiny ? 8 : 64,
			.context = context,
			.heads = 4,
			.validation = "0"};
	int64_t samples = s->tiny ? 2 : 16;
	char title[80], name[32];
	plot chart = {.title = title, .x_label = "steps of unit time", .y_label = "loss", .high_only = true};
	mr_unit_time u;
	uint32_t time;
	FILE *table;
	lm_model m;

	if (!s->text) {
		printf("lm: no text: give one with --text FILE\n");
		return;
	}
	snprintf(title, sizeof(title), "A character language model, %u stages, step size 2^-3", stages);
	m = lm_model_open(lm_beginning(s, (size_t)(MINIBATCHES * samples * context) + 1), &size);
	table = table_open(s, "lm.csv");
	fprintf(table, "method,time,loss\n");
	printf("gpt of %u stages, %lld parameters, %d minibatches:\n", m.n_stages,
	       (long long)mr_graph_n_params(m.graph), MINIBATCHES);
	die_unless(mr_unit_greedy(m.n_stages, s->tiny ? 12 : 1024, 0, &u), "a timeline");
	time = u.length;
	run(&m, samples, table, &chart, "PipeDream", &u);
	mr_unit_time_fini(&u);
	for (int i = 0; i < 3; i++) {
		die_unless(mr_unit_rounds(m.n_stages, micro_of(m.n_stages, locals[i], time), m.n_stages, locals[i], &u),
			   "a timeline");
		snprintf(name, sizeof(name), "LocalSGD H = %u", locals[i]);
		run(&m, samples, table, &chart, name, &u);
		mr_unit_time_fini(&u);
	}
	table_close(table);
	plot_write(&chart, out_path(s, "lm.svg"));
	lm_model_close(&m);
}
