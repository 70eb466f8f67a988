/*
 * test_pipemare.c - one copy of the weights with all that corrects it, on the scalar chain cut into stages of two
 * weights: several micro-batches a commit, a slow start, the correction of B, a synchronous start, recomputation.
 * Against a few lines that simulate it, by engine and by replay.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "rig.h"
#include "trajectory.h"

#define D 4
#define Q 2 /* weights of a stage */
#define N 24
#define TOLERANCE 1e-12 /* relative; both sides are f64 and differ by how products and sums are grouped */
#define LR 0.03
#define MU 0.6

static const double w0[D * Q] = {0.9, 1.1, 0.8, 1.2, 1.05, 0.95, 0.9, 1.1};
static const double xs[12] = {1, 0.5, -0.75, 1.25, 0.25, -1, 0.875, -0.5, 1.5, 0.625, -1.25, 0.375};
static const double ys[12] = {0.5, 1, -0.25, 0.75, -0.5, -1, 0.25, 0.125, 1, -0.375, -0.625, 0.5};

typedef struct sim {
	int m, slow, sync; /* micro-batches a commit; commits of T1 and of T3 */
	double memory;     /* T2; 0: off */
	bool recompute;
	double w[D * Q][N + 1], buf[D * Q], delta[D * Q], g[D * Q], loss[N], lr[N];
	int read_f[D][N], read_b[D][N];
} sim;

static double tau_of(const sim *x, int k)
{
	return (double)(D - 1 - k) / x->m;
}

/* The version that F of micro-batch @i reads at stage @k. */
static int read_f(const sim *x, int k, int i)
{
	int first = x->sync * x->m, ahead = i - first - (D - 1 - k);

	return i < first ? i / x->m : x->sync + (ahead > 0 ? ahead / x->m : 0);
}

/* The weight that B works on. */
static double back(const sim *x, int j, int v)
{
	bool corrected = x->memory > 0 && v >= x->sync;

	return x->w[j][v] - (corrected ? tau_of(x, j / Q) * x->delta[j] : 0);
}

static void commit(sim *x, int v)
{
	for (int j = 0; j < D * Q; j++) {
		double tau = tau_of(x, j / Q), lr = LR, keep = tau > 0 ? pow(x->memory, 1 / tau) : 0;
		int t = v - x->sync;

		if (t >= 0 && t < x->slow && tau > 1)
			lr /= pow(tau, 1 - (double)t / x->slow);
		x->buf[j] = MU * x->buf[j] + x->g[j] / x->m;
		x->w[j][v + 1] = x->w[j][v] - lr * x->buf[j];
		if (v >= x->sync)
			x->delta[j] = keep * x->delta[j] + (1 - keep) * (x->w[j][v + 1] - x->w[j][v]);
		x->g[j] = 0;
		x->lr[v] = lr; /* the last stage's stays */
	}
}

static void simulate(sim *x)
{
	for (int j = 0; j < D * Q; j++)
		x->w[j][0] = w0[j];
	for (int i = 0; i < N; i++) {
		double a[D * Q + 1] = {xs[i % 12]}, d;
		int v = i / x->m;

		for (int j = 0; j < D * Q; j++) {
			x->read_f[j / Q][i] = read_f(x, j / Q, i);
			x->read_b[j / Q][i] = v;
			a[j + 1] = a[j] * x->w[j][x->read_f[j / Q][i]];
		}
		d = a[D * Q] - ys[i % 12];
		x->loss[i] = d * d / 2;
		for (int j = D * Q - 1; j >= 0; j--) {
			/* What lies inside a stage is made again from its input; the last stage, where B follows F,
			 * keeps it. */
			bool again = x->recompute && j / Q < D - 1 && j % Q > 0;

			x->g[j] += d * (again ? a[j - 1] * back(x, j - 1, v) : a[j]);
			d *= back(x, j, v);
		}
		if (i % x->m == x->m - 1)
			commit(x, v);
	}
}

static void set_list(rig *r, const char *key, const double *x, int n)
{
	char line[512];
	int len = snprintf(line, sizeof(line), "%s=[", key);

	for (int i = 0; i < n; i++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, "%s%.17g", i ? ", " : "", x[i]);
	rig_set(r, "%s]", line);
}

