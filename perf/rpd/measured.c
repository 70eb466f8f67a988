/*
 * measured.c - experiment 1, on this machine: delays of PipeDream in the running engine.
 *
 * Delays are counted in commits: one counter is incremented after every commit of any stage and read before every F,
 * after the F has chosen its weights (theory/ages.h). The delay of a read is the number of commits between it and the
 * update that uses it, as in the simulated experiment. `half`: the second half of all updates, as in delays.c; `run`:
 * all of them, start-up included. measured_fit.csv has the fits a S^2 + b S + c of the measured delays and of the
 * delays in unit time for the same S (S^2 - S/2 at most, 5 S^2 / 4 - S with the start-up, (S^2 - 1) / 2 on average), by
 * least squares of relative distances. measured_pairs.csv has, for up to 8 stages, the delays of each pair of an active
 * stage and a stage it reads beside the closed form. The steps are written to measured-<S>.steps too, which the system
 * rpd executes: system = { name = "rpd"; record = "rpd/measured-4.steps"; } on 4 workers, train.steps at most the
 * number of lines in the file. The least-squares problem has blocks large enough that arithmetic, not the transfer
 * between workers, takes the time. With more workers than cores the measured delays include the effect of the operating
 * system's scheduler. The figures change from run to run.
 */
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/result.h"
#include "host/topo.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/fit.h"
#include "perf/rpd/lm_model.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"
#include "perf/theory/ages.h"
#include "threads/engine.h"

#define MOST_PAIRED 8
#define MOST_ROWS 11

typedef struct row {
	uint32_t stages, updates, max, p10, p50, p90, run_max;
	double mean, run_mean;
} row;

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
			r.run_mean += d;
			if (k < r.updates / 2)
				continue;
			r.mean += d;
			r.max = d > r.max ? d : r.max;
			all[n++] = d;
		}
	r.mean /= n;
	r.run_mean /= (double)r.updates * s;
	qsort(all, n, sizeof(*all), by_value);
	r.p10 = all[n / 10];
	r.p50 = all[n / 2];
	r.p90 = all[(size_t)n * 9 / 10];
	free(all);
	return r;
}

/* Delays of @active's updates reading block @b, in the second half. */
static void pair(FILE *f, const mr_aged *a, uint16_t active, uint16_t b, uint32_t *room)
{
	uint32_t n = 0;
	double sum = 0;

	for (uint32_t k = a->n_steps / 2; k < a->n_steps; k++)
		if (a->stage[k] == active) {
			room[n] = mr_aged_delay(a, k, b);
			sum += room[n++];
		}
	qsort(room, n, sizeof(*room), by_value);
	fprintf(f, "%u,%u,%u,%u,%.6g,%u,%u,%u,%u,%u\n", a->n_stages, active, b, mr_unit_delay(a->n_stages, active, b),
		sum / n, room[0], room[n / 10], room[n / 2], room[(size_t)n * 9 / 10], room[n - 1]);
}

static void pairs(FILE *f, const mr_aged *a)
{
	uint32_t *room = malloc(a->n_steps * sizeof(*room));

	if (!room)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for delays"), "delays");
	for (uint16_t active = 0; active < a->n_stages && a->n_stages <= MOST_PAIRED; active++)
		for (uint16_t b = 0; b < a->n_stages; b++)
			pair(f, a, active, b, room);
	free(room);
}

/* The steps as a file that the system rpd takes: measured-<S>.steps. */
static void write_record(const settings *s, const mr_aged *a)
{
	mr_strbuf text = {0};
	char name[32];

	mr_aged_print(a, &text);
	if (text.failed)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for the text of %u steps", a->n_steps), "recorded steps");
	snprintf(name, sizeof(name), "measured-%u.steps", a->n_stages);
	die_unless(mr_result_write(out_path(s, name), text.data, text.len, MR_RESULT_OWN), "recorded steps");
	mr_strbuf_fini(&text);
}

static row measure(const settings *s, uint16_t stages, FILE *paired)
{
	uint32_t n_micro = s->tiny ? 40 : (stages > 16 ? 20u : 100u) * stages;
	problem p =
		problem_open("quadratic", "", "generated", s->tiny ? "rows=64 features=64" : "rows=640 features=2048",
			     stages, s->tiny ? 8 : 64, false);
	mr_plan *plan = lm_plan("pipedream", NULL, (mr_sched_args){.n_workers = stages, .n_micro = 1});
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
	die_unless(mr_engine_create(&(mr_run_config){.graph = p.graph,
						     .partition = &p.partition,
						     .plan = plan,
						     .kernels = p.kernels,
						     .data = p.data,
						     .optim = &o,
						     .lr = &lr,
						     .place = &place,
						     .seed = 1,
						     .samples = p.samples,
						     .spin_us = UINT32_MAX,
						     .trace = true},
				    60, &e),
		   "the engine");
	die_unless(mr_engine_run(e, n_micro, NULL, NULL, &reached), "the run");
	die_unless(mr_ages_of_run(mr_engine_run_of(e), n_micro, &a), "delays");
	r = figures(a);
	pairs(paired, a);
	write_record(s, a);
	mr_aged_destroy(a);
	mr_engine_destroy(e);
	mr_place_fini(&place);
	mr_topo_fini(&topo);
	mr_plan_destroy(plan);
	problem_close(&p);
	return r;
}

