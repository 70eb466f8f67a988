/*
 * test_replicas.c - models that diverge and are averaged, on the scalar chain: against recorded ones
 * (tests/golden/async), against a few lines of arithmetic that share nothing with the engine, and what a run with them
 * refuses, counts and saves.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "check.h"
#include "golden.h"
#include "trajectory.h"

#define TOLERANCE 1e-12 /* relative; both sides are f64 and differ by how sums are grouped */
#define MAX_R 6
#define D 4

/* --- the chain by hand --- */

static const double w0[D] = {0.9, 1.1, 0.8, 1.2};
static const double xs[12] = {1.0, 0.5, -0.75, 1.25, 0.25, -1.0, 0.875, -0.5, 1.5, 0.625, -1.25, 0.375};
static const double ys[12] = {0.5, 1.0, -0.25, 0.75, -0.5, -1.0, 0.25, 0.125, 1.0, -0.375, -0.625, 0.5};
#define RATE 0.05
#define MU 0.9

/* Adds the gradient of micro-batch @m at weights @w to @g. */
static void add_gradient(const double *w, uint64_t m, double *g)
{
	double a[D + 1] = {xs[m % 12]}, d;

	for (int k = 0; k < D; k++)
		a[k + 1] = w[k] * a[k];
	d = a[D] - ys[m % 12];
	for (int k = D - 1; k >= 0; k--) {
		g[k] += d * a[k];
		d *= w[k];
	}
}

typedef struct models {
	uint32_t r, share; /* micro-batches of each model in a step */
	bool apart;        /* model i has the i-th share, not every r-th micro-batch */
	double w[MAX_R][D], momentum[MAX_R][D], reference[D], velocity[D];
} models;

static void open_models(models *x, uint32_t r, uint32_t share, bool apart)
{
	*x = (models){.r = r, .share = share, .apart = apart};
	memcpy(x->reference, w0, sizeof(w0));
	for (uint32_t i = 0; i < r; i++)
		memcpy(x->w[i], w0, sizeof(w0));
}

/* Step @t of all models: momentum SGD; @mu 0: plain. Adds what model i moves to @moved. */
static void step_models(models *x, uint64_t t, double mu, double moved[MAX_R][D])
{
	for (uint32_t i = 0; i < x->r; i++) {
		double g[D] = {0};

		for (uint32_t j = 0; j < x->share; j++)
			add_gradient(x->w[i], t * x->r * x->share + (x->apart ? i * x->share + j : j * x->r + i), g);
		for (int k = 0; k < D; k++) {
			x->momentum[i][k] = mu * x->momentum[i][k] + g[k] / x->share;
			moved[i][k] -= RATE * x->momentum[i][k];
			x->w[i][k] -= RATE * x->momentum[i][k];
		}
	}
}

static double mean_of(const models *x, const double rows[MAX_R][D], int k)
{
	double sum = 0;

	for (uint32_t i = 0; i < x->r; i++)
		sum += rows[i][k];
	return sum / x->r;
}

static void average_models(models *x, const mr_average *a, const double moved[MAX_R][D])
{
	for (int k = 0; k < D; k++) {
		double mean = mean_of(x, (const double(*)[D])x->w, k), old = x->reference[k], delta = old - mean,
		       next = mean;

		if (a->outer_lr > 0) {
			x->velocity[k] = a->outer_mu * x->velocity[k] + delta;
			next = old - a->outer_lr * (delta + a->outer_mu * x->velocity[k]);
		}
		x->reference[k] = a->rule == MR_AVERAGE_ELASTIC ? old + mean_of(x, moved, k) : next;
		for (uint32_t i = 0; i < x->r; i++)
			x->w[i][k] = a->rule == MR_AVERAGE_ELASTIC ? x->w[i][k] - a->alpha * (x->w[i][k] - old) : next;
		mean = mean_of(x, (const double(*)[D])x->momentum, k);
		for (uint32_t i = 0; i < x->r && a->state; i++)
			x->momentum[i][k] = mean;
	}
}

static void near(const char *what, double got, double want)
{
	if (!(fabs(got - want) <= TOLERANCE * fabs(want)))
		fprintf(stderr, "\n%s: %.17g where %.17g is right\n", what, got, want);
	CU_ASSERT_FATAL(fabs(got - want) <= TOLERANCE * fabs(want));
}

/* --- runs --- */

