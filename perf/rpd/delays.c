/*
 * delays.c - experiment 1: delays of 1F1B in steady state for 2 to 64 stages, by the closed form and counted on the
 * simulated timeline.
 *
 * N = 10 S micro-batches. `half`: the second half of all updates, as in the published figure; `run`: all of them, the
 * first micro-batches included, whose delays exceed the steady bound. Fits are least squares of a S^2 + b S + c.
 */
#include "perf/rpd/experiments.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "perf/rpd/fit.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

typedef struct row {
	uint32_t stages, steady_max, startup_max, half_max, run_max;
	double steady_mean, half_mean, run_mean, p10, p50, p90;
} row;

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static row count(uint16_t s)
{
	row r = {.stages = s, .steady_max = mr_unit_delay_max(s), .startup_max = mr_unit_delay_startup(s)};
	mr_unit_time u;
	mr_aged *a;
	uint32_t n = 0, first;
	uint32_t *half;

	die_unless(mr_unit_greedy(s, 10u * s, 0, &u), "a timeline");
	die_unless(mr_aged_of_timeline(&u, 10u * s, &a), "its delays");
	half = malloc((size_t)a->n_steps * s * sizeof(*half));
	if (!half)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for delays"), "delays");
	first = a->n_steps / 2;
	for (uint32_t k = 0; k < a->n_steps; k++)
		for (uint16_t b = 0; b < s; b++) {
			uint32_t d = mr_aged_delay(a, k, b);

			r.run_mean += d;
			r.run_max = d > r.run_max ? d : r.run_max;
			if (k < first)
				continue;
			r.half_mean += d;
			r.half_max = d > r.half_max ? d : r.half_max;
			half[n++] = d;
		}
	r.run_mean /= (double)a->n_steps * s;
	r.half_mean /= n;
	qsort(half, n, sizeof(*half), by_value);
	r.p10 = half[n / 10];
	r.p50 = half[n / 2];
	r.p90 = half[(size_t)n * 9 / 10];
	for (uint16_t i = 0; i < s; i++)
		for (uint16_t b = 0; b < s; b++)
			r.steady_mean += mr_unit_delay(s, i, b) / (double)s / s;
	free(half);
	mr_aged_destroy(a);
	mr_unit_time_fini(&u);
	return r;
}

/* Least-squares fit of the values that @y returns. */
static square_fit fit(const row *r, size_t n, double (*y)(const row *))
{
	double x[64], at[64];

	for (size_t i = 0; i < n; i++) {
		x[i] = r[i].stages;
		at[i] = y(&r[i]);
	}
	return fit_square(x, at, n, 0);
}

static double half_max(const row *r)
{
	return r->half_max;
}

static double half_mean(const row *r)
{
	return r->half_mean;
}

static double startup(const row *r)
{
	return r->run_max;
}

static double tenth(const row *r)
{
	return r->p10 + 1; /* a logarithmic axis has no 0 */
}

static void draw(const settings *s, const row *r, size_t n)
{
	static const struct {
		const char *name;
		double (*y)(const row *);
	} lines[] = {{"max, startup included", startup},
		     {"max", half_max},
		     {"mean", half_mean},
		     {"10th percentile + 1", tenth}};
	plot p = {.title = "Delays of 1F1B in unit time, N = 10 S", .x_label = "stages S",
		  .y_label = "updates between a read and the update it serves", .log_x = true, .log_y = true};

	for (int i = 0; i < 4; i++) {
		series *at = plot_add(&p, lines[i].name, n);

		at->marks = n < 20;
		for (size_t k = 0; k < n; k++) {
			at->x[k] = r[k].stages;
			at->y[k] = lines[i].y(&r[k]);
		}
	}
	for (int i = 0; i < 2; i++) {
		series *at = plot_add(&p, i ? "(S^2 - 1) / 2" : "S^2 - S / 2", n);

		at->dashed = true;
		for (size_t k = 0; k < n; k++) {
			double x = at->x[k] = r[k].stages;

			at->y[k] = i ? (x * x - 1) / 2 : x * x - x / 2;
		}
	}
	plot_write(&p, out_path(s, "delays.svg"));
}

void experiment_delays(const settings *s)
{
	uint16_t most = s->tiny ? 6 : 64;
	row *r = calloc(most, sizeof(*r));
	square_fit a, b, c;
	size_t n = 0;
	FILE *f;

	for (uint16_t i = 2; r && i <= most; i++)
		r[n++] = count(i);
	f = table_open(s, "delays.csv");
	fprintf(f, "stages,closed_max,closed_mean,closed_startup_max,half_max,half_mean,half_p10,half_p50,half_p90,run_"
		   "max,run_mean\n");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%u,%u,%.17g,%u,%u,%.17g,%.17g,%.17g,%.17g,%u,%.17g\n", r[i].stages, r[i].steady_max,
			r[i].steady_mean, r[i].startup_max, r[i].half_max, r[i].half_mean, r[i].p10, r[i].p50, r[i].p90,
			r[i].run_max, r[i].run_mean);
	table_close(f);
	a = fit(r, n, half_max);
	b = fit(r, n, half_mean);
	c = fit(r, n, startup);
	for (size_t i = 0; i < n; i++)
		if (r[i].half_max != r[i].steady_max || r[i].run_max != r[i].startup_max)
			printf("S = %u: counted %u and %u, in closed form %u and %u\n", r[i].stages, r[i].half_max,
			       r[i].run_max, r[i].steady_max, r[i].startup_max);
	printf("delays of 2 to %u stages: max %.4f S^2 %+.4f S %+.2f, mean %.4f S^2 %+.4f S %+.2f, max with startup "
	       "%.4f S^2 %+.4f S %+.2f\n",
	       most, a.a, a.b, a.c, b.a, b.b, b.c, c.a, c.b, c.c);
	draw(s, r, n);
	free(r);
}