static void open_chain(rig *r, const sim *x)
{
	rig_init(r);
	rig_sets(r, "model.name=chain data.name=numbers optimizer.name=momentum system.name=pipemare");
	rig_set(r, "model.depth=%d", D * Q);
	set_list(r, "model.init", w0, D * Q);
	set_list(r, "data.x", xs, 12);
	set_list(r, "data.y", ys, 12);
	rig_set(r, "optimizer.mu=%.17g", MU);
	rig_set(r, "optimizer.lr=%.17g", LR);
	rig_set(r, "machine.workers=%d", D);
	rig_set(r, "train.batch=%d", x->m);
	rig_set(r, "train.microbatches=%d", x->m);
	rig_set(r, "system.t1_steps=%d", x->slow);
	rig_set(r, "system.t3_steps=%d", x->sync);
	rig_set(r, "system.recompute=%s", x->recompute ? "always" : "never");
	rig_set(r, "system.t2=%s", x->memory > 0 ? "true" : "false");
	if (x->memory > 0)
		rig_set(r, "system.t2_memory=%.17g", x->memory);
	rig_open(r);
	CU_ASSERT_EQUAL_FATAL(r->s.plan->n_stages, D);
}

static void near(const sim *x, const char *what, int i, double got, double want)
{
	if (!(fabs(got - want) <= TOLERANCE * fabs(want)))
		fprintf(stderr, "\nM %d, T1 %d, T2 %g, T3 %d, recompute %d: %s %d is %.17g, expected %.17g\n", x->m,
			x->slow, x->memory, x->sync, x->recompute, what, i, got, want);
	CU_ASSERT_FATAL(fabs(got - want) <= TOLERANCE * fabs(want));
}

static void check(const sim *x, const trajectory *t)
{
	for (int k = 0; k < D; k++) {
		CU_ASSERT_EQUAL_FATAL(t->stage[k].n_scalars, Q);
		for (int i = 0; i < N; i++) {
			CU_ASSERT_EQUAL_FATAL(t->stage[k].f_version[i], (uint64_t)x->read_f[k][i]);
			CU_ASSERT_EQUAL_FATAL(t->stage[k].b_version[i], (uint64_t)x->read_b[k][i]);
			CU_ASSERT_EQUAL_FATAL(t->stage[k].applied_on[i], (uint64_t)(i / x->m));
		}
		for (int v = 0; v <= N / x->m; v++)
			for (int q = 0; q < Q; q++)
				near(x, "weight", k * Q + q, t->stage[k].weights[v * Q + q], x->w[k * Q + q][v]);
		CU_ASSERT_EQUAL(trajectory_peak_live(t, (uint16_t)k), 1);
	}
	for (int i = 0; i < N; i++)
		near(x, "loss", i, t->loss[i], x->loss[i]);
}

/* How stale the engine counts gradients to be, recomputed or not: since F. */
static void check_staleness(const sim *x, const mr_run *run)
{
	for (int k = 0; k < D; k++) {
		uint64_t want[MR_STALENESS_BINS] = {0};

		for (int i = 0; i < N; i++)
			want[i / x->m - x->read_f[k][i]]++;
		for (int i = 0; i < MR_STALENESS_BINS; i++)
			CU_ASSERT_EQUAL(run->weights[k].shard[0].staleness[i], want[i]);
		CU_ASSERT_EQUAL(run->weights[k].cap, 1);
	}
}

static void by_both(sim x)
{
	mr_session_opts opts = {.observer = trajectory_observer};
	rig_result steps = {0};
	trajectory *t;
	mr_replay *replay;
	mr_run_config c;
	rig r;

	simulate(&x);
	open_chain(&r, &x);
	MR_CHECK_OK(trajectory_create(r.s.graph, &r.s.partition, (uint32_t)x.m, (uint64_t)(N / x.m), &t));
	opts.observer_arg = t;
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	for (int again = 0; again < 2; again++) {
		if (again)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		steps.n_steps = 0;
		rig_run(&r, (uint64_t)(N / x.m), &steps);
		check(&x, t);
		check_staleness(&x, mr_engine_run_of(r.s.executor.engine));
		for (int v = 0; v < N / x.m; v++)
			CU_ASSERT_DOUBLE_EQUAL(steps.step[v].lr, x.lr[v], 1e-15);
	}
	c = mr_session_run_config(&r.s, &opts);
	MR_CHECK_OK(mr_replay_create(&c, &replay));
	MR_CHECK_OK(mr_replay_run(replay, (uint64_t)(N / x.m), MR_REPLAY_RANDOM, 5));
	check(&x, t);
	check_staleness(&x, mr_replay_run_of(replay));
	mr_replay_destroy(replay);
	rig_result_fini(&steps);
	trajectory_destroy(t);
	rig_fini(&r);
}

