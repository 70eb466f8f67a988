/*
 * overhead.c - what the engine itself costs: the time between instructions.
 *
 *	overhead [--tiny]
 *
 * One worker alone, so that no worker ever waits for another. From the trace of 200 consecutive steps, per step: the
 * distance from the step's first instruction to the next step's, less the instructions' own times stamped in between.
 * Reported as a share of the step and per instruction, median and quartiles over the steps. The chain of four scalars
 * has instructions that do next to nothing: its time per instruction is the price of an empty one, both clock readings
 * included. Behind a layer of a large model the same instructions of the engine meet cold caches and address tables,
 * and what they take is mostly that.
 *
 * And one hand-over: the chain on two workers, from the end of F to the begin of the F on the other worker that waited
 * for it alone. What hands over is stamped behind the push, so this is the dispatch of the next instruction with it.
 *
 * And the probes of base/usdt.h: the chain again with their semaphores raised, as a tracer would, but without one, so
 * that their arguments are computed and nothing listens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/usdt.h"
#include "job/job.h"
#include "session/session.h"
#include "host/env.h"

enum { STEPS = 200, WARM = 100, TINY_STEPS = 5, MAX_SETTINGS = 12 };

/* A model and what it learns from: those of the configurations of the same names in conf/. */
typedef struct setting {
	const char *key, *value;
} setting;

typedef struct training {
	const char *name, *backend;
	mr_job_precision precision;
	int64_t batch;
	setting set[MAX_SETTINGS]; /* key NULL: no more */
} training;

static const training trainings[] = {
	{"chain", "reference", MR_PRECISION_F64, 1,
	 {{"model.name", "chain"}, {"model.depth", "4"}, {"model.init", "[0.9, 1.1, 0.8, 1.2]"},
	  {"data.name", "numbers"}, {"data.x", "[1.0, 0.5, -0.75, 1.25]"}, {"data.y", "[0.5, 1.0, -0.25, 0.75]"},
	  {"optimizer.name", "sgd"}}},
	{"mlp", "auto", MR_PRECISION_F32, 64,
	 {{"model.name", "mlp"}, {"model.hidden", "[256, 256, 256]"}, {"data.name", "synthetic"},
	  {"data.features", "64"}, {"data.classes", "10"}, {"data.samples", "65536"},
	  {"optimizer.name", "momentum"}, {"optimizer.mu", "0.9"}}},
	{"quickstart", "auto", MR_PRECISION_F32, 16,
	 {{"model.name", "gpt"}, {"model.layers", "4"}, {"model.width", "128"}, {"model.heads", "4"},
	  {"model.context", "128"}, {"model.init_std", "0.06"}, {"data.name", "sources"},
	  {"optimizer.name", "nadamw"}, {"optimizer.beta2", "0.95"}, {"optimizer.weight_decay", "0.1"}}},
};

static void check(mr_status st, const char *what)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "overhead: %s: %s\n", what, mr_error_text());
	exit(mr_status_exit_code(st));
}

/* Of step @i in the trace: nanoseconds between instructions, and from its start to the next step's. */
static void one_step(const mr_worker *w, uint64_t i, uint32_t a_step, double *gap, double *all)
{
	const mr_trace_rec *r = &w->trace[i * a_step];
	double busy = 0;

	for (uint32_t k = 0; k < a_step; k++)
		busy += (double)(r[k].end_ns - r[k].begin_ns);
	*all = (double)(r[a_step].begin_ns - r[0].begin_ns);
	*gap = *all - busy;
}

/* @t on @workers by @system, one micro-batch a step. */
static void fill(const training *t, int64_t workers, const char *system, mr_job *j)
{
	check(mr_job_init(j), t->name);
	for (const setting *set = t->set; set->key; set++)
		check(mr_job_set(j, set->key, set->value), t->name);
	check(mr_job_choose(j, MR_JOB_SYSTEM, system), t->name);
	j->name = t->name;
	j->base_dir = getenv("MR_SOURCE"); /* ctest says where the sources are */
	j->backend = t->backend;
	j->precision = t->precision;
	j->train.steps = 1000;
	j->train.batch = t->batch;
	j->train.microbatches = 1;
	check(mr_job_set(j, "optimizer.lr", "2e-3"), t->name);
	j->machine.workers = workers;
	j->machine.threads = 1;
	check(mr_job_check(j), t->name);
}

