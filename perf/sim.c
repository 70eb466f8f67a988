/*
 * sim.c - how long the simulator takes for a million instructions, on one core.
 *
 *	sim [--tiny]
 *
 * Plans of every registered system on 8 workers with 32 micro-batches, repeated until they have a million instructions;
 * systems that never flush run on and on. Per plan the best of five: the walk, the same with log-normal jitter and a
 * straggler, and the same as a stream, which a replay follows. The period, which takes further iterations, is left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "planner/make_plan.h"
#include "schedules/registry.h"
#include "timing/stream.h"

enum { WORKERS = 8, MICRO = 32, INSTRUCTIONS = 1000000, ROUNDS = 5, TINY = 5000 };

static void check(mr_status st)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "sim: %s\n", mr_error_text());
	exit(mr_status_exit_code(st));
}

static double seconds_since(uint64_t begin)
{
	return (double)(mr_clock_ns() - begin) / 1e9;
}

/* Best of the rounds, in seconds; *@n instructions. */
static double time_sim(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *p, int rounds,
		       size_t *n)
{
	double best = INFINITY;

	for (int i = 0; i < rounds; i++) {
		uint64_t begin = mr_clock_ns();
		mr_walk *k;

		check(mr_plan_walk(plan, cost, n_bodies, p, &k));
		best = fmin(best, seconds_since(begin));
		*n = k->first[k->n_workers];
		mr_walk_destroy(k);
	}
	return best;
}

static double time_stream(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *p,
			  int rounds)
{
	double best = INFINITY;

	for (int i = 0; i < rounds; i++) {
		uint64_t begin = mr_clock_ns();
		mr_walk_stream *s;
		mr_walk_event e;
		bool more = true;

		check(mr_walk_stream_create(plan, cost, p, &s));
		while (more)
			check(mr_walk_stream_next(s, n_bodies, &e, &more));
		best = fmin(best, seconds_since(begin));
		mr_walk_stream_destroy(s);
	}
	return best;
}

static void measure(const mr_sched_ops *ops, uint32_t wanted, int rounds)
{
	mr_plan_question q = {
		.system = ops,
		.args = {.n_workers = WORKERS,
			 .n_micro = ops->asynchronous ? ops->default_micro(WORKERS) : MICRO,
			 .costs = &mr_plan_equal_costs},
	};
	mr_straggler slow = {3, 1.5, 0, INFINITY};
	mr_walk_opts plain = {.no_period = true}, bent;
	mr_stage_cost *stage;
	double t, t_bent, t_stream;
	uint32_t body = 0, n_bodies;
	mr_cost cost;
	mr_plan *plan;
	size_t n;

	if (mr_plan_make(&q, &plan, NULL) != MR_OK) {
		printf("%-20s %s\n", ops->name, mr_error_text());
		return;
	}
	stage = calloc(plan->n_stages, sizeof(*stage));
	if (!stage)
		exit(6);
	mr_cost_share(plan, 1, 1, 1, stage, &cost);
	for (uint16_t w = 0; w < plan->n_workers; w++)
		body += mr_plan_list(plan, w, MR_BODY)->n;
	n_bodies = (wanted + body - 1) / (body ? body : 1);
	bent = plain;
	bent.jitter = MR_JITTER_LOGNORMAL;
	bent.amount = 0.1;
	bent.straggler = &slow;
	bent.n_stragglers = 1;
	t = time_sim(plan, &cost, n_bodies, &plain, rounds, &n);
	t_bent = time_sim(plan, &cost, n_bodies, &bent, rounds, &n);
	t_stream = time_stream(plan, &cost, n_bodies, &bent, rounds);
	printf("%-20s %9zu %10.3f %10.3f %10.3f\n", ops->name, n, t, t_bent, t_stream);
	fflush(stdout);
	free(stage);
	mr_plan_destroy(plan);
}

int main(int argc, char **argv)
{
	bool tiny = argc > 1 && !strcmp(argv[1], "--tiny");

	printf("%d workers, %d micro-batches, seconds\n%-20s %9s %10s %10s %10s\n", WORKERS, MICRO, "system", "instr.",
	       "walk", "bent", "stream");
	for (size_t i = 0; mr_schedule_at(i); i++)
		measure(mr_schedule_at(i), tiny ? TINY : INSTRUCTIONS, tiny ? 1 : ROUNDS);
	return 0;
}
