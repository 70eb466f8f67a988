/*
 * test_asgd.c - asynchronous SGD: the server's own recursion, written out in f64, against the engine and the replay;
 * and where it goes with data that each worker has for itself, with rates that are alike and with rescaled ones.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "rig.h"

#define D 5
#define ROWS 48
#define MOST_WORKERS 4

typedef struct problem {
	double x[ROWS][D], y[ROWS], l2;
} problem;

/* What a server and its workers do, by the clock. */
typedef struct server {
	uint32_t n, time[MOST_WORKERS], batch;
	bool own, rescaled;
	double lr, momentum;
} server;

static void open_asgd(rig *r, const server *s, uint32_t steps)
{
	char times[64] = "";

	for (uint32_t i = 0, k = 0; i < s->n; i++)
		k += (uint32_t)snprintf(times + k, sizeof(times) - k, "%s%u", i ? ", " : "", s->time[i]);
	rig_init(r);
	r->model = "model.name=logistic model.l2=0.01";
	rig_sets(r, r->model);
	rig_set(r, "data.name=formula");
	rig_set(r, "data.rows=%d", ROWS);
	rig_set(r, "data.features=%d", D);
	rig_sets(r, "data.target=classes system.name=asgd train.microbatches=1");
	rig_set(r, "optimizer.name=%s", s->momentum > 0 ? "momentum" : "sgd");
	if (s->momentum > 0)
		rig_set(r, "optimizer.mu=%.17g", s->momentum);
	rig_set(r, "optimizer.lr=%.17g", s->lr);
	rig_set(r, "machine.workers=%u", s->n);
	rig_set(r, "system.times=[%s]", times);
	rig_set(r, "system.data=%s", s->own ? "own" : "shared");
	rig_set(r, "system.rescaled=%s", s->rescaled ? "true" : "false");
	rig_set(r, "train.batch=%u", s->batch);
	rig_set(r, "train.steps=%u", steps);
	rig_open(r);
}

static void read_problem(const rig *r, problem *p)
{
	const mr_dataset *d = r->s.data;

	CU_ASSERT_EQUAL_FATAL(d->n_train, ROWS);
	p->l2 = 0.01;
	for (uint64_t i = 0; i < ROWS; i++)
		d->ops->train(d, i, p->x[i], &p->y[i]);
}

/* Add the gradient of @n rows from @first on, whose loss is their mean, times @weight. */
static void add_gradient(const problem *p, uint32_t first, uint32_t n, const double *w, double weight, double *g)
{
	for (uint32_t i = first; i < first + n; i++) {
		double z = 0;

		for (int j = 0; j < D; j++)
			z += p->x[i][j] * w[j];
		for (int j = 0; j < D; j++)
			g[j] += weight * (1 / (1 + exp(-z)) - p->y[i]) * p->x[i][j] / n;
	}
	for (int j = 0; j < D; j++)
		g[j] += weight * p->l2 * w[j];
}

/* Gradients of worker @i until all workers are back at the start of the cycle, and those of all. */
static void count(const server *s, double *of, double *all)
{
	uint32_t length = 0, fits = 0;

	while (fits < s->n) { /* all times here have a small common multiple */
		length++;
		for (fits = 0; fits < s->n && length % s->time[fits] == 0;)
			fits++;
	}
	*all = 0;
	for (uint32_t i = 0; i < s->n; i++)
		*all += of[i] = (double)(length / s->time[i]);
}

/* The clock ticks; a worker whose time is up hands in its gradient, and goes on from the weights of that moment. */
static void serve(const server *s, const problem *p, uint32_t steps, double *w)
{
	double has[MOST_WORKERS][D], v[D] = {0}, of[MOST_WORKERS], all;
	uint32_t done[MOST_WORKERS] = {0}, k = 0;

	count(s, of, &all);
	for (uint32_t i = 0; i < MOST_WORKERS; i++)
		memcpy(has[i], w, sizeof(has[i]));
	for (uint32_t now = 1; k < steps; now++)
		for (uint32_t i = 0; i < s->n && k < steps; i++) {
			uint32_t part = s->own ? ROWS / s->n : ROWS, base = s->own ? i * part : 0;
			uint32_t at = (s->own ? done[i] : k) * s->batch % part;
			double g[D] = {0}, rate = s->lr * (s->rescaled ? all / (s->n * of[i]) : 1);

			if (now % s->time[i])
				continue;
			add_gradient(p, base + at, s->batch, has[i], 1, g);
			for (int j = 0; j < D; j++) {
				v[j] = s->momentum * v[j] + g[j];
				w[j] -= rate * v[j];
			}
			memcpy(has[i], w, sizeof(has[i]));
			done[i]++;
			k++;
		}
}

static void weights_of(const mr_state_list *model, double *w)
{
	size_t n = 0;

	for (size_t i = 0; i < model->n; i++)
		for (size_t k = 0; k < model->at[i].bytes / sizeof(double) && n < D; k++)
			w[n++] = ((const double *)model->at[i].data)[k];
	CU_ASSERT_EQUAL_FATAL(n, D);
}

static double distance(const double *a, const double *b)
{
	double sum = 0;

	for (int j = 0; j < D; j++)
		sum += (a[j] - b[j]) * (a[j] - b[j]);
	return sqrt(sum);
}