static void several_a_commit(void)
{
	for (int m = 1; m <= 6; m++) {
		if (N % m)
			continue;
		by_both((sim){.m = m});
		by_both((sim){.m = m, .memory = 0.135});
		by_both((sim){.m = m, .memory = 0.5, .slow = 3});
	}
}

static void synchronous_start(void)
{
	for (int m = 1; m <= 4; m++)
		for (int sync = 1; sync <= 3; sync++) {
			by_both((sim){.m = m, .sync = sync});
			by_both((sim){.m = m, .sync = sync, .memory = 0.3, .slow = 4});
		}
	by_both((sim){.m = 2, .sync = 100, .memory = 0.3, .slow = 4}); /* longer than the run */
}

static void recomputed(void)
{
	for (int m = 1; m <= 4; m++) {
		by_both((sim){.m = m, .recompute = true});
		by_both((sim){.m = m, .recompute = true, .memory = 0.5});
		by_both((sim){.m = m, .recompute = true, .memory = 0.2, .slow = 5, .sync = 2});
	}
}

/* On a network with activations between its layers: the commits of the synchronous start are those of 1f1b, to the bit.
 */
static void starts_as_1f1b(void)
{
	static const char *const systems[] = {
		"system.name=1f1b", "system.name=pipemare system.t2=false system.t3_steps=7",
		"system.name=pipemare system.t2=false system.t3_steps=6 system.recompute=always"};
	rig_result want = {0};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		rig_result got = {0};
		rig r;

		rig_init(&r);
		rig_sets(&r,
			 "model.depth=7 model.activation=gelu train.batch=8 train.microbatches=4 machine.workers=3");
		rig_sets(&r, systems[i]);
		rig_open(&r);
		rig_train(&r, 6, true, i ? &got : &want);
		if (i) {
			for (uint64_t k = 0; k < 6; k++)
				CU_ASSERT_EQUAL(got.step[k].loss, want.step[k].loss);
			CU_ASSERT_TRUE(rig_equal_weights(&got, &want, systems[i]));
		}
		rig_fini(&r);
		rig_result_fini(&got);
	}
	rig_result_fini(&want);
}

/* What recomputation is for: one micro-batch's activations a stage, in the synchronous start too. */
static void keeps_inputs_alone(void)
{
	for (int always = 0; always < 2; always++) {
		sim x = {.m = 2, .memory = 0.5, .sync = 2, .recompute = always};
		rig r;

		open_chain(&r, &x);
		for (uint16_t k = 0; k < D; k++)
			CU_ASSERT_EQUAL(r.s.plan->n_slots[k], always ? 1 : D - k);
		rig_fini(&r);
	}
}

static void refused(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=pipemare train.microbatches=2 train.batch=2 model.depth=6 machine.workers=2 "
		     "system.t3_steps=1000000 "
		     "train.microbatches=1000 train.batch=1000");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, "more than a plan may hold");
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r,
		 "system.name=pipemare train.microbatches=1 optimizer.name=momentum mitigation.name=weight_prediction");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG,
		      "F on predictions would leave none, so the correction would go too far");
	rig_fini(&r);
}

void mr_suite_pipemare(void);
void mr_suite_pipemare(void)
{
	MR_SUITE("pipemare");
	MR_TEST(several_a_commit);
	MR_TEST(synchronous_start);
	MR_TEST(recomputed);
	MR_TEST(starts_as_1f1b);
	MR_TEST(keeps_inputs_alone);
	MR_TEST(refused);
}
