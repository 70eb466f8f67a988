/*
 * law.c - experiment 6: how the stale term of the bound grows with the number of stages.
 *
 * The bound (bound.c) has a term gamma^2 L^2 G^2 V. It comes from |w - z|^2 <= gamma^2 G^2 V, where z is the mixed
 * model that a step reads. V = delta^2 in the published bound: with PipeDream's delta = S^2 - S/2 this is the law S^4.
 * V = mean of sum_j v_j^2 in the sharper one. Both are counted here, and |w - z|^2 itself is measured, in units of
 * gamma^2 times the mean of |g|^2, on a random quadratic with 20 S micro-batches, for PipeDream's steps in unit time
 * and for drawn ones with that delta. Exponents are least-squares slopes of logarithms over all S of the table.
 */
#include <math.h>

#include "perf/rpd/experiments.h"
#include "perf/rpd/fit.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

#define MOST_ROWS 5

enum { DELTA_SQ, MISSED_1F1B, MISSED_DRAWN, APART_1F1B, APART_DRAWN, N_LINES };

static const char *const names[N_LINES] = {"delta^2", "sum v^2, PipeDream", "sum v^2, drawn",
					   "measured, PipeDream", "measured, drawn"};

typedef struct row {
	double stages, at[N_LINES];
} row;

/* Run @steps; @missed: sum v^2, @distance: |w - z|^2 in its unit. */
static void along(problem *p, const mr_aged *steps, double *missed, double *distance)
{
	asking a = {.gamma = ldexp(1, -9) / p->l, .tail = 0.2, .grads = true};
	curve c = run_steps(p, steps, &a);

	*missed = c.missed_sq;
	*distance = c.distance_sq / (a.gamma * a.gamma * c.mean_block);
	curve_fini(&c);
}

static row measure(const settings *s, uint16_t stages)
{
	problem p = problem_open("quadratic", "", "generated",
				 s->tiny ? "rows=40 features=16" : "rows=320 features=256", stages, s->tiny ? 5 : 16,
				 true);
	double delta = mr_unit_delay_max(stages);
	row r = {.stages = stages, .at = {delta * delta}};
	mr_rpd_params draw = {.n_stages = stages, .n_batches = p.n_batches, .delta = mr_unit_delay_max(stages)};
	mr_unit_time u;
	mr_aged *steps;

	die_unless(mr_unit_greedy(stages, 20u * stages, 0, &u), "a timeline");
	die_unless(mr_aged_of_timeline(&u, p.n_batches, &steps), "its steps");
	along(&p, steps, &r.at[MISSED_1F1B], &r.at[APART_1F1B]);
	mr_aged_destroy(steps);
	draw.n_steps = u.n / 2;
	die_unless(mr_rpd_draw(&draw, &steps), "steps");
	along(&p, steps, &r.at[MISSED_DRAWN], &r.at[APART_DRAWN]);
	mr_aged_destroy(steps);
	mr_unit_time_fini(&u);
	problem_close(&p);
	return r;
}

/* The chart, and the exponents below the table. */
static void draw(const settings *s, const row *r, size_t n)
{
	plot p = {.title = "The stale term of the bound over the number of stages",
		  .x_label = "stages S", .y_label = "V, and |w - z|^2 / (gamma^2 mean |g|^2)",
		  .log_x = true, .log_y = true};
	char name[64];

	for (int i = 0; i < N_LINES; i++) {
		double x[MOST_ROWS], y[MOST_ROWS], exponent;
		series *line;

		for (size_t k = 0; k < n; k++) {
			x[k] = r[k].stages;
			y[k] = r[k].at[i];
		}
		exponent = fit_exponent(x, y, n);
		snprintf(name, sizeof(name), "%s: S^%.2f", names[i], exponent);
		line = plot_add(&p, name, n);
		line->marks = true;
		line->dashed = i < APART_1F1B;
		for (size_t k = 0; k < n; k++) {
			line->x[k] = x[k];
			line->y[k] = y[k];
		}
		printf("  %-20s S^%.3f, from S = %g to %g S^%.3f\n", names[i], exponent, x[n - 2], x[n - 1],
		       fit_exponent(x + n - 2, y + n - 2, 2));
	}
	plot_write(&p, out_path(s, "law.svg"));
}

void experiment_law(const settings *s)
{
	static const uint16_t stages[MOST_ROWS] = {2, 4, 8, 16, 32};
	size_t n = s->tiny ? 3 : MOST_ROWS;
	FILE *f = table_open(s, "law.csv");
	row r[MOST_ROWS];

	fprintf(f, "stages,delta_squared,missed_pipedream,missed_drawn,distance_pipedream,distance_drawn\n");
	printf("the stale term over S: delta^2; sum v^2 of PipeDream, drawn; |w - z|^2 measured of PipeDream, drawn\n");
	for (size_t i = 0; i < n; i++) {
		r[i] = measure(s, stages[i]);
		fprintf(f, "%u", stages[i]);
		printf("  S %-3u", stages[i]);
		for (int k = 0; k < N_LINES; k++) {
			fprintf(f, ",%.9g", r[i].at[k]);
			printf(" %-10.5g", r[i].at[k]);
		}
		fprintf(f, "\n");
		printf("\n");
		fflush(stdout);
	}
	table_close(f);
	draw(s, r, n);
}
