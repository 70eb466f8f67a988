/*
 * published.c - recomputes the numbers of the published figures from the data of the published figures.
 *
 * Needs the arrays behind the figures in a folder (--data): little-endian f64, row by row, and a recorded sequence of
 * steps, as i32 rows of stage, minibatch and delays; the authors' code writes them with numpy's tofile. Missing
 * files are skipped with a message. The recorded values (recorded.h) were computed by that code; ours differ by the
 * order of sums. published.csv has all of them; in the charts lines are ours and dots are recorded.
 *
 *	quad_random_n2000_d512_{X,y}.f64, rpd_fig1_S8_delta60_seed0_seq_K3200x10.i32      published.svg: PipeDream and
 *	                                                                                  RPD
 *	quad_tridiag_n600_d512_{X,y}.f64                                                 published_local.svg: LocalSGD
 *	                                                                                 over H
 *	logistic_n50_d512_{X,y}.f64, noise_PD_S2_lr2m6_N1589.f64                         published_scaling.svg: over S,
 *	                                                                                 no noise
 *
 * The noise is added to gradients in the order of the backward operations. Noise on the other published points of that
 * figure depends on the runs that came before them on the same objective, so those have no recorded noise.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"
#include "perf/rpd/recorded.h"

#define MOST_BYTES ((size_t)64 << 20)

typedef struct task {
	const settings *s;
	FILE *table;
	double worst; /* relative */
	double f0;    /* of the current problem */
} task;

static void compare(task *t, const char *what, double got, double want)
{
	double d = fabs(got - want) / fabs(want);

	fprintf(t->table, "\"%s\",%.17g,%.17g,%.3g\n", what, want, got, d);
	printf("  %-38s recorded %-16.12g here %-16.12g off by %.1e of it\n", what, want, got, d);
	fflush(stdout);
	t->worst = fmax(t->worst, d);
}

static char *path_of(const task *t, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", t->s->data, name);
	return path;
}

static bool there(const task *t, const char *name)
{
	FILE *f = fopen(path_of(t, name), "rb");

	if (!f) {
		printf("  skipped: %s: %s\n", path_of(t, name), strerror(errno));
		return false;
	}
	fclose(f);
	return true;
}

static problem open_arrays(const task *t, const char *model, const char *sets, const char *stem, unsigned rows,
			   uint16_t stages, int64_t samples, bool facts)
{
	char data[3000];

	snprintf(data, sizeof(data), "matrix=%s/%s_X.f64 targets=%s/%s_y.f64 rows=%u features=512", t->s->data, stem,
		 t->s->data, stem, rows);
	return problem_open(model, sets, "arrays", data, stages, samples, facts);
}

/* The recorded sequence of @n steps over @stages stages. */
static mr_aged *read_steps(const task *t, const char *name, uint16_t stages, uint32_t n)
{
	int32_t row[66];
	size_t len, each = (2u + stages) * sizeof(*row);
	mr_aged *a;
	char *text;

	die_unless(mr_file_read(path_of(t, name), MOST_BYTES, &text, &len), name);
	if (len != n * each)
		die_unless(mr_fail(MR_EDATA, "%zu bytes are not %u steps of %u stages", len, n, stages), name);
	die_unless(mr_aged_create(stages, n, &a), name);
	for (uint32_t k = 0; k < n; k++) {
		memcpy(row, text + k * each, each);
		a->stage[k] = (uint16_t)row[0];
		a->batch[k] = (uint32_t)row[1];
		for (uint16_t b = 0; b < stages; b++)
			a->delay[(size_t)k * stages + b] = (uint32_t)row[2 + b];
	}
	die_unless(mr_aged_index(a), name);
	free(text);
	return a;
}

/* Plot the curve @c as a line and its recorded values, every @every-th one from @first on, as dots; compare them and
 * keep the largest difference. */
