/*
 * algorithms.c - three implementations of Randomized PipeDream: their weights must be equal, and their times show the
 * gain of parallel execution.
 *
 * For each bound on delays one sequence of steps is drawn and executed on a gpt of 4 blocks of width 64, cut into two
 * stages, on the text given with --text: step by step (theory/aged_run.h, the definition); by the replay of the plan,
 * one operation at a time, as in virtual time; and by the engine on two workers of one thread, where a step begins as
 * soon as the versions that it reads exist. The largest difference of any weight between them is 0. Times are measured
 * on this machine, in milliseconds per step without set-up.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "host/topo.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/lm_model.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"
#include "threads/engine.h"
#include "replay/replay.h"

#define WORKERS 2
#define N_DELTAS 7

typedef struct task {
	const settings *s;
	lm_model m;
	uint32_t steps;
	int64_t samples;
	mr_lr lr;
	mr_optim o;
	mr_topo topo;
	mr_place place;
	float *weights[WORKERS]; /* of the definition, one array per stage in the layout of mr_stage */
} task;

typedef struct row {
	uint32_t delta;
	double sequential, virtual_time, parallel; /* milliseconds per step */
	double difference;
} row;

static mr_plan *plan_of(const task *t, uint32_t delta, uint32_t n_batches)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", delta);
	return lm_plan("rpd", (const char *const[][2]){{"delta", number}, {NULL, NULL}},
		       (mr_sched_args){
			       .n_workers = WORKERS, .n_micro = 1, .n_steps = t->steps, .n_batches = n_batches});
}

/* --- step by step ------------------------------------------------------------------------------------------------- */

typedef struct watch {
	uint64_t first, last;
} watch;

static bool on_step(void *arg, const mr_aged_event *e)
{
	watch *w = arg;

	w->last = mr_clock_ns();
	w->first = e->k ? w->first : w->last;
	return true;
}

static double sequential(task *t, uint32_t delta, uint32_t n_batches)
{
	mr_rpd_params p = {.n_stages = WORKERS, .n_steps = t->steps, .n_batches = n_batches, .delta = delta};
	mr_aged *steps;
	watch w = {0};

	die_unless(mr_rpd_draw(&p, &steps), "steps");
	die_unless(mr_aged_run(&(mr_aged_config){.graph = t->m.graph,
						 .partition = &t->m.partition,
						 .kernels = t->m.kernels,
						 .data = t->m.data,
						 .optim = &t->o,
						 .lr = &t->lr,
						 .place = &t->place.worker[0],
						 .samples = t->samples,
						 .seed = 1,
						 .steps = steps,
						 .observer = on_step,
						 .arg = &w},
			       (void *const *)t->weights),
		   "step by step");
	mr_aged_destroy(steps);
	return (double)(w.last - w.first) / 1e6 / (t->steps - 1);
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static double difference(const task *t, const mr_run *run)
{
	double worst = 0;

	for (uint16_t s = 0; s < WORKERS; s++) {
		const mr_stage_weights *b = &run->weights[s];
		uint32_t first, end;

		mr_stage_params(b->stage, &first, &end);
		for (uint32_t p = first; p < end; p++) {
			size_t at = mr_stage_weight_at(b->stage, p) / sizeof(float);
			const float *got = (const float *)mr_weights_at(b, 0, b->latest) + at;

			for (int64_t i = 0; i < t->m.graph->params[p].n; i++)
				worst = fmax(worst, fabs((double)got[i] - (double)t->weights[s][at + (size_t)i]));
		}
	}
	return worst;
}

static mr_run_config config_of(const task *t, const mr_plan *plan)
{
	return (mr_run_config){.graph = t->m.graph,
			       .partition = &t->m.partition,
			       .plan = plan,
			       .kernels = t->m.kernels,
			       .data = t->m.data,
			       .optim = &t->o,
			       .lr = &t->lr,
			       .place = &t->place,
			       .seed = 1,
			       .samples = t->samples,
			       .spin_us = UINT32_MAX};
}

static double by_replay(const task *t, const mr_plan *plan, double *worst)
{
	mr_run_config c = config_of(t, plan);
	uint64_t begun;
	double ms;
	mr_replay *r;

	die_unless(mr_replay_create(&c, &r), "the replay");
	begun = mr_clock_ns();
	die_unless(mr_replay_run(r, t->steps, MR_REPLAY_ROUND_ROBIN, 0), "the replay");
	ms = (double)(mr_clock_ns() - begun) / 1e6 / t->steps;
	*worst = fmax(*worst, difference(t, mr_replay_run_of(r)));
	mr_replay_destroy(r);
	return ms;
}

static double in_parallel(const task *t, const mr_plan *plan, double *worst)
{
	mr_run_config c = config_of(t, plan);
	uint64_t begun, reached;
	double ms;
	mr_engine *e;

	die_unless(mr_engine_create(&c, 60, &e), "the engine");
	begun = mr_clock_ns();
	die_unless(mr_engine_run(e, t->steps, NULL, NULL, &reached), "the engine");
	ms = (double)(mr_clock_ns() - begun) / 1e6 / t->steps;
	*worst = fmax(*worst, difference(t, mr_engine_run_of(e)));
	mr_engine_destroy(e);
	return ms;
}

static row measure(task *t, uint32_t delta)
{
	uint32_t n_batches = (uint32_t)(t->m.data->n_train / (uint64_t)t->samples);
	mr_plan *plan = plan_of(t, delta, n_batches);
	row r = {.delta = delta};

	r.sequential = sequential(t, delta, n_batches);
	r.virtual_time = by_replay(t, plan, &r.difference);
	r.parallel = in_parallel(t, plan, &r.difference);
	mr_plan_destroy(plan);
	return r;
}

static void draw(const settings *s, const row *r, size_t n)
{
	plot p = {.title = "Randomized PipeDream on two workers, the same steps to the bit",
		  .x_label = "bound on delays, delta",
		  .y_label = "milliseconds a step"};
	series *line[3] = {plot_add(&p, "step by step, one thread", n), plot_add(&p, "replay, one thread", n),
			   plot_add(&p, "in parallel, two workers", n)};

	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			line[k]->marks = true;
			line[k]->x[i] = r[i].delta;
			line[k]->y[i] = k == 0 ? r[i].sequential : k == 1 ? r[i].virtual_time : r[i].parallel;
		}
	plot_write(&p, out_path(s, "ways.svg"));
}