/* A run with its trace; returns the steps that it made. */
static uint64_t run_steps(const training *t, int64_t workers, const char *system, uint64_t steps, mr_job *j,
			  mr_session *s)
{
	uint64_t reached;

	fill(t, workers, system, j);
	check(mr_session_open(j, s), t->name);
	check(mr_session_start(s, &(mr_session_opts){.trace = true}), t->name);
	check(mr_executor_run(&s->executor, WARM + steps + 1, NULL, NULL, &reached), t->name);
	return reached;
}

static void close_run(mr_job *j, mr_session *s)
{
	mr_session_close(s);
	mr_job_fini(j);
}

/* As if a tracer listened at each probe. */
static void raise_probes(unsigned short to)
{
	(void)to;
#ifdef MR_USDT
#define MR_USDT_PROBE(name) millrace_##name##_semaphore = to;
#include "base/usdt.def"
#undef MR_USDT_PROBE
#endif
}

static void measure(const training *t, uint64_t steps)
{
	double share[STEPS], each[STEPS];
	mr_job j;
	mr_session s;
	uint64_t reached = run_steps(t, 1, "pipedream", steps, &j, &s);
	mr_run *run = mr_engine_run_of(s.executor.engine);
	uint32_t a_step = (uint32_t)(run->worker[0].n_trace / reached);

	for (uint64_t i = 0; i < steps; i++) {
		double gap, all;

		one_step(&run->worker[0], WARM + i, a_step, &gap, &all);
		share[i] = 100 * gap / all;
		each[i] = gap / a_step;
	}
	mr_quartiles q = mr_quartiles_of(share, steps), e = mr_quartiles_of(each, steps);

	printf("%-10s %u instructions a step: %6.3f %% of the step (%.3f to %.3f), %6.0f ns an instruction (%.0f to "
	       "%.0f)\n",
	       t->name, a_step, q.median, q.q1, q.q3, e.median, e.q1, e.q3);
	close_run(&j, &s);
}

/* Has @r waited for @cause and nothing else? */
static bool waited_for(const mr_trace_rec *r, mr_wait_cause cause)
{
	for (int c = 0; c < MR_N_WAITS; c++)
		if ((r->wait_ns[c] > 0) != (c == (int)cause))
			return false;
	return true;
}

/* F of stage 1 that waited for F of stage 0, as it must where each step is one micro-batch and a flush: how long after
 * that had ended. */
static void measure_handoff(const training *t, uint64_t steps)
{
	double ns[STEPS];
	mr_job j;
	mr_session s;
	uint64_t end[STEPS + WARM] = {0}, n = 0, to = WARM + steps;
	const mr_worker *w;
	mr_quartiles q = {0};

	run_steps(t, 2, "1f1b", steps, &j, &s);
	w = mr_engine_run_of(s.executor.engine)->worker;

	for (uint64_t i = 0; i < w[0].n_trace; i++)
		if (w[0].trace[i].op == MR_OP_F && w[0].trace[i].micro < to)
			end[w[0].trace[i].micro] = w[0].trace[i].end_ns;
	for (uint64_t i = 0; i < w[1].n_trace; i++) {
		const mr_trace_rec *r = &w[1].trace[i];

		if (r->op == MR_OP_F && r->micro >= WARM && r->micro < to && waited_for(r, MR_WAIT_UPSTREAM))
			ns[n++] = (double)r->begin_ns - (double)end[r->micro];
	}
	if (n)
		q = mr_quartiles_of(ns, n);
	printf("%-10s one hand-over to a worker that waits, in %llu of %llu steps: %6.0f ns (%.0f to %.0f)\n", t->name,
	       (unsigned long long)n, (unsigned long long)steps, q.median, q.q1, q.q3);
	close_run(&j, &s);
}

int main(int argc, char **argv)
{
	bool tiny = argc > 1 && !strcmp(argv[1], "--tiny");
	mr_env_params env = {.argv = argv};

	check(mr_env_prepare(&env), "environment");
	for (int i = 0; i < (tiny ? 1 : 3); i++) {
		measure(&trainings[i], tiny ? TINY_STEPS : STEPS);
		if (i == 0)
			measure_handoff(&trainings[i], tiny ? TINY_STEPS : STEPS);
		if (i == 0 && mr_usdt_built()) {
			printf("%-10s with the probes' semaphores raised:\n", trainings[i].name);
			raise_probes(1);
			measure(&trainings[i], tiny ? TINY_STEPS : STEPS);
			raise_probes(0);
		}
	}
	return 0;
}