static void one_recursion(const server *s, uint32_t steps)
{
	rig_result got = {0}, again = {0};
	double want[D], w[D];
	problem p;
	rig r;

	open_asgd(&r, s, steps);
	read_problem(&r, &p);
	rig_replay(&r, 0, MR_REPLAY_ROUND_ROBIN, 0, &again);
	weights_of(&again.model, want);
	serve(s, &p, steps, want);
	for (uint64_t seed = 0; seed < 3; seed++) {
		rig_replay(&r, steps, seed ? MR_REPLAY_RANDOM : MR_REPLAY_LAST_FIRST, seed, &again);
		weights_of(&again.model, w);
		CU_ASSERT_TRUE(distance(w, want) < 1e-10);
	}
	rig_train(&r, steps, false, &got);
	CU_ASSERT_TRUE(rig_equal(&got, &again, true, "asgd by the engine and the replay"));
	CU_ASSERT_EQUAL(got.n_steps, steps);
	for (uint64_t i = 0; i < got.n_steps && s->rescaled; i++)
		CU_ASSERT_TRUE(got.step[i].lr > 0 && (s->n < 3 || i == 0 || got.step[0].lr < s->lr));
	rig_result_fini(&got);
	rig_result_fini(&again);
	rig_fini(&r);
}

static void the_servers_recursion(void)
{
	const server cases[] = {
		{.n = 2, .time = {1, 1}, .batch = 2, .lr = 0.2},
		{.n = 3, .time = {1, 2, 4}, .batch = 4, .lr = 0.2},
		{.n = 3, .time = {1, 2, 4}, .batch = 4, .lr = 0.2, .own = true},
		{.n = 3, .time = {1, 2, 4}, .batch = 4, .lr = 0.2, .own = true, .rescaled = true},
		{.n = 3, .time = {3, 2, 6}, .batch = 8, .lr = 0.1, .own = true, .rescaled = true, .momentum = 0.5},
		{.n = 4, .time = {5, 2, 2, 1}, .batch = 3, .lr = 0.1, .own = true, .rescaled = true},
		{.n = 4, .time = {4, 3, 6, 12}, .batch = 3, .lr = 0.1, .rescaled = true},
	};
	const uint32_t cycle[] = {2, 7, 7, 7, 6, 22, 10};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		one_recursion(&cases[i], 6 * cycle[i]);
}

/* Where the mean of the workers' objectives, weighted by @weight, is least. */
static void minimum(const server *s, const problem *p, const double *weight, double *w)
{
	memset(w, 0, D * sizeof(*w));
	for (int k = 0; k < 200000; k++) {
		double g[D] = {0};

		for (uint32_t i = 0; i < s->n; i++)
			add_gradient(p, i * (ROWS / s->n), ROWS / s->n, w, weight[i], g);
		for (int j = 0; j < D; j++)
			w[j] -= 0.5 * g[j];
	}
}

static void run_to_the_end(server s, bool rescaled, double lr, double *w)
{
	rig_result got = {0};
	rig r;

	s.rescaled = rescaled;
	s.lr = lr;
	open_asgd(&r, &s, 7000);
	rig_train(&r, 7000, false, &got);
	weights_of(&got.model, w);
	rig_result_fini(&got);
	rig_fini(&r);
}

/* The claim of Rescaled ASGD: alike rates lead to the minimum weighted by how often each worker commits, rescaled ones
 * to that of the plain mean, up to what the rate leaves. */
static void own_data_and_rates(void)
{
	const server s = {.n = 3, .time = {1, 2, 4}, .batch = ROWS / 3, .own = true};
	double of[MOST_WORKERS], all, even[MOST_WORKERS], w[D], far[2][2], by_count[D], by_mean[D];
	problem p;
	rig r;

	open_asgd(&r, &s, 7);
	read_problem(&r, &p);
	rig_fini(&r);
	count(&s, of, &all);
	for (uint32_t i = 0; i < s.n; i++) {
		of[i] /= all;
		even[i] = 1.0 / s.n;
	}
	minimum(&s, &p, of, by_count);
	minimum(&s, &p, even, by_mean);
	for (int rescaled = 0; rescaled < 2; rescaled++) {
		run_to_the_end(s, rescaled, 0.1, w);
		far[rescaled][0] = distance(w, by_count);
		far[rescaled][1] = distance(w, by_mean);
	}
	printf("from the minimum by counts and by the mean: %.4f %.4f, rescaled %.4f %.4f; these are %.4f apart\n",
	       far[0][0], far[0][1], far[1][0], far[1][1], distance(by_count, by_mean));
	CU_ASSERT_TRUE(far[0][0] < 0.05 * distance(by_count, by_mean));
	CU_ASSERT_TRUE(far[1][1] < 0.05 * distance(by_count, by_mean));
	CU_ASSERT_TRUE(far[0][1] > 0.9 * distance(by_count, by_mean));
}

static void refuse(const char *sets, const char *message)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=asgd machine.workers=3 train.microbatches=1");
	rig_sets(&r, sets);
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, message);
	rig_fini(&r);
}

static void refuse_start(const char *sets, const char *message)
{
	mr_session_opts opts = {0};
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=asgd machine.workers=3 train.microbatches=1");
	rig_sets(&r, sets);
	rig_open(&r);
	MR_CHECK_FAIL(mr_session_start(&r.s, &opts), MR_ECONFIG, message);
	rig_fini(&r);
}

static void refused(void)
{
	refuse("system.times=[1,2]", "times: 2 numbers for 3 workers: give one for each");
	refuse("system.times=[1,2,2.5]", "times: 2.5 is no whole number; only the ratios count");
	refuse("system.times=[65521,65519,65497]", "take times with a smaller common multiple");
	refuse_start("system.times=[1,2,4] train.steps=8", "every 7 steps, and a run stops only there");
	refuse("mitigation.name=dc_asgd", "dc_asgd goes with one worker a stage, and with asgd several pass");
}

void mr_suite_asgd(void);
void mr_suite_asgd(void)
{
	MR_SUITE("asgd");
	MR_TEST(the_servers_recursion);
	MR_TEST(own_data_and_rates);
	MR_TEST(refused);
}