static void set_up(task *t)
{
	const settings *s = t->s;
	lm_size size = {.stages = WORKERS, .blocks = s->tiny ? 2 : 4, .width = s->tiny ? 8 : 64, .heads = 4,
			.context = s->tiny ? 8 : 32, .validation = "0.1"};
	size_t bytes;
	mr_place_params params;

	t->m = lm_model_open(s->text, &size);
	t->lr = (mr_lr){.kind = MR_LR_CONSTANT, .base = 0.125};
	t->o = (mr_optim){.ops = mr_optim_find("sgd")};
	die_unless(mr_topo_detect(&t->topo), "the machine");
	mr_place_defaults(&params, WORKERS);
	params.max_threads = 1;
	die_unless(mr_place_init(&t->place, &t->topo, &params), "placing workers");
	/* and padding */
	bytes = (size_t)mr_graph_n_params(t->m.graph) * sizeof(float) + 64u * (t->m.graph->n_params + 1u);
	for (int w = 0; w < WORKERS; w++) {
		t->weights[w] = calloc(1, bytes);
		if (!t->weights[w])
			die_unless(mr_fail(MR_ERESOURCE, "no memory for weights"), "ways");
	}
}

void experiment_ways(const settings *s)
{
	static const uint32_t deltas[N_DELTAS] = {0, 1, 2, 3, 4, 8, 16};
	task t = {.s = s, .steps = s->tiny ? 20 : 400, .samples = s->tiny ? 2 : 16};
	size_t n = s->tiny ? 3 : N_DELTAS;
	row r[N_DELTAS];
	FILE *f;

	if (!s->text) {
		printf("ways: no text: give one with --text FILE\n");
		return;
	}
	set_up(&t);
	f = table_open(s, "ways.csv");
	fprintf(f, "delta,steps,sequential_ms,replay_ms,parallel_ms,largest_difference\n");
	printf("rpd on a gpt of %d stages, %lld parameters, milliseconds a step:\n", WORKERS,
	       (long long)mr_graph_n_params(t.m.graph));
	for (size_t i = 0; i < n; i++) {
		r[i] = measure(&t, deltas[i]);
		fprintf(f, "%u,%u,%.6g,%.6g,%.6g,%g\n", r[i].delta, t.steps, r[i].sequential, r[i].virtual_time,
			r[i].parallel, r[i].difference);
		printf("  delta %-3u step by step %.3f, replay %.3f, in parallel %.3f: %.2f times as fast; largest "
		       "difference %g\n",
		       r[i].delta, r[i].sequential, r[i].virtual_time, r[i].parallel, r[i].sequential / r[i].parallel,
		       r[i].difference);
		fflush(stdout);
	}
	table_close(f);
	draw(s, r, n);
	for (int w = 0; w < WORKERS; w++)
		free(t.weights[w]);
	mr_place_fini(&t.place);
	mr_topo_fini(&t.topo);
	lm_model_close(&t.m);
}
