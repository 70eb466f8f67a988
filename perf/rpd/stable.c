/*
 * stable.c - the largest rate that a pipeline takes, measured in the running engine, beside PipeMare's bound on rate
 * times curvature, 2 sin(pi / (4 tau + 2)) for a stage that is tau commits late (objective/stable_rate.h).
 *
 * Least squares of one row and one coordinate a stage, in f64: f(w) = |x . w - 1|^2 / 2. With x = e_k all curvature is
 * in the coordinate of one stage, and the loss of a micro-batch is that stage's error squared, as it was read. The
 * largest rate is found by bisection between half and one and a half times the bound: a rate is stable if the largest
 * loss of the last quarter of the run, some periods of the oscillation, is not above that of the quarter before the
 * middle. `all` has x = (1, .., 1) / sqrt(S): the same curvature spread evenly over all stages, whose delays are 0 to
 * S - 1. PipeDream with one micro-batch a commit; plain descent, and momentum 0.9. Nothing depends on the clock: a plan
 * says which version each pass reads.
 */
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/result.h"
#include "threads/engine.h"
#include "host/topo.h"
#include "objective/stable_rate.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/lm_model.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

#define MOST_STAGES 17
#define MOST_POINTS 9
#define HALVINGS 10 /* of an interval as wide as the bound */

typedef struct watched {
	uint64_t n, window; /* steps of the run; at its end and before its middle */
	double middle, end; /* largest losses there */
} watched;

typedef struct bench {
	problem p;
	mr_plan *plan;
	mr_topo topo;
	mr_place place;
	double mu;
	uint32_t tau;
} bench;

static bool on_progress(void *arg, const mr_step_rec *r)
{
	watched *w = arg;

	if (r && r->step >= w->n - w->window)
		w->end = fmax(w->end, r->loss);
	else if (r && r->step >= w->n / 2 - w->window && r->step < w->n / 2)
		w->middle = fmax(w->middle, r->loss);
	return true;
}

/* The row of the data: all curvature at stage @at, or spread over all of @n stages where @at is @n. */
static void write_row(const settings *s, uint16_t n, uint16_t at)
{
	FILE *f = table_open(s, "stable-row.csv");

	for (uint16_t k = 0; k < n; k++)
		fprintf(f, "%.17g,", at == n ? 1 / sqrt(n) : k == at);
	fprintf(f, "1\n");
	table_close(f);
}

static bench bench_open(const settings *s, uint16_t stages, uint16_t at, double mu)
{
	bench b = {.mu = mu, .tau = at == stages ? stages - 1u : stages - 1u - at};
	mr_place_params params;
	char sets[1200];

	write_row(s, stages, at);
	snprintf(sets, sizeof(sets), "path=%s header=no scale=none validation=0", out_path(s, "stable-row.csv"));
	b.p = problem_open("quadratic", "", "csv", sets, stages, 1, false);
	b.plan = lm_plan("pipedream", NULL, (mr_sched_args){.n_workers = stages, .n_micro = 1});
	die_unless(mr_topo_detect(&b.topo), "the machine");
	mr_place_defaults(&params, stages);
	params.max_threads = 1;
	die_unless(mr_place_init(&b.place, &b.topo, &params), "placing workers");
	return b;
}

static void bench_close(bench *b)
{
	mr_place_fini(&b->place);
	mr_topo_fini(&b->topo);
	mr_plan_destroy(b->plan);
	problem_close(&b->p);
}

static bool is_stable(const bench *b, double rate, uint64_t n_steps)
{
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = rate};
	mr_optim o = {.ops = mr_optim_find(b->mu > 0 ? "momentum" : "sgd"), .mu = b->mu};
	watched w = {.n = n_steps, .window = n_steps / 4};
	uint64_t reached;
	mr_engine *e;
	mr_status st;

	die_unless(mr_engine_create(&(mr_run_config){.graph = b->p.graph,
						     .partition = &b->p.partition,
						     .plan = b->plan,
						     .kernels = b->p.kernels,
						     .data = b->p.data,
						     .optim = &o,
						     .lr = &lr,
						     .place = &b->place,
						     .seed = 1,
						     .samples = 1,
						     .spin_us = UINT32_MAX},
				    60, &e),
		   "the engine");
	st = mr_engine_run(e, n_steps, on_progress, &w, &reached);
	if (st != MR_EDIVERGED) /* a loss beyond all numbers */
		die_unless(st, "the run");
	mr_engine_destroy(e);
	return st == MR_OK && w.end <= w.middle; /* both may have reached 0 */
}