static void against(task *t, plot *chart, const char *figure, const recorded *r, const curve *c, size_t first,
		    size_t every)
{
	char what[96], text[16];
	series *line, *dots;
	double worst = 0;
	size_t n = 0;

	while (n < sizeof(r->at) / sizeof(r->at[0]) && r->at[n] != 0)
		n++;
	snprintf(what, sizeof(what), "%s, %s", r->name, power_text(r->power, text));
	line = plot_add(chart, what, c->n);
	for (size_t i = 0; i < c->n; i++) {
		line->x[i] = (double)i + 1;
		line->y[i] = c->f[i];
	}
	snprintf(what, sizeof(what), "recorded");
	dots = plot_add(chart, what, n);
	dots->dots = true;
	for (size_t i = 0; i < n; i++) {
		size_t at = first + i * every;
		double here = at ? c->f[at - 1] : t->f0;

		dots->x[i] = (double)at;
		dots->y[i] = r->at[i];
		worst = fmax(worst, fabs(here - r->at[i]) / r->at[i]);
	}
	snprintf(what, sizeof(what), "%s: %s %s", figure, r->name, text);
	compare(t, what, c->n ? c->f[c->n - 1] : INFINITY, r->last);
	fprintf(t->table, "\"%s: %zu values on the way\",,,%.3g\n", what, n, worst);
	t->worst = fmax(t->worst, worst);
}

static void order(task *t)
{
	const char *sequence = "rpd_fig1_S8_delta60_seed0_seq_K3200x10.i32";
	plot chart = {.title = "The published random quadratic, 8 stages",
		      .x_label = "block updates",
		      .y_label = "f",
		      .log_y = true,
		      .y_floor = 1e-9};
	mr_unit_time u;
	mr_aged *steps;
	problem p;

	if (!there(t, "quad_random_n2000_d512_X.f64") || !there(t, sequence))
		return;
	p = open_arrays(t, "quadratic", "", "quad_random_n2000_d512", 2000, 8, 100, true);
	t->f0 = p.f0;
	compare(t, "order: L", p.l, RECORDED_ORDER_L);
	die_unless(mr_unit_greedy(8, 400, 0, &u), "a timeline");
	steps = read_steps(t, sequence, 8, 3200);
	for (size_t i = 0; i < sizeof(recorded_order) / sizeof(recorded_order[0]); i++) {
		const recorded *r = &recorded_order[i];
		asking a = {.gamma = ldexp(1, r->power), .tail = 0.2, .all = true};
		curve c = strcmp(r->name, "PipeDream") ? run_steps(&p, steps, &a) : run_timeline(&p, &u, &a, true);

		against(t, &chart, "order", r, &c, 400, 400);
		curve_fini(&c);
	}
	plot_write(&chart, out_path(t->s, "published.svg"));
	mr_aged_destroy(steps);
	mr_unit_time_fini(&u);
	problem_close(&p);
}

static void local(task *t)
{
	plot chart = {.title = "The published tridiagonal quadratic, 16 stages",
		      .x_label = "steps of unit time",
		      .y_label = "f",
		      .log_y = true};
	problem p;

	if (!there(t, "quad_tridiag_n600_d512_X.f64"))
		return;
	p = open_arrays(t, "quadratic", "", "quad_tridiag_n600_d512", 600, 16, 5, true);
	t->f0 = p.f0;
	compare(t, "local: L", p.l, RECORDED_LOCAL_L);
	for (size_t i = 0; i < sizeof(recorded_local) / sizeof(recorded_local[0]); i++) {
		const recorded *r = &recorded_local[i];
		mr_unit_time u;
		curve c;

		die_unless(r->local ? mr_unit_rounds(16, 600, 16, r->local, &u) : mr_unit_greedy(16, 600, 0, &u),
			   "a timeline");
		c = run_timeline(&p, &u, &(asking){.gamma = ldexp(1, r->power), .tail = 0.2, .all = true}, false);
		c.n = c.n < 1229 ? c.n : 1229; /* where the recorded curves are cut */
		against(t, &chart, "local", r, &c, 0, 100);
		curve_fini(&c);
		mr_unit_time_fini(&u);
	}
	plot_write(&chart, out_path(t->s, "published_local.svg"));
	problem_close(&p);
}