static void set_list(rig *r, const char *key, const double *list, size_t n)
{
	char line[512];
	int at = snprintf(line, sizeof(line), "%s=[", key);

	for (size_t i = 0; i < n; i++)
		at += snprintf(line + at, sizeof(line) - (size_t)at, "%s%.17g", i ? ", " : "", list[i]);
	snprintf(line + at, sizeof(line) - (size_t)at, "]");
	rig_set(r, "%s", line);
}

static void set_chain(rig *r, const char *sets)
{
	rig_init(r);
	rig_sets(r,
		 "model.name=chain model.depth=4 data.name=numbers optimizer.name=sgd optimizer.lr=0.05 "
			"machine.workers=4");
	set_list(r, "model.init", w0, D);
	set_list(r, "data.x", xs, 12);
	set_list(r, "data.y", ys, 12);
	rig_sets(r, sets);
}

/* What a run that was recorded must have: every version of every model, and the reference, as by hand. */
static void check_all(const char *what, const trajectory *t, const mr_plan *plan, bool apart, double mu)
{
	const mr_average *a = &plan->contract.average;
	double moved[MAX_R][D] = {{0}};
	uint64_t v = 0;
	models x;

	open_models(&x, plan->n_pipes, t->sum, apart);
	for (uint64_t step = 0; step < t->n_steps; step++) {
		step_models(&x, step, mu, moved);
		v++;
		for (uint32_t i = 0; i < x.r; i++)
			for (int k = 0; k < D; k++)
				near(what, t->stage[i * D + (uint32_t)k].weights[v], x.w[i][k]);
		if ((step + 1) % a->every)
			continue;
		average_models(&x, a, (const double(*)[D])moved);
		memset(moved, 0, sizeof(moved));
		v++;
		for (uint32_t i = 0; i < x.r; i++)
			for (int k = 0; k < D; k++)
				near(what, t->stage[i * D + (uint32_t)k].weights[v], x.w[i][k]);
		for (int k = 0; k < D && t->stage[k].reference; k++)
			near(what, t->stage[k].reference[(step + 1) / a->every], x.reference[k]);
	}
	CU_ASSERT_EQUAL(v, t->n_versions);
}

/* Every micro-batch reads what its own model had committed last, forward and backward, and one version lives at a time.
 */
static void check_reads(const trajectory *t, const mr_plan *plan)
{
	for (uint32_t row = 0; row < (uint32_t)t->n_rows * D; row++)
		for (uint64_t m = 0; m < t->n_micro; m++) {
			const trajectory_stage *s = &t->stage[row];
			uint64_t step = m / t->need, want = step + step / plan->contract.average.every;

			if (s->f_version[m] == TRAJECTORY_NONE)
				continue;
			CU_ASSERT_EQUAL(s->f_version[m], want);
			CU_ASSERT_EQUAL(s->b_version[m], want);
			CU_ASSERT_EQUAL(s->applied_on[m], want);
		}
	for (uint16_t s = 0; s < D; s++)
		CU_ASSERT_EQUAL(trajectory_peak_live(t, s), 1);
}

typedef void check_fn(const trajectory *t, const mr_plan *plan, void *arg);

typedef struct hand {
	const char *what;
	bool apart;
	double mu;
} hand;

static void by_hand(const trajectory *t, const mr_plan *plan, void *arg)
{
	const hand *h = arg;

	check_all(h->what, t, plan, h->apart, h->mu);
	check_reads(t, plan);
}

/* By the engine, twice on the same memory and with delays, and by the replay. */
static void by_both(const char *sets, uint64_t steps, check_fn *check, void *arg)
{
	mr_session_opts opts = {.observer = trajectory_observer};
	mr_replay *replay;
	trajectory *t;
	mr_run_config c;
	rig r;

	set_chain(&r, sets);
	rig_open(&r);
	MR_CHECK_OK(trajectory_create_for(r.s.graph, &r.s.partition, r.s.plan, steps, &t));
	opts.observer_arg = t;
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	for (int again = 0; again < 2; again++) {
		if (again)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		rig_delays(again ? 100 : 0, 7);
		rig_run(&r, steps, NULL);
		rig_delays(0, 0);
		trajectory_close(t, mr_engine_run_of(r.s.executor.engine));
		check(t, r.s.plan, arg);
	}
	c = mr_session_run_config(&r.s, NULL);
	c.observer = trajectory_observer;
	c.observer_arg = t;
	MR_CHECK_OK(mr_replay_create(&c, &replay));
	MR_CHECK_OK(mr_replay_run(replay, steps, MR_REPLAY_RANDOM, 3));
	trajectory_close(t, mr_replay_run_of(replay));
	check(t, r.s.plan, arg);
	mr_replay_destroy(replay);
	trajectory_destroy(t);
	rig_fini(&r);
}

