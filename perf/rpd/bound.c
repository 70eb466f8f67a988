/*
 * bound.c - experiment 6: the convergence bound, with measured constants, beside measured gradient norms.
 *
 *	(1/K) sum |grad f(w^k)|^2  <=  2 S F0 / (gamma K)  +  gamma S L G^2  +  gamma^2 L^2 G^2 V
 *
 * F0 = f(0) - f*, G the largest norm of a block gradient in the run, L the smoothness. V = delta^2 in the published
 * bound, which counts updates of all blocks; V = mean of sum_j v_j^2, where v_j are the updates of block j itself that
 * a read missed, in the sharper one: what the mixed model lacks are v_j updates of block j, each of size gamma |g|.
 * Both are for randomly drawn steps; PipeDream's own order is measured beside them.
 */
#include <math.h>
#include <string.h>

#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

typedef struct line {
	double x[8], measured[8], published[8], sharper[8];
	size_t n;
} line;

static void row(problem *p, FILE *table, const char *what, uint32_t delta, const mr_aged *steps, double gamma,
		line *out)
{
	asking a = {.gamma = gamma, .tail = 0.2, .grads = true};
	curve c = run_steps(p, steps, &a);
	double s = p->n_stages, g2 = c.largest * c.largest, k = c.n_updates + 1, l = p->l;
	double rest = 2 * s * (p->f0 - p->f_star) / (gamma * k) + gamma * s * l * g2;
	double published = rest + gamma * gamma * l * l * g2 * (double)delta * delta,
	       sharper = rest + gamma * gamma * l * l * g2 * c.missed_sq;

	fprintf(table, "%s,%u,%.9g,%u,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", what, delta, gamma, c.n_updates, p->l,
		c.largest, c.missed_sq, c.mean_grad, published, sharper);
	printf("  %-9s delta %-4u G %.4g, sum v^2 %.4g: mean |grad|^2 %.4g, bound %.4g (%.0f times), per block %.4g "
	       "(%.0f times)\n",
	       what, delta, c.largest, c.missed_sq, c.mean_grad, published, published / c.mean_grad, sharper,
	       sharper / c.mean_grad);
	if (out) {
		out->x[out->n] = delta;
		out->measured[out->n] = c.mean_grad;
		out->published[out->n] = published;
		out->sharper[out->n++] = sharper;
	}
	curve_fini(&c);
}

static void add(plot *p, const char *name, const line *l, const double *y, bool dashed)
{
	series *s = plot_add(p, name, l->n);

	s->marks = true;
	s->dashed = dashed;
	for (size_t i = 0; i < l->n; i++) {
		s->x[i] = l->x[i];
		s->y[i] = y[i];
	}
}

/* The published bound is for this step size: min(1 / L, sqrt(2 F0 / (L G^2 K))), with the G of a first run. */
static double tuned(problem *p, const mr_aged *steps)
{
	asking a = {.gamma = 1 / p->l / 64, .tail = 0.2, .grads = true};
	curve c = run_steps(p, steps, &a);
	double gamma = sqrt(2 * (p->f0 - p->f_star) / (p->l * c.largest * c.largest * c.n_updates));

	curve_fini(&c);
	return fmin(1 / p->l, gamma);
}

static void measure(const settings *s, FILE *table, const char *model, const char *source, int64_t samples, line *out)
{
	static const uint32_t deltas[] = {1, 2, 4, 8, 16, 32, 64, 128};
	uint16_t stages = s->tiny ? 4 : 8;
	problem p = problem_open(model, "", "generated", source, stages, samples, true);
	uint32_t k = s->tiny ? 64 : 3200;
	mr_rpd_params draw = {.n_stages = stages, .n_steps = k, .n_batches = p.n_batches};
	double gamma;
	mr_unit_time u;
	mr_aged *steps;

	die_unless(mr_rpd_draw(&draw, &steps), "steps");
	gamma = tuned(&p, steps);
	mr_aged_destroy(steps);
	printf("%s: L %.6g, f(0) - f* %.6g, gamma %.4g\n", model, p.l, p.f0 - p.f_star, gamma);
	for (int i = 0; i < 8; i++) {
		draw.delta = deltas[i];
		die_unless(mr_rpd_draw(&draw, &steps), "steps");
		row(&p, table, model, deltas[i], steps, gamma, out);
		mr_aged_destroy(steps);
	}
	die_unless(mr_unit_greedy(stages, k / stages, 0, &u), "a timeline");
	die_unless(mr_aged_of_timeline(&u, p.n_batches, &steps), "steps");
	row(&p, table, "1f1b", mr_unit_delay_startup(stages), steps, gamma, NULL);
	mr_aged_destroy(steps);
	mr_unit_time_fini(&u);
	problem_close(&p);
}

void experiment_bound(const settings *s)
{
	FILE *table = table_open(s, "bound.csv");
	plot p = {.title = s->tiny ? "Measured gradient norms and their bounds, 4 stages, random steps"
				   : "Measured gradient norms and their bounds, 8 stages, random steps",
		  .x_label = "bound on delays, delta",
		  .y_label = "mean of |grad f|^2",
		  .log_x = true,
		  .log_y = true};
	line q = {.n = 0}, l = {.n = 0};

	fprintf(table, "objective,delta,gamma,updates,L,G,sum_v_squared,mean_gradient_squared,bound,bound_per_block\n");
	measure(s, table, "quadratic", s->tiny ? "rows=40 features=16" : "rows=500 features=128", s->tiny ? 5 : 25, &q);
	measure(s, table, "logistic",
		s->tiny ? "kind=classes rows=40 features=16" : "kind=classes rows=500 features=128", s->tiny ? 5 : 25,
		&l);
	table_close(table);
	add(&p, "quadratic: measured", &q, q.measured, false);
	add(&p, "quadratic: bound", &q, q.published, true);
	add(&p, "quadratic: per block", &q, q.sharper, true);
	add(&p, "logistic: measured", &l, l.measured, false);
	add(&p, "logistic: bound", &l, l.published, true);
	add(&p, "logistic: per block", &l, l.sharper, true);
	plot_write(&p, out_path(s, "bound.svg"));
}