/* The last value of one run on the published logistic regression. */
static double logistic_last(task *t, const recorded_scaled *r, bool local_sgd, const asking *a)
{
	problem p = open_arrays(t, "logistic", "l2=1e-4", "logistic_n50_d512", 50, r->stages, 1, false);
	mr_unit_time u;
	double last;
	curve c;

	die_unless(local_sgd ? mr_unit_rounds(r->stages, r->micro, r->stages, 5, &u)
			     : mr_unit_greedy(r->stages, r->micro, 0, &u),
		   "a timeline");
	c = run_timeline(&p, &u, a, false);
	last = c.last;
	curve_fini(&c);
	mr_unit_time_fini(&u);
	problem_close(&p);
	return last;
}

/* All step sizes of each S; the best of them go into the chart, ours as a line and the recorded ones as dots. */
static void over_stages(task *t, plot *chart, const char *name, const recorded_scaled *r, size_t n, bool local_sgd)
{
	series *line = plot_add(chart, name, n), *dots = plot_add(chart, "recorded", n);
	char what[96], text[16];

	dots->dots = true;
	for (size_t i = 0; i < n; i++) {
		line->x[i] = dots->x[i] = r[i].stages;
		line->y[i] = dots->y[i] = INFINITY;
		for (int k = 0; k < 11 && r[i].last[k] != 0; k++) {
			int power = r[i].high - k;
			double got =
				logistic_last(t, &r[i], local_sgd, &(asking){.gamma = ldexp(1, power), .tail = 0.2});

			snprintf(what, sizeof(what), "scaling: %s S = %u %s", name, r[i].stages,
				 power_text(power, text));
			compare(t, what, got, r[i].last[k]);
			line->y[i] = fmin(line->y[i], got);
			dots->y[i] = fmin(dots->y[i], r[i].last[k]);
		}
	}
}

static void noisy(task *t)
{
	const char *name = "noise_PD_S2_lr2m6_N1589.f64";
	const recorded_scaled run = {.stages = 2, .micro = 1589};
	char *bytes;
	size_t len;

	if (!there(t, name))
		return;
	die_unless(mr_file_read(path_of(t, name), MOST_BYTES, &bytes, &len), name);
	compare(t, "scaling: PipeDream S = 2 2^-6, noisy",
		logistic_last(t, &run, false,
			      &(asking){.gamma = ldexp(1, -6),
					.tail = 0.2,
					.noise = (const double *)(const void *)bytes,
					.n_noise = len / sizeof(double)}),
		RECORDED_NOISY);
	free(bytes);
}

static void scaling(task *t)
{
	plot chart = {.title = "The published logistic regression without noise, best step size",
		      .x_label = "stages S",
		      .y_label = "f",
		      .log_x = true,
		      .high_only = true};
	problem p;

	if (!there(t, "logistic_n50_d512_X.f64"))
		return;
	p = open_arrays(t, "logistic", "l2=1e-4", "logistic_n50_d512", 50, 2, 1, true);
	compare(t, "scaling: f*", p.f_star, RECORDED_SCALING_MINIMUM);
	problem_close(&p);
	over_stages(t, &chart, "PipeDream", recorded_pipedream,
		    sizeof(recorded_pipedream) / sizeof(recorded_pipedream[0]), false);
	over_stages(t, &chart, "LocalSGD H = 5", recorded_local_sgd,
		    sizeof(recorded_local_sgd) / sizeof(recorded_local_sgd[0]), true);
	plot_write(&chart, out_path(t->s, "published_scaling.svg"));
	noisy(t);
}

void experiment_published(const settings *s)
{
	task t = {.s = s};

	if (!s->data) {
		printf("published: the arrays behind the figures are needed: give their folder with --data DIR\n");
		return;
	}
	t.table = table_open(s, "published.csv");
	fprintf(t.table, "what,recorded,here,relative_difference\n");
	printf("recorded values of the published figures:\n");
	order(&t);
	local(&t);
	scaling(&t);
	table_close(t.table);
	printf("  largest relative difference, values on the way included, %.2e\n", t.worst);
}