/* --- recorded --- */

static void same_models(const char *what, const trajectory *t, const mr_json *list, uint64_t v)
{
	for (size_t i = 0; i < mr_json_size(list); i++)
		for (uint32_t k = 0; k < D; k++)
			near(what, t->stage[i * D + k].weights[v], mr_json_double(mr_json_at(mr_json_at(list, i), k)));
}

static void recorded(const trajectory *t, const mr_plan *plan, void *arg)
{
	const mr_json *trace = mr_json_get(arg, "trace");
	uint64_t each = plan->contract.average.every + (uint64_t)1;

	CU_ASSERT_EQUAL_FATAL(mr_json_size(trace) * plan->contract.average.every, t->n_steps);
	for (size_t i = 0; i < mr_json_size(trace); i++) {
		const mr_json *at = mr_json_at(trace, i), *mean = mr_json_get(at, "averaged"),
			      *ref = mr_json_get(at, "reference");

		if (mean)
			same_models("before the average", t, mr_json_get(at, "before"), (i + 1) * each - 1);
		else
			same_models("after the pull", t, mr_json_get(at, "models"), (i + 1) * each);
		for (uint32_t k = 0; k < D && mean; k++)
			near("average", t->stage[k].weights[(i + 1) * each], mr_json_double(mr_json_at(mean, k)));
		for (uint32_t k = 0; k < D && ref; k++)
			near("reference", t->stage[k].reference[i + 1], mr_json_double(mr_json_at(ref, k)));
	}
	check_reads(t, plan);
}

#define LOCAL "system.name=local_sgd "
#define MOMENTUM "optimizer.name=momentum optimizer.mu=0.9 "

static void golden_trajectories(void)
{
	golden g;

	golden_load(&g);
	for (const golden_case *c = golden_replicas; c->name; c++)
		by_both(c->sets, c->steps, recorded, (void *)(uintptr_t)golden_system(&g, c->name));
	golden_fini(&g);
}

static void arithmetic_by_hand(void)
{
	by_both(LOCAL MOMENTUM "system.replicas=3 system.every=2 train.batch=6 train.microbatches=6 train.steps=8", 8,
		by_hand, &(hand){"several micro-batches a step", false, MU});
	by_both(LOCAL MOMENTUM
		"system.replicas=4 system.every=3 system.state=averaged system.placement=rotated train.batch=4 "
		"train.microbatches=4 train.steps=9",
		9, by_hand, &(hand){"averaged state", false, MU});
	by_both(LOCAL "system.replicas=4 system.every=2 system.outer=nesterov train.batch=4 train.microbatches=4 "
		      "train.steps=8",
		8, by_hand, &(hand){"outer step", false, 0});
	by_both(LOCAL MOMENTUM
		"system.replicas=2 system.every=2 system.outer=nesterov system.outer_lr=0.5 system.outer_momentum=0 "
		"train.batch=2 train.microbatches=2 train.steps=8",
		8, by_hand, &(hand){"outer step without momentum", false, MU});
	by_both("system.name=avgpipe " MOMENTUM "system.replicas=3 train.batch=6 train.microbatches=6 train.steps=6", 6,
		by_hand, &(hand){"elastic, alpha 1/R", true, MU});
}

/* --- what is evaluated, saved and counted --- */

/* The model that is saved is the reference of elastic averages, the common one of others. */
static void saves_the_model(void)
{
	static const char *const sets[] = {LOCAL "system.replicas=2 system.every=2 system.outer=nesterov train.batch=2 "
						 "train.microbatches=2 train.steps=4",
					   "system.name=avgpipe " MOMENTUM
					   "system.replicas=2 train.batch=4 train.microbatches=4 train.steps=4"};

	for (int i = 0; i < 2; i++) {
		double moved[MAX_R][D] = {{0}};
		rig_result got = {0};
		models x;
		rig r;

		set_chain(&r, sets[i]);
		rig_open(&r);
		rig_start(&r);
		rig_run(&r, 4, NULL);
		rig_collect(&r, false, &got);
		open_models(&x, 2, 1 + (uint32_t)i, i == 1);
		for (uint64_t t = 0; t < 4; t++) {
			step_models(&x, t, i ? MU : 0, moved);
			if ((t + 1) % r.s.plan->contract.average.every)
				continue;
			average_models(&x, &r.s.plan->contract.average, (const double(*)[D])moved);
			memset(moved, 0, sizeof(moved));
		}
		CU_ASSERT_EQUAL_FATAL(got.model.n, D);
		for (size_t k = 0; k < D; k++)
			near("saved", *(const double *)got.model.at[k].data, x.reference[k]);
		CU_ASSERT_EQUAL(got.optimizer.n, i ? 2 * D : D); /* momentum of each replica, or the velocity */
		CU_ASSERT_EQUAL(got.inflight.n, i ? 3 * D : 0);  /* two models and their mean */
		rig_result_fini(&got);
		rig_fini(&r);
	}
}

