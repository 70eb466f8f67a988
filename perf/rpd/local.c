/*
 * local.c - experiment 3: PipeDream against LocalSGD over the local steps H, on the tridiagonal quadratic of Nesterov's
 * bound.
 *
 * S = R = 16, d = 512, 120 minibatches of 5 rows, 5 epochs: 600 micro-batches. Curves are over steps of unit time, cut
 * where PipeDream ends (1230); each method has its own step size, the one with the lowest value there.
 */
#include <math.h>
#include <stdlib.h>

#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

typedef struct task {
	problem *p;
	FILE *table;
	plot *chart;
	uint32_t length; /* where curves are cut */
} task;

/* Timeline @u with each step size of 2^low .. 2^high; the best goes into the chart. */
static void compare(task *t, const char *name, const mr_unit_time *u, int low, int high)
{
	curve best = {0};
	double least = INFINITY;
	int power = 0;
	char text[16], label[64];
	series *s;

	for (int i = low; i <= high; i++) {
		asking a = {.gamma = ldexp(1, i), .tail = 0.2, .all = true};
		curve c = run_timeline(t->p, u, &a, false);
		size_t n = c.n < t->length ? c.n : t->length;
		double last = isfinite(c.last) && n ? c.f[n - 1] : INFINITY;

		fprintf(t->table, "%s,%s,%u,%.9g\n", name, power_text(i, text), u->length, last);
		if (!(last < least)) {
			curve_fini(&c);
			continue;
		}
		curve_fini(&best);
		best = c;
		best.n = n;
		least = last;
		power = i;
	}
	snprintf(label, sizeof(label), "%s, %s", name, power_text(power, text));
	s = plot_add(t->chart, label, best.n);
	for (size_t i = 0; i < best.n; i++) {
		s->x[i] = (double)i + 1;
		s->y[i] = best.f[i];
	}
	printf("  %-14s %-5s after %zu steps of time %.6g\n", name, text, best.n, least);
	curve_fini(&best);
}

void experiment_local(const settings *s)
{
	static const uint32_t locals[] = {2, 5, 30};
	uint16_t stages = s->tiny ? 4 : 16;
	problem p = problem_open("quadratic", "", "generated",
				 s->tiny ? "kind=tridiagonal rows=40 features=16"
					 : "kind=tridiagonal rows=600 features=512",
				 stages, 5, true);
	uint32_t n = p.n_batches * (s->tiny ? 2 : 5);
	char name[32], title[80];
	plot chart = {.title = title, .x_label = "steps of unit time",
		      .y_label = "f", .log_y = true};
	task t = {.p = &p, .chart = &chart};
	mr_unit_time u;

	snprintf(title, sizeof(title), "PipeDream and LocalSGD, tridiagonal quadratic, %u stages", stages);
	die_unless(mr_unit_greedy(stages, n, 0, &u), "a timeline");
	t.length = u.length;
	printf("tridiagonal quadratic, %u stages: L %.10g, f(0) %.6g, f* %.3g\n", stages, p.l, p.f0, p.f_star);
	t.table = table_open(s, "local.csv");
	fprintf(t.table, "method,gamma,length,f_at_%u\n", t.length);
	compare(&t, "PipeDream", &u, s->tiny ? -6 : -12, -3);
	mr_unit_time_fini(&u);
	for (int i = 0; i < 3; i++) {
		die_unless(mr_unit_rounds(stages, n, stages, locals[i], &u), "a timeline");
		snprintf(name, sizeof(name), "LocalSGD H = %u", locals[i]);
		compare(&t, name, &u, s->tiny ? -5 : -8, s->tiny ? -2 : 2);
		mr_unit_time_fini(&u);
	}
	table_close(t.table);
	plot_write(&chart, out_path(s, "local.svg"));
	problem_close(&p);
}