static double figure(const row *r, int line)
{
	double x = r->stages;

	switch (line) {
	case 0: return r->run_max;
	case 1: return r->max;
	case 2: return r->p90;
	case 3: return r->mean;
	case 4: return r->p10 + 1; /* a logarithmic axis has no 0 */
	case 5: return mr_unit_delay_startup((uint16_t)r->stages);
	case 6: return x * x - x / 2;
	default: return (x * x - 1) / 2;
	}
}

/* What unit time gives in place of the measured @line: 0, 1 and 3. */
static double in_unit_time(const row *r, int line)
{
	return figure(r, line == 0 ? 5 : line == 1 ? 6 : 7);
}

static void fits(const settings *s, const row *r, size_t n)
{
	static const struct {
		int line;
		const char *name;
	} lines[] = {{1, "max"}, {0, "max with startup"}, {3, "mean"}};
	FILE *f = table_open(s, "measured_fit.csv");

	fprintf(f, "figure,a,b,c,worst,unit_a,unit_b,unit_c\n");
	for (int i = 0; i < 3; i++) {
		double x[MOST_ROWS], y[MOST_ROWS], u[MOST_ROWS];
		square_fit got, unit;

		for (size_t k = 0; k < n; k++) {
			x[k] = r[k].stages;
			y[k] = figure(&r[k], lines[i].line);
			u[k] = in_unit_time(&r[k], lines[i].line);
		}
		got = fit_square(x, y, n, 1);
		unit = fit_square(x, u, n, 1);
		fprintf(f, "%s,%.6g,%.6g,%.6g,%.4g,%.6g,%.6g,%.6g\n", lines[i].name, got.a, got.b, got.c, got.worst,
			unit.a, unit.b, unit.c);
		printf("  %-16s %.3f S^2 %+.3f S %+.2f (no point further off than %.0f %%); in unit time %.3f S^2 "
		       "%+.3f S %+.2f\n",
		       lines[i].name, got.a, got.b, got.c, 100 * got.worst, unit.a, unit.b, unit.c);
	}
	table_close(f);
}

static void draw(const settings *s, const row *r, size_t n)
{
	static const char *const names[] = {
		"max, startup included", "max",           "90th percentile", "mean",
		"10th percentile + 1",   "5 S^2 / 4 - S", "S^2 - S / 2",     "(S^2 - 1) / 2"};
	plot p = {.title = "Delays of PipeDream, measured in the engine; dashed: in unit time", .x_label = "stages S",
		  .y_label = "updates between a read and the update it serves", .log_x = true, .log_y = true};

	for (int i = 0; i < 8; i++) {
		series *at = plot_add(&p, names[i], n);

		at->marks = i < 5;
		at->dashed = i >= 5;
		for (size_t k = 0; k < n; k++) {
			at->x[k] = r[k].stages;
			at->y[k] = figure(&r[k], i);
		}
	}
	plot_write(&p, out_path(s, "measured.svg"));
}

void experiment_measured(const settings *s)
{
	static const uint16_t stages[MOST_ROWS] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
	size_t n = s->tiny ? 3 : MOST_ROWS;
	FILE *f = table_open(s, "measured.csv"), *paired = table_open(s, "measured_pairs.csv");
	row r[MOST_ROWS];

	fprintf(f, "stages,updates,closed_max,closed_mean,closed_startup_max,half_max,half_mean,half_p10,half_p50,half_"
		   "p90,run_max,run_mean\n");
	fprintf(paired, "stages,active,read,closed,mean,min,p10,p50,p90,max\n");
	printf("delays in the running engine, in brackets in unit time:\n");
	for (size_t i = 0; i < n; i++) {
		double x = stages[i];

		r[i] = measure(s, stages[i], paired);
		fprintf(f, "%u,%u,%u,%g,%u,%u,%.6g,%u,%u,%u,%u,%.6g\n", stages[i], r[i].updates,
			mr_unit_delay_max(stages[i]), (x * x - 1) / 2, mr_unit_delay_startup(stages[i]), r[i].max,
			r[i].mean, r[i].p10, r[i].p50, r[i].p90, r[i].run_max, r[i].run_mean);
		printf("  S %-3u %6u updates: mean %.3g (%.3g), 10 %% %u, 50 %% %u, 90 %% %u, max %u (%u), with "
		       "startup %u (%u)\n",
		       stages[i], r[i].updates, r[i].mean, (x * x - 1) / 2, r[i].p10, r[i].p50, r[i].p90, r[i].max,
		       mr_unit_delay_max(stages[i]), r[i].run_max, mr_unit_delay_startup(stages[i]));
		fflush(stdout);
	}
	table_close(f);
	table_close(paired);
	fits(s, r, n);
	draw(s, r, n);
}