/* The largest stable rate of a pipeline of @stages with its curvature, 1, at stage @at (@stages: everywhere). */
static double largest(const settings *s, uint16_t stages, uint16_t at, double mu)
{
	bench b = bench_open(s, stages, at, mu);
	double bound = mr_stable_rate(b.tau, mu, false), below = 0.5 * bound, above = (at == stages ? 3 : 1.5) * bound;
	uint64_t n = (mu > 0 ? 4u : 1u) * (400 + 200 * (uint64_t)b.tau);

	for (int i = 0; i < HALVINGS; i++) {
		double rate = (below + above) / 2;

		*(is_stable(&b, rate, n) ? &below : &above) = rate;
	}
	bench_close(&b);
	return (below + above) / 2;
}

static void draw(const settings *s, const uint16_t *tau, double (*got)[MOST_POINTS], size_t n)
{
	static const char *const names[] = {"bound of one stage, 2 sin(pi / (4 tau + 2))", "measured",
					    "bound with momentum 0.9", "measured with momentum",
					    "all stages, measured"};
	plot p = {.title = "The largest stable rate of late gradients: bounds, and measured in the engine (dots)",
		  .x_label = "commits late, tau + 1",
		  .y_label = "rate x curvature",
		  .log_x = true,
		  .log_y = true};

	for (int i = 0; i < 5; i++) {
		bool bound = i == 0 || i == 2;
		series *at = plot_add(&p, names[i], n);

		at->dots = i == 1 || i == 3;
		at->marks = !bound;
		for (size_t k = 0; k < n; k++) {
			at->x[k] = tau[k] + 1; /* a logarithmic axis has no 0 */
			at->y[k] = bound ? mr_stable_rate(tau[k], i == 2 ? 0.9 : 0, false) : got[i / 2][k];
		}
	}
	plot_write(&p, out_path(s, "stable.svg"));
}

void experiment_stable(const settings *s)
{
	static const uint16_t taus[MOST_POINTS] = {0, 1, 2, 3, 4, 6, 8, 12, 16};
	uint16_t stages = s->tiny ? 3 : MOST_STAGES;
	size_t n = s->tiny ? 3 : MOST_POINTS;
	double got[3][MOST_POINTS];
	FILE *f = table_open(s, "stable.csv");

	fprintf(f, "tau,bound,one_stage,momentum_bound,momentum,all_stages\n");
	printf("largest stable rate x curvature, one stage of %u, in brackets the bound:\n", stages);
	for (size_t k = 0; k < n; k++) {
		uint16_t at = (uint16_t)(stages - 1 - taus[k]), spread = (uint16_t)(taus[k] + 1);
		double bound = mr_stable_rate(taus[k], 0, false), heavy = mr_stable_rate(taus[k], 0.9, false);

		got[0][k] = largest(s, stages, at, 0);
		got[1][k] = largest(s, stages, at, 0.9);
		got[2][k] = largest(s, spread, spread, 0);
		fprintf(f, "%u,%.6g,%.6g,%.6g,%.6g,%.6g\n", taus[k], bound, got[0][k], heavy, got[1][k], got[2][k]);
		printf("  tau %-2u  %.4f (%.4f); momentum 0.9 %.5f (%.5f); all of %u stages %.4f\n", taus[k], got[0][k],
		       bound, got[1][k], heavy, spread, got[2][k]);
		fflush(stdout);
	}
	table_close(f);
	draw(s, taus, got, n);
}
