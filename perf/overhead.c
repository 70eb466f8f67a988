/*
 * overhead.c - what the engine itself costs: the time between instructions.
 *
 *	overhead [--tiny]
 *
 * One worker alone, so nobody ever waits for another. From the trace of 200 consecutive steps, per step: the distance
 * from the step's first instruction to the next step's, less the instructions' own times stamped in between. Reported
 * as a share of the step and per instruction, median and quartiles over the steps. The chain of four scalars has
 * instructions that do next to nothing: its time per instruction is the price of an empty one, both clock readings
 * included. Behind a layer of a large model the same instructions of the engine meet cold caches and address tables,
 * and what they take is mostly that.
 *
 * And one hand-over: the chain on two workers, from the end of F to the begin of the F on the other worker that waited
 * for it alone. What hands over is stamped behind the push, so this is the dispatch of the next instruction with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "config/config.h"
#include "session/session.h"
#include "host/env.h"

enum { STEPS = 200, WARM = 100, TINY_STEPS = 5 };

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

/* A run of the configuration at @path as @workers and @system set it, with its trace; returns the steps it made. */
static uint64_t run_steps(const char *path, const char *workers, const char *system, uint64_t steps, mr_config **config,
			  mr_session *s)
{
	/* One micro-batch a step. */
	const char *sets[] = {workers, "machine.threads=1", system, "train.microbatches=1"};
	mr_strbuf mistakes;
	uint64_t reached;

	mr_strbuf_init(&mistakes);
	check(mr_config_load(path, sets, 4, &mistakes, config), mr_strbuf_text(&mistakes));
	mr_strbuf_fini(&mistakes);
	check(mr_session_open(mr_config_job(*config), s), path);
	check(mr_session_start(s, &(mr_session_opts){.trace = true}), path);
	check(mr_executor_run(&s->executor, WARM + steps + 1, NULL, NULL, &reached), path);
	return reached;
}

static void measure(const char *path, uint64_t steps)
{
	double share[STEPS], each[STEPS];
	mr_config *config;
	mr_session s;
	uint64_t reached = run_steps(path, "machine.workers=1", "system.name=pipedream", steps, &config, &s);
	mr_run *run = mr_engine_run_of(s.executor.engine);
	uint32_t a_step = (uint32_t)(run->worker[0].n_trace / reached);

	for (uint64_t i = 0; i < steps; i++) {
		double gap, all;

		one_step(&run->worker[0], WARM + i, a_step, &gap, &all);
		share[i] = 100 * gap / all;
		each[i] = gap / a_step;
	}
	mr_quartiles q = mr_quartiles_of(share, steps), e = mr_quartiles_of(each, steps);

	printf("%-24s %u instructions a step: %6.3f %% of the step (%.3f to %.3f), %6.0f ns an instruction (%.0f to "
	       "%.0f)\n",
	       path, a_step, q.median, q.q1, q.q3, e.median, e.q1, e.q3);
	mr_session_close(&s);
	mr_config_destroy(config);
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
static void measure_handoff(const char *path, uint64_t steps)
{
	double ns[STEPS];
	mr_config *config;
	mr_session s;
	uint64_t end[STEPS + WARM] = {0}, n = 0, to = WARM + steps;
	const mr_worker *w;
	mr_quartiles q = {0};

	run_steps(path, "machine.workers=2", "system.name=1f1b", steps, &config, &s);
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
	printf("%-24s one hand-over to a worker that waits, in %llu of %llu steps: %6.0f ns (%.0f to %.0f)\n", path,
	       (unsigned long long)n, (unsigned long long)steps, q.median, q.q1, q.q3);
	mr_session_close(&s);
	mr_config_destroy(config);
}

int main(int argc, char **argv)
{
	bool tiny = argc > 1 && !strcmp(argv[1], "--tiny");
	mr_env_params env = {.argv = argv};
	const char *source = getenv("MR_SOURCE"); /* ctest says where conf/ is */
	const char *names[] = {"chain", "mlp", "quickstart"};

	check(mr_env_prepare(&env), "environment");
	for (int i = 0; i < (tiny ? 1 : 3); i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s%sconf/%s.cfg", source ? source : "", source ? "/" : "", names[i]);
		measure(path, tiny ? TINY_STEPS : STEPS);
		if (i == 0)
			measure_handoff(path, tiny ? TINY_STEPS : STEPS);
	}
	return 0;
}
