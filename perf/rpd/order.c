/*
 * order.c - experiment 2: PipeDream against Randomized PipeDream over the bound on delays, on a random quadratic.
 *
 * S = 8 stages, d = 512, 20 minibatches of 100 rows, 20 epochs: K = 3200 block updates. Each method has its own step
 * size, the power of two with the lowest last value. The experiment also checks the identity: with PipeDream's order
 * and delays the randomized method is PipeDream, so the largest difference of any value is 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

typedef struct best {
	curve c;
	int power;
} best;

typedef struct grid {
	problem *p;
	FILE *table;
	int low, high; /* powers of two */
} grid;

/* Run every step size and return the best run. Runs @steps, or @u if @steps is NULL. */
static best search(const grid *g, const char *name, const mr_aged *steps, const mr_unit_time *u)
{
	best b = {.c = {.last = INFINITY}};
	char text[16];

	for (int power = g->low; power <= g->high; power++) {
		asking a = {.gamma = ldexp(1, power), .tail = 0.2, .all = true};
		curve c = steps ? run_steps(g->p, steps, &a) : run_timeline(g->p, u, &a, true);

		fprintf(g->table, "%s,%s,%.9g,%.9g\n", name, power_text(power, text), c.last, c.tail);
		fflush(g->table);
		if (!(c.last < b.c.last)) {
			curve_fini(&c);
			continue;
		}
		curve_fini(&b.c);
		b = (best){c, power};
	}
	return b;
}

static void add(plot *p, const char *name, const best *b)
{
	char label[64], text[16];
	series *s;

	snprintf(label, sizeof(label), "%s, %s", name, power_text(b->power, text));
	s = plot_add(p, label, b->c.n);
	for (size_t i = 0; i < b->c.n; i++) {
		s->x[i] = (double)i + 1;
		s->y[i] = b->c.f[i];
	}
	printf("  %-14s %-5s last %.6g, mean of the last fifth %.6g\n", name, text, b->c.last, b->c.tail);
}

/* Largest difference between PipeDream and its steps executed one by one, in values and last weights. */
static double identity(problem *p, const mr_unit_time *u)
{
	size_t bytes = (size_t)mr_objective_coordinates(p->f) * sizeof(double);
	asking a = {.gamma = ldexp(1, -5), .tail = 0.2, .all = true};
	curve pd = run_timeline(p, u, &a, true), rpd;
	double *w = malloc(bytes), worst = 0;
	mr_aged *steps;

	if (!w)
		die_unless(mr_fail(MR_ERESOURCE, "no memory for weights"), "the identity");
	memcpy(w, mr_objective_point(p->f), bytes);
	die_unless(mr_aged_of_timeline(u, p->n_batches, &steps), "the steps of a timeline");
	rpd = run_steps(p, steps, &a);
	if (rpd.n != pd.n)
		die_unless(mr_fail(MR_EINVAL, "%zu updates are not %zu", rpd.n, pd.n), "the identity");
	for (size_t i = 0; i < pd.n; i++)
		worst = fmax(worst, fabs(pd.f[i] - rpd.f[i]));
	for (int64_t i = 0; i < mr_objective_coordinates(p->f); i++)
		worst = fmax(worst, fabs(w[i] - mr_objective_point(p->f)[i]));
	free(w);
	curve_fini(&pd);
	curve_fini(&rpd);
	mr_aged_destroy(steps);
	return worst;
}

void experiment_order(const settings *s)
{
	static const uint32_t deltas[] = {8, 30, 60, 180, 420};
	uint16_t stages = s->tiny ? 4 : 8;
	uint32_t epochs = s->tiny ? 2 : 20;
	problem p =
		problem_open("quadratic", "", "generated", s->tiny ? "rows=40 features=16" : "rows=2000 features=512",
			     stages, s->tiny ? 5 : 100, true);
	grid g = {.p = &p, .low = s->tiny ? -4 : -8, .high = s->tiny ? -3 : 0};
	char title[80];
	plot chart = {.title = title, .x_label = "block updates",
		      .y_label = "f", .log_y = true, .y_floor = 1e-13};
	mr_unit_time u;
	best b;

	snprintf(title, sizeof(title), "PipeDream and Randomized PipeDream, random quadratic, %u stages", stages);
	die_unless(mr_unit_greedy(stages, p.n_batches * epochs, 0, &u), "a timeline");
	printf("random quadratic, %u stages: L %.10g, f(0) %.6g, f* %.3g\n", stages, p.l, p.f0, p.f_star);
	g.table = table_open(s, "order.csv");
	fprintf(g.table, "method,gamma,last,tail_mean\n");
	b = search(&g, "PipeDream", NULL, &u);
	add(&chart, "PipeDream", &b);
	curve_fini(&b.c);
	for (int i = 0; i < 5; i++) {
		mr_rpd_params draw = {
			.n_stages = stages, .n_steps = u.n / 2, .n_batches = p.n_batches, .delta = deltas[i]};
		char name[32];
		mr_aged *steps;

		snprintf(name, sizeof(name), "RPD delta %u", deltas[i]);
		die_unless(mr_rpd_draw(&draw, &steps), name);
		b = search(&g, name, steps, NULL);
		add(&chart, name, &b);
		curve_fini(&b.c);
		mr_aged_destroy(steps);
	}
	table_close(g.table);
	plot_write(&chart, out_path(s, "order.svg"));
	printf("  PipeDream and RPD with its order and exact delays: largest difference %g\n", identity(&p, &u));
	mr_unit_time_fini(&u);
	problem_close(&p);
}
