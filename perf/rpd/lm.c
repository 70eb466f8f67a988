/*
 * lm.c - experiment 5: PipeDream against LocalSGD over H on a small character language model, in unit time.
 *
 * 16 stages: the embedding with the first block, 14 blocks, the last block with the head (the model gpt of width 64, 4 heads,
 * context 32), minibatches of 16 windows of the text given with --text, one step size 2^-3 for all, as published. The
 * curve is the loss of each micro-batch where it leaves the last stage, at the step of unit time in which it does; what is compared
 * is its mean over the last fifth. The published sizes beyond S are unknown; initial weights here are GPT-2's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/registry.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

typedef struct model {
	mr_dataset *data;
	mr_graph *graph;
	mr_partition partition;
	const mr_kernels *kernels;
	uint16_t n_stages;
	int64_t samples;
} model;

typedef struct losses {
	double *time, *loss;
	size_t n;
	uint32_t seen;
} losses;

static mr_values *values_of(const mr_option *table, const char *const (*sets)[2])
{
	mr_values *v;

	die_unless(mr_values_create(table, &v), "options");
	for (; (*sets)[0]; sets++)
		die_unless(mr_values_set_text(v, (*sets)[0], (*sets)[1]), (*sets)[0]);
	return v;
}

static void cut(model *m, uint16_t stages)
{
	char (*name)[16] = calloc(stages, sizeof(*name));
	const char **names = calloc(stages, sizeof(*names));

	for (uint16_t s = 1; s < stages; s++) {
		snprintf(name[s - 1], sizeof(name[0]), "h.%u", s);
		names[s - 1] = name[s - 1];
	}
	die_unless(mr_partition_explicit(m->graph, names, stages - 1u, &m->partition), "cutting the model");
	free(names);
	free(name);
}

static model model_open(const settings *s)
{
	model m = {.kernels = mr_kernels_find("dnnl", MR_F32), .n_stages = s->tiny ? 3 : 16, .samples = s->tiny ? 2 : 16};
	const char *context = s->tiny ? "8" : "32", *width = s->tiny ? "8" : "64";
	const mr_dataset_ops *ops = mr_dataset_find("text");
	const mr_model_ops *gpt = mr_model_find("gpt");
	mr_data_want want = {.dtype = MR_F32, .seed = 1, .context = atoi(context)};
	mr_values *v;
	mr_model_data md;
	char blocks[8];

	if (!m.kernels)
		m.kernels = mr_kernels_find("reference", MR_F32);
	v = values_of(ops->options, (const char *const[][2]){{"path", s->text}, {NULL, NULL}});
	die_unless(mr_dataset_open(ops, v, &want, &m.data), s->text);
	mr_values_destroy(v);
	snprintf(blocks, sizeof(blocks), "%u", m.n_stages);
	v = values_of(gpt->options, (const char *const[][2]){{"layers", blocks}, {"width", width}, {"heads", "4"}, {"context", context},
							     {"init_std", "0.08"}, {NULL, NULL}});
	md = (mr_model_data){.input = m.data->input, .target = m.data->target, .classes = m.data->classes};
	die_unless(mr_model_build(gpt, v, &md, &m.graph), "gpt");
	mr_values_destroy(v);
	cut(&m, m.n_stages);
	return m;
}

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

/* Each point of a curve is the mean over so many losses: one micro-batch's says little. */
#define SMOOTH 8

static void run(model *m, FILE *table, plot *chart, const char *name, const mr_unit_time *u)
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
	die_unless(mr_unit_run(&(mr_unit_config){.graph = m->graph, .partition = &m->partition, .kernels = m->kernels, .data = m->data,
						 .optim = &o, .lr = &lr, .place = &place, .samples = m->samples, .seed = 1,
						 .timeline = u, .observer = on_time, .arg = &l}),
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
	printf("  %-14s %5zu micro-batches in %u steps of time: first loss %.4f, mean of the last fifth %.4f\n", name, l.n, u->length,
	       l.loss[0], tail);
	fflush(stdout);
	free(l.time);
	free(l.loss);
}

/* As many micro-batches of LocalSGD as fit into @time. */
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
	plot chart = {.title = "A character language model, 16 stages, step size 2^-3", .x_label = "steps of unit time", .y_label = "loss",
		      .high_only = true};
	mr_unit_time u;
	uint32_t time;
	FILE *table;
	char name[32];
	model m;

	if (!s->text) {
		printf("lm: no text: give one with --text FILE\n");
		return;
	}
	m = model_open(s);
	table = table_open(s, "lm.csv");
	fprintf(table, "method,time,loss\n");
	printf("gpt of %u stages, %lld parameters:\n", m.n_stages, (long long)mr_graph_n_params(m.graph));
	die_unless(mr_unit_greedy(m.n_stages, s->tiny ? 12 : 256, 0, &u), "a timeline");
	time = u.length;
	run(&m, table, &chart, "PipeDream", &u);
	mr_unit_time_fini(&u);
	for (int i = 0; i < 3; i++) {
		die_unless(mr_unit_rounds(m.n_stages, micro_of(m.n_stages, locals[i], time), m.n_stages, locals[i], &u), "a timeline");
		snprintf(name, sizeof(name), "LocalSGD H = %u", locals[i]);
		run(&m, table, &chart, name, &u);
		mr_unit_time_fini(&u);
	}
	table_close(table);
	plot_write(&chart, out_path(s, "lm.svg"));
	mr_partition_fini(&m.partition);
	mr_graph_destroy(m.graph);
	mr_dataset_close(m.data);
}
