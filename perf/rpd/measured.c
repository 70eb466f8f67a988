/*
 * measured.c - experiment 1, on this machine: delays of PipeDream in the running engine.
 *
 * Each worker notes when its F began (then it has chosen its weights) and when its B had committed. All commits of a run in the
 * order of their clocks are the global count of updates; the delay of a read is the number of commits between the read and the
 * update that it serves, as in the simulated experiment (run/ages.h). The steps are written to measured-<S>.steps too, which the system
 * rpd carries out: system = { name = "rpd"; record = "rpd/measured-4.steps"; } on 4 workers, train.steps at most the file's lines. A least-squares problem whose blocks are large enough that arithmetic, and
 * not the hand-over, takes the time. With more workers than cores the kernel's scheduler has a say: that is what is measured.
 * The only experiment whose figures change from run to run.
 */
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "host/topo.h"
#include "ir/check.h"
#include "ir/lower.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"
#include "run/ages.h"
#include "run/engine.h"
#include "schedules/registry.h"

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

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static row figures(const mr_aged *a)
{
	uint16_t s = a->n_stages;
	uint32_t *all = malloc((size_t)a->n_steps * s * sizeof(*all)), n = 0;
	row r = {.stages = s, .updates = a->n_steps};

	if (!all)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for delays"), "delays");
	for (uint32_t k = 0; k < r.updates; k++)
		for (uint16_t b = 0; b < s; b++) {
			uint32_t d = mr_aged_delay(a, k, b);

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
	free(all);
	return r;
}

/* The steps as a file that the system rpd takes: measured-<S>.steps. */
static void write_record(const settings *s, const mr_aged *a)
{
	mr_strbuf text;
	char name[32];

	mr_strbuf_init(&text);
	mr_aged_print(a, &text);
	if (text.failed)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for the text of %u steps", a->n_steps), "recorded steps");
	snprintf(name, sizeof(name), "measured-%u.steps", a->n_stages);
	die_unless(mr_file_replace(out_path(s, name), text.data, text.len), "recorded steps");
	mr_strbuf_fini(&text);
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
	mr_aged *a;
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
	die_unless(mr_ages_of_run(mr_engine_run_of(e), n_micro, &a), "delays");
	r = figures(a);
	write_record(s, a);
	mr_aged_destroy(a);
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
