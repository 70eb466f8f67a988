/*
 * scaling.c - experiment 4: what more stages buy at a fixed simulated time, on logistic regression, with and without noise.
 *
 * n = 50 rows taken one by one, d = 512, l2 = 1e-4; 3180 steps of unit time for everybody. PipeDream; Randomized PipeDream with
 * delta = S^2 - S/2 and as many block updates; LocalSGD with R = S replicas and H = 5. The published figure adds normal noise of
 * deviation 0.5 to every coordinate of every block gradient, and shows one last value of one seed. Here: the mean of the last
 * fifth of the run, over several seeds, best step size each, with and without that noise; bands are one standard deviation over
 * seeds. The seed draws the noise and the randomized method's steps; the data are the same throughout.
 */
#include <math.h>
#include <stdlib.h>

#include "perf/rpd/experiments.h"
#include "perf/rpd/plot.h"
#include "perf/rpd/problem.h"

#define TIME 3180
#define N_METHODS 3
#define LOCAL 5
#define MOST_SEEDS 64

static const char *const names[N_METHODS] = {"PipeDream", "RPD", "LocalSGD"};

typedef struct spread {
	double mean, deviation;
	int power;
} spread;

/* Micro-batches of LocalSGD that take at least @time. */
static uint32_t micro_of_local(uint16_t stages, uint32_t time)
{
	uint32_t n = 1;

	while (mr_unit_rounds_length(stages, n, stages, LOCAL) < time)
		n++;
	return n;
}

typedef struct task {
	const settings *s;
	problem *p;
	uint32_t time, seeds;
	mr_unit_time greedy, rounds;
} task;

static double one_run(task *t, int method, int power, uint32_t seed)
{
	asking a = {.gamma = ldexp(1, power), .seed = seed + 1, .tail = 0.2};
	uint16_t stages = t->p->n_stages;
	double tail;
	curve c;

	if (method == 1) {
		mr_rpd_params draw = {.n_stages = stages, .n_steps = t->greedy.n / 2, .n_batches = t->p->n_batches,
				      .delta = mr_unit_delay_max(stages), .seed = seed};
		mr_aged *steps;

		die_unless(mr_rpd_draw(&draw, &steps), "steps");
		c = run_steps(t->p, steps, &a);
		mr_aged_destroy(steps);
	} else {
		c = run_timeline(t->p, method ? &t->rounds : &t->greedy, &a, false);
	}
	tail = c.tail;
	curve_fini(&c);
	return tail;
}

static spread over_seeds(task *t, int method, int power, uint32_t n)
{
	double x[MOST_SEEDS], sum = 0, square = 0;

	for (uint32_t i = 0; i < n; i++) {
		x[i] = one_run(t, method, power, i);
		sum += x[i] / n;
	}
	for (uint32_t i = 0; i < n; i++)
		square += (x[i] - sum) * (x[i] - sum);
	return (spread){sum, n > 1 ? sqrt(square / (n - 1)) : 0, power};
}

/* Step sizes are tried on two seeds from the largest likely one downwards, until two in a row are worse than the best; the
 * best gets all seeds. */
static spread best_of(task *t, FILE *table, int method, double noise)
{
	int high = method == 2 ? 1 : -3, low = method == 2 ? -8 : -12, worse = 0;
	uint32_t probe = t->seeds < 2 || noise == 0 ? 1 : 2, all = method != 1 && noise == 0 ? 1 : t->seeds;
	spread best = {.mean = INFINITY}, got;
	char text[16];

	for (int power = high; power >= low && worse < 2; power--) {
		got = over_seeds(t, method, power, probe);
		worse = got.mean < best.mean ? 0 : isfinite(best.mean) ? worse + 1 : 0;
		best = got.mean < best.mean ? got : best;
	}
	best = over_seeds(t, method, best.power, all);
	fprintf(table, "%g,%u,%s,%s,%u,%.9g,%.9g\n", noise, t->p->n_stages, names[method], power_text(best.power, text), all,
		best.mean, best.deviation);
	fflush(table);
	printf("  noise %-4g S %-4u %-10s %-6s %.4e +- %.1e (%u seed%s)\n", noise, t->p->n_stages, names[method], text, best.mean,
	       best.deviation, all, all == 1 ? "" : "s");
	fflush(stdout);
	return best;
}

static void measure(const settings *s, FILE *table, double noise, uint16_t stages, spread out[N_METHODS], double *f_star)
{
	char sets[64];
	problem p;
	task t = {.s = s, .p = &p, .time = s->tiny ? 60 : TIME, .seeds = s->seeds < MOST_SEEDS ? s->seeds : MOST_SEEDS};

	snprintf(sets, sizeof(sets), "l2=1e-4 noise=%g", noise);
	p = problem_open("logistic", sets, "generated",
			 s->tiny ? "kind=classes rows=10 features=24" : "kind=classes rows=50 features=512", stages, 1, true);
	*f_star = p.f_star;
	die_unless(mr_unit_greedy(stages, (t.time + 2 - 2u * stages) / 2, 0, &t.greedy), "a timeline");
	die_unless(mr_unit_rounds(stages, micro_of_local(stages, t.time), stages, LOCAL, &t.rounds), "a timeline");
	for (int m = 0; m < N_METHODS; m++)
		out[m] = best_of(&t, table, m, noise);
	mr_unit_time_fini(&t.greedy);
	mr_unit_time_fini(&t.rounds);
	problem_close(&p);
}

static void draw(const settings *s, const spread (*at)[2][N_METHODS], size_t n)
{
	plot p = {.title = "Logistic regression at 3180 steps of unit time: mean of the last fifth", .x_label = "stages S",
		  .y_label = "f", .log_x = true, .log_y = true};

	for (int noisy = 0; noisy < 2; noisy++)
		for (int m = 0; m < N_METHODS; m++) {
			char name[64];
			series *x;

			snprintf(name, sizeof(name), "%s, %s", names[m], noisy ? "noise 0.5" : "no noise");
			x = plot_add(&p, name, n);
			x->marks = true;
			x->dashed = !noisy;
			plot_band(x);
			for (size_t i = 0; i < n; i++) {
				const spread *b = &at[i][noisy][m];

				x->x[i] = 2u << i;
				x->y[i] = b->mean;
				x->low[i] = fmax(b->mean - b->deviation, b->mean / 10);
				x->high[i] = b->mean + b->deviation;
			}
		}
	plot_write(&p, out_path(s, "scaling.svg"));
}

void experiment_scaling(const settings *s)
{
	spread at[8][2][N_METHODS];
	FILE *table = table_open(s, "scaling.csv");
	double f_star = 0;
	size_t n = 0;

	fprintf(table, "noise,stages,method,gamma,seeds,tail_mean,deviation\n");
	printf("logistic regression at fixed simulated time:\n");
	for (uint32_t stages = 2; stages <= s->stages && n < 8; stages *= 2, n++)
		for (int noisy = 0; noisy < 2; noisy++)
			measure(s, table, noisy ? 0.5 : 0, (uint16_t)stages, at[n][noisy], &f_star);
	table_close(table);
	printf("  f* %.6g\n", f_star);
	draw(s, (const spread (*)[2][N_METHODS])at, n);
}