/* Weights and state of every replica, and what they share, as the table at the start says; all of it within what is
 * mapped. */
static void counts_its_memory(void)
{
	static const struct {
		const char *sets;
		uint32_t r, shared, states;
	} cases[] = {
		{LOCAL "system.replicas=3 train.batch=3 train.microbatches=3 train.steps=4", 3, 0, 0},
		{LOCAL MOMENTUM
		 "system.replicas=3 system.outer=nesterov train.batch=3 train.microbatches=3 train.steps=4",
		 3, 2, 1},
		{LOCAL "system.replicas=2 system.outer=nesterov system.outer_momentum=0 train.batch=2 "
		       "train.microbatches=2 train.steps=4",
		 2, 1, 0},
		{"system.name=avgpipe " MOMENTUM "system.replicas=4 train.batch=4 train.microbatches=4 train.steps=4",
		 4, 2, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_run_memory sum = {0}, m;
		uint64_t bytes = 0;
		const mr_run *run;
		rig r;

		set_chain(&r, cases[i].sets);
		rig_open(&r);
		rig_start(&r);
		run = mr_engine_run_of(r.s.executor.engine);
		for (uint8_t p = 0; p < run->n_pipes; p++)
			for (uint16_t s = 0; s < D; s++) {
				mr_run_memory_of_stage(run, p, s, &m);
				sum.weights += m.weights;
				sum.stashes += m.stashes;
				sum.optimizer += m.optimizer;
				bytes += m.weights + m.stashes + m.grads + m.optimizer + m.activations + m.boundaries +
					 m.scratch;
			}
		CU_ASSERT_EQUAL(sum.weights, 64u * D * cases[i].r); /* a scalar has a cache line of its own */
		CU_ASSERT_EQUAL(sum.stashes, 64u * D * cases[i].shared);
		CU_ASSERT_EQUAL(sum.optimizer, 64u * D * cases[i].r * cases[i].states);
		CU_ASSERT_TRUE(bytes <= mr_run_mapped_bytes(run));
		rig_fini(&r);
	}
}

static void refused_with(const char *sets, const char *message)
{
	rig r;

	set_chain(&r, sets);
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	if (!strstr(mr_error_text(), message))
		fprintf(stderr, "\n%s\n", mr_error_text());
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), message));
	rig_fini(&r);
}

/* What only a run asks for: the plan alone can be looked at. */
static void not_started_with(const char *sets, const char *message)
{
	rig r;

	set_chain(&r, sets);
	rig_open(&r);
	MR_CHECK_FAIL(mr_session_start(&r.s, NULL), MR_ECONFIG, message);
	rig_fini(&r);
}

static void refused(void)
{
	not_started_with(LOCAL "system.every=4 train.batch=4 train.microbatches=4 train.steps=10",
			 "a run stops only there: train.steps must be a multiple of 4, got 10");
	not_started_with(LOCAL "system.every=4 train.batch=4 train.microbatches=4 train.steps=8 train.eval_every=6",
			 "train.eval_every");
	not_started_with(LOCAL "system.every=4 train.batch=4 train.microbatches=4 train.steps=8 checkpoint.every=2",
			 "checkpoint.every");
	refused_with(LOCAL "system.replicas=3 train.batch=4 train.microbatches=4 train.steps=8",
		     "give a multiple of 3");
	refused_with(LOCAL "system.state=averaged optimizer.name=sgd train.batch=4 train.microbatches=4 train.steps=8",
		     "system.state: sgd keeps none that could be averaged");
	refused_with(LOCAL "system.replicas=1 train.batch=4 train.microbatches=4 train.steps=8", "at least 2 replicas");
	refused_with(LOCAL "system.outer=nesterov system.outer_lr=0 train.batch=4 train.microbatches=4 train.steps=8",
		     "outer_lr must be above 0");
}

void mr_suite_replicas(void);
void mr_suite_replicas(void)
{
	MR_SUITE("replicas");
	MR_TEST(golden_trajectories);
	MR_TEST(arithmetic_by_hand);
	MR_TEST(saves_the_model);
	MR_TEST(counts_its_memory);
	MR_TEST(refused);
}
