/*
 * measured.c - experiment 1, on this machine: delays of PipeDream in the running engine.
 *
 * Each worker notes when its F began (then it has chosen its weights) and when its B had committed. All commits of a run in the
 * order of their clocks are the global count of updates; the delay of a read is the number of commits between the read and the
 * update that it serves, as in the simulated experiment. A least-squares problem whose blocks are large enough that arithmetic, and
 * not the hand-over, takes the time. With more workers than cores the kernel's scheduler has a say: that is what is measured.
 * The only experiment whose figures change from run to run.
 */
#include <math.h>
#include <stdlib.h>

#include "host/topo.h"
#include "ir/check.h"
#include "ir/lower.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"
#include "run/engine.h"
#include "schedules/registry.h"

typedef struct commit {
	uint64_t end;
	uint32_t micro;
	uint16_t stage;
} commit;

typedef struct row {
	uint32_t stages, updates, max, p10, p50, p90, run_max;
	double mean;
} row;

static mr_plan *plan_of(uint16_t stages)
{
	const mr_sched_ops *ops;
	mr_plan *plan;

	die_unless(mr_schedule_get("pipedream", &ops), "the system");
	die_unless(mr_schedule_emit(ops, &(mr_sched_args){.n_workers = stages, .n_micro = 1}, &plan), "the schedule");
	die_unless(mr_plan_lower(plan, &(mr_lower_opts){.update_inside = true}), "lowering");
	die_unless(mr_plan_check(plan), "the plan");
	return plan;
}

static int by_end(const void *a, const void *b)
{
	const commit *x = a, *y = b;

	return x->end != y->end ? (x->end > y->end) - (x->end < y->end) : (int)x->stage - (int)y->stage;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* How many of the @n commits had ended when the clock said @time. */
static uint32_t ended(const commit *c, uint32_t n, uint64_t time)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (c[mid].end <= time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* From the traces of all workers: when each F began, and the commits. Returns how many commits; @f is [micro][stage]. */
static uint32_t collect(const mr_run *run, uint32_t n_micro, uint64_t *f, commit *c)
{
	uint32_t n = 0;

	for (uint16_t w = 0; w < run->n_workers; w++)
		for (uint64_t i = 0; i < run->worker[w].n_trace; i++) {
			const mr_trace_rec *t = &run->worker[w].trace[i];

			if (t->op == MR_OP_F && t->micro < n_micro)
				f[(size_t)t->micro * run->n_stages + t->stage] = t->begin_ns;
			if (t->op == MR_OP_B && t->micro < n_micro)
				c[n++] = (commit){t->end_ns, t->micro, t->stage};
		}
	qsort(c, n, sizeof(*c), by_end);
	return n;
}

static row figures(const mr_run *run, uint32_t n_micro)
{
	uint16_t s = run->n_stages;
	uint64_t *f = calloc((size_t)n_micro * s, sizeof(*f));
	commit *c = calloc((size_t)n_micro * s, sizeof(*c));
	uint32_t *all = malloc((size_t)n_micro * s * s * sizeof(*all)), n = 0;
	row r = {.stages = s};

	if (!f || !c || !all)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for delays"), "delays");
	r.updates = collect(run, n_micro, f, c);
	for (uint32_t k = 0; k < r.updates; k++)
		for (uint16_t b = 0; b < s; b++) {
			uint32_t d = k - ended(c, k, f[(size_t)c[k].micro * s + b]);

			r.run_max = d > r.run_max ? d : r.run_max;
			if (k < r.updates / 2)
				continue;
			r.mean += d;
			r.max = d > r.max ? d : r.max;
			all[n++] = d;
		}
	r.mean /= n;
	qsort(all, n, sizeof(*all), by_value);
	r.p10 = all[n / 10];
	r.p50 = all[n / 2];
	r.p90 = all[(size_t)n * 9 / 10];
	free(f);
	free(c);
	free(all);
	return r;
}

static row measure(const settings *s, uint16_t stages)
{
	uint32_t n_micro = s->tiny ? 40 : 100u * stages;
	problem p = problem_open("quadratic", "", "generated", s->tiny ? "rows=64 features=64" : "rows=640 features=2048", stages,
				 s->tiny ? 8 : 64, false);
	mr_plan *plan = plan_of(stages);
	mr_lr lr = {.kind = MR_LR_CONSTANT, .base = 1e-5};
	mr_optim o = {.ops = mr_optim_find("sgd")};
	mr_place_params params;
	mr_engine *e;
	mr_topo topo;
	mr_place place;
	uint64_t reached;
	row r;

	die_unless(mr_topo_detect(&topo), "the machine");
	mr_place_defaults(&params, stages);
	params.max_threads = 1;
	die_unless(mr_place_init(&place, &topo, &params), "placing workers");
	die_unless(mr_engine_create(&(mr_run_config){.graph = p.graph, .partition = &p.partition, .plan = plan, .kernels = p.kernels,
						     .data = p.data, .optim = &o, .lr = &lr, .place = &place, .seed = 1,
						     .samples = p.samples, .spin_us = UINT32_MAX, .trace = true},
				    60, &e),
		   "the engine");
	die_unless(mr_engine_run(e, n_micro, NULL, NULL, &reached), "the run");
	r = figures(mr_engine_run_of(e), n_micro);
	mr_engine_destroy(e);
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	mr_plan_destroy(plan);
	problem_close(&p);
	return r;
}

static void draw(const settings *s, const row *r, size_t n)
{
	static const char *const names[] = {"measured max", "measured mean", "S^2 - S / 2", "(S^2 - 1) / 2"};
	plot p = {.title = "Delays of PipeDream, measured in the engine", .x_label = "stages S",
		  .y_label = "updates between a read and the update it serves", .log_x = true, .log_y = true};

	for (int i = 0; i < 4; i++) {
		series *at = plot_add(&p, names[i], n);

		at->marks = i < 2;
		at->dashed = i >= 2;
		for (size_t k = 0; k < n; k++) {
			double x = at->x[k] = r[k].stages;

			at->y[k] = i == 0 ? r[k].max : i == 1 ? r[k].mean : i == 2 ? x * x - x / 2 : (x * x - 1) / 2;
		}
	}
	plot_write(&p, out_path(s, "measured.svg"));
}

void experiment_measured(const settings *s)
{
	static const uint16_t stages[] = {2, 3, 4, 6, 8, 12, 16};
	size_t n = s->tiny ? 2 : 7;
	FILE *f = table_open(s, "measured.csv");
	row r[7];

	fprintf(f, "stages,updates,closed_max,closed_mean,half_max,half_mean,half_p10,half_p50,half_p90,run_max\n");
	printf("delays in the running engine:\n");
	for (size_t i = 0; i < n; i++) {
		double x = stages[i];

		r[i] = measure(s, stages[i]);
		fprintf(f, "%u,%u,%u,%g,%u,%.6g,%u,%u,%u,%u\n", stages[i], r[i].updates, mr_unit_delay_max(stages[i]), (x * x - 1) / 2,
			r[i].max, r[i].mean, r[i].p10, r[i].p50, r[i].p90, r[i].run_max);
		printf("  S %-3u %6u updates: max %u (in unit time %u), mean %.3g (%.3g), 10 %% %u, 90 %% %u\n", stages[i],
		       r[i].updates, r[i].max, mr_unit_delay_max(stages[i]), r[i].mean, (x * x - 1) / 2, r[i].p10, r[i].p90);
		fflush(stdout);
	}
	table_close(f);
	draw(s, r, n);
}
