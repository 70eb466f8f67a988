/*
 * test_mitigated.c - mitigations of stale gradients in whole runs: the scalar chain against a few lines that simulate
 * it, by engine and by replay; runs without staleness, which they must leave alone to the bit; and what is refused.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "rig.h"
#include "trajectory.h"

#define D 4
#define N 12
#define TOLERANCE 1e-12 /* relative; both sides are f64 and differ by how products are grouped */
#define LR 0.05
#define MU 0.6

static const double w0[D] = {0.9, 1.1, 0.8, 1.2};
static const double xs[N] = {1, 0.5, -0.75, 1.25, 0.25, -1, 0.875, -0.5, 1.5, 0.625, -1.25, 0.375};
static const double ys[N] = {0.5, 1, -0.25, 0.75, -0.5, -1, 0.25, 0.125, 1, -0.375, -0.625, 0.5};

/* What the simulation does beside plain pipelined SGD with momentum; every field by its formula. */
typedef struct sim {
	const char *name; /* of the mitigation */
	bool stash;
	double c, by_delay;     /* error_feedback */
	const char *optimizer;  /* NULL: momentum */
	double w[D][N + 1], buf[D], mean[D], lr[D][N], squares[D], last[D];
} sim;

static double mu_of(const sim *x, int tau)
{
	if (!strcmp(x->name, "delayed_nesterov"))
		return MU + tau * (0.99 - MU) / D;
	return MU;
}

/* gap_aware with memory 0.9 (mean: of squared steps), dc_asgd with lambda 2. */
static double soften(const sim *x, int k, int m, int read, double g)
{
	double way = x->w[k][m] - x->w[k][read];

	if (!strcmp(x->name, "gap_aware") && way != 0)
		return g / (1 + fabs(way) / sqrt(x->mean[k] / (1 - pow(0.9, m))));
	if (!strcmp(x->name, "dc_asgd"))
		return g + 2 * g * g * way;
	return g;
}

/* Adam with decay 0.1 and memories 0.9 and 0.95; lion with the same, and its memories 0.9 and 0.99. */
static double step_of(sim *x, int k, int m, double g)
{
	double old = x->buf[k], w = x->w[k][m], u;

	if (!strcmp(x->optimizer, "lion")) {
		u = 0.9 * old + 0.1 * g;
		x->buf[k] = 0.99 * old + 0.01 * g;
		return LR * (u > 0) - LR * (u < 0) + LR * 0.1 * w;
	}
	x->buf[k] = 0.9 * old + 0.1 * g;
	x->squares[k] = 0.95 * x->squares[k] + 0.05 * g * g;
	u = x->buf[k] / (1 - pow(0.9, m + 1)) / (sqrt(x->squares[k] / (1 - pow(0.95, m + 1))) + 1e-8);
	return LR * u + LR * 0.1 * w;
}

/* The step u, and behind the first one c (u - u before it) more, at stages with delay. */
static void feed_back(sim *x, int k, int m, double u)
{
	int tau = D - 1 - k;

	x->w[k][m + 1] = x->w[k][m] - u;
	if (m > 0 && tau > 0)
		x->w[k][m + 1] -= x->c * (x->by_delay > 0 ? tau : 1) * (u - x->last[k]);
	x->last[k] = u;
}

/* Nesterov's momentum, which suits all, but where there is another optimizer. */
static void commit(sim *x, int k, int m, int read, double g)
{
	int age = m - read, tau = D - 1 - k;
	double mu = mu_of(x, tau), lr = LR;

	g = soften(x, k, m, read, g);
	if (!strcmp(x->name, "staleness_aware"))
		lr /= age + 1;
	if (!strcmp(x->name, "delayed_nesterov") && m < 6 && tau > 1)
		lr /= pow(tau, 1 - m / 6.0);
	x->lr[k][m] = lr;
	if (x->optimizer) {
		feed_back(x, k, m, step_of(x, k, m, g));
		return;
	}
	x->buf[k] = mu * x->buf[k] + g;
	x->w[k][m + 1] = x->w[k][m] - lr * (g + mu * x->buf[k]);
	if (!strcmp(x->name, "error_feedback"))
		feed_back(x, k, m, x->w[k][m] - x->w[k][m + 1]);
	x->mean[k] = 0.9 * x->mean[k] + 0.1 * pow(x->w[k][m + 1] - x->w[k][m], 2);
}

static void simulate(sim *x)
{
	for (int k = 0; k < D; k++)
		x->w[k][0] = w0[k], x->buf[k] = x->mean[k] = x->squares[k] = x->last[k] = 0;
	for (int m = 0; m < N; m++) {
		double a[D + 1] = {xs[m]}, d;
		int read[D];

		for (int k = 0; k < D; k++) {
			read[k] = m > D - 1 - k ? m - (D - 1 - k) : 0;
			a[k + 1] = a[k] * x->w[k][read[k]];
		}
		d = a[D] - ys[m];
		for (int k = D - 1; k >= 0; k--) {
			double g = d * a[k];

			d *= x->w[k][x->stash ? read[k] : m];
			commit(x, k, m, read[k], g);
		}
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

static void open_chain(rig *r, const sim *x, const char *options)
{
	rig_init(r);
	rig_sets(r, "model.name=chain data.name=numbers train.batch=1 train.microbatches=1 system.name=pipedream");
	if (x->optimizer)
		rig_set(r, "optimizer.name=%s", x->optimizer);
	else
		rig_sets(r, "optimizer.name=momentum optimizer.nesterov=true");
	rig_set(r, "model.depth=%d", D);
	set_list(r, "model.init", w0, D);
	set_list(r, "data.x", xs, N);
	set_list(r, "data.y", ys, N);
	if (!x->optimizer)
		rig_set(r, "optimizer.mu=%.17g", MU);
	rig_set(r, "optimizer.lr=%.17g", LR);
	rig_set(r, "machine.workers=%d", D);
	rig_set(r, "system.stashing=%s", x->stash ? "true" : "false");
	rig_set(r, "mitigation.name=%s", x->name);
	rig_sets(r, options);
	rig_open(r);
}

static void check_weights(const sim *x, const trajectory *t)
{
	for (uint16_t k = 0; k < D; k++)
		for (int v = 0; v <= N; v++) {
			double want = x->w[k][v], got = t->stage[k].weights[v];

			if (!(fabs(got - want) <= TOLERANCE * fabs(want)))
				fprintf(stderr, "\n%s: version %d of stage %u is %.17g, expected %.17g\n", x->name, v,
					k, got, want);
			CU_ASSERT_FATAL(fabs(got - want) <= TOLERANCE * fabs(want));
		}
}

static void by_both_as(sim x, const char *options)
{
	mr_session_opts opts = {.observer = trajectory_observer};
	mr_replay *replay;
	mr_run_config c;
	rig r;

	simulate(&x);
	open_chain(&r, &x, options);
	for (int by = 0; by < 2; by++) {
		trajectory *t;

		MR_CHECK_OK(trajectory_create(r.s.graph, &r.s.partition, 1, N, &t));
		opts.observer_arg = t;
		c = mr_session_run_config(&r.s, &opts);
		if (by == 0) {
			rig_result steps = {0};

			MR_CHECK_OK(mr_session_start(&r.s, &opts));
			rig_run(&r, N, &steps);
			for (int m = 0; m < N; m++) /* the rate that is reported is the last stage's */
				CU_ASSERT_DOUBLE_EQUAL(steps.step[m].lr, x.lr[D - 1][m], 1e-15);
			rig_result_fini(&steps);
		} else {
			MR_CHECK_OK(mr_replay_create(&c, &replay));
			MR_CHECK_OK(mr_replay_run(replay, N, MR_REPLAY_RANDOM, 5));
			mr_replay_destroy(replay);
		}
		check_weights(&x, t);
		trajectory_destroy(t);
	}
	rig_fini(&r);
}

static void by_both(const char *name, bool stash, const char *options)
{
	by_both_as((sim){.name = name, .stash = stash}, options);
}

static void plain(void)
{
	by_both("none", true, "");
	by_both("none", false, "");
}

static void staleness_aware(void)
{
	by_both("staleness_aware", true, "");
	by_both("staleness_aware", false, "");
}

static void gap_aware(void)
{
	by_both("gap_aware", true, "mitigation.memory=0.9");
	by_both("gap_aware", false, "mitigation.memory=0.9");
}

static void dc_asgd(void)
{
	by_both("dc_asgd", true, "mitigation.lambda=2");
	by_both("dc_asgd", false, "mitigation.lambda=2");
}

static void delayed_nesterov(void)
{
	by_both("delayed_nesterov", true, "mitigation.t1_steps=6");
	by_both("delayed_nesterov", false, "mitigation.t1_steps=6");
}

/* With one copy the step overwrites what it is measured from. */
static void error_feedback(void)
{
	for (int stash = 0; stash < 2; stash++) {
		sim x = {.name = "error_feedback", .stash = stash, .c = 1};

		by_both_as(x, "");
		x.c = 0.7;
		by_both_as(x, "mitigation.c=0.7");
		x.c = 0.4;
		x.by_delay = 1;
		by_both_as(x, "mitigation.c=0.4 mitigation.by_delay=true");
		x.by_delay = 0;
		x.optimizer = "adamw";
		by_both_as(x, "mitigation.c=0.4 optimizer.beta1=0.9 optimizer.beta2=0.95 optimizer.weight_decay=0.1 "
			      "optimizer.decay_scope=all");
		x.optimizer = "lion";
		by_both_as(x, "mitigation.c=0.4 optimizer.weight_decay=0.1 optimizer.decay_scope=all");
	}
}

/* What F read is kept where it would not be: with one copy, stage k of D then has D - k; where stashes hold it anyhow,
 * nothing more. */
static void kept(void)
{
	for (int stash = 0; stash < 2; stash++)
		for (int keeps = 0; keeps < 2; keeps++) {
			sim x = {.name = keeps ? "gap_aware" : "staleness_aware", .stash = stash};
			rig r;

			open_chain(&r, &x, "");
			for (uint16_t k = 0; k < D; k++)
				CU_ASSERT_EQUAL(r.s.plan->n_versions[k], stash || keeps ? D - k : 1);
			for (uint16_t k = 0; k < D; k++)
				CU_ASSERT_EQUAL(mr_plan_staleness(r.s.plan, k), D - 1u - k);
			rig_fini(&r);
		}
}

static const char *const all[] = {
	"mitigation.name=staleness_aware",
	"mitigation.name=gap_aware",
	"mitigation.name=dc_asgd",
	"mitigation.name=dc_asgd mitigation.adaptive=true",
	"mitigation.name=delayed_nesterov mitigation.t1_steps=9",
	"mitigation.name=error_feedback",
	"optimizer.name=momentum mitigation.name=spike_compensation",
	"optimizer.name=momentum mitigation.name=spike_compensation mitigation.predict=true",
	"optimizer.name=momentum mitigation.name=weight_prediction",
};

#define N_ALL (sizeof(all) / sizeof(all[0]))

/* The same without: by the optimizer that the mitigation was given. */
static const char *plain_of(const char *mitigation)
{
	return strstr(mitigation, "optimizer") ? "optimizer.name=momentum" : "";
}

static void train(const char *sets, const char *mitigation, rig_result *out)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "optimizer.name=nadam");
	rig_sets(&r, sets);
	rig_sets(&r, mitigation);
	rig_open(&r);
	rig_train(&r, 8, true, out);
	rig_fini(&r);
}

static bool same_model(const rig_result *a, const rig_result *b)
{
	bool same = a->n_steps == b->n_steps && a->model.n == b->model.n;

	for (uint64_t k = 0; same && k < a->n_steps; k++)
		same = a->step[k].loss == b->step[k].loss;
	for (size_t k = 0; same && k < a->model.n; k++)
		same = !memcmp(a->model.at[k].data, b->model.at[k].data, b->model.at[k].bytes);
	return same;
}

/* Nothing stale: the same bits as without, but for the state that a mitigation keeps. */
static void fresh(void)
{
	static const char *const systems[] = {
		"system.name=gpipe",
		"system.name=1f1b train.clip=0.2",
		"system.name=sequential",
		"system.name=pipedream train.microbatches=1 machine.workers=1",
	};

	for (size_t s = 0; s < sizeof(systems) / sizeof(systems[0]); s++) {
		for (size_t i = 0; i < N_ALL; i++) {
			rig_result want = {0}, got = {0};

			train(systems[s], plain_of(all[i]), &want);
			train(systems[s], all[i], &got);
			CU_ASSERT_TRUE(same_model(&got, &want));
			rig_result_fini(&got);
			rig_result_fini(&want);
		}
	}
}

/* And where something is stale, each of them does something. */
static void stale(void)
{
	static const char system[] = "system.name=pipedream train.microbatches=1 machine.workers=3";
	for (size_t i = 0; i < N_ALL; i++) {
		rig_result want = {0}, got = {0};

		train(system, plain_of(all[i]), &want);
		train(system, all[i], &got);
		CU_ASSERT_NOT_EQUAL(got.step[got.n_steps - 1].loss, want.step[want.n_steps - 1].loss);
		rig_result_fini(&got);
		rig_result_fini(&want);
	}
}

/* Without clipping a correction, the step and what follows it go over the weights piece by piece; with a limit that
 * nothing reaches, one after the other. Pieces end inside of the matrices here. */
static void one_pass(void)
{
	static const char *const types[] = {"f32", "f64"};
	static const char *const optimizers[] = {"sgd", "momentum", "nadam", "adamw"};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t k = 0; k < 8 && strstr(all[i], "_a"); k++) {
			rig_result want = {0}, got = {0};
			char sets[300];

			snprintf(sets, sizeof(sets), "precision=%s model.width=130 model.depth=2 system.name=pipedream "
				 "train.microbatches=1 optimizer.name=%s", types[k % 2], optimizers[k / 2]);
			train(sets, all[i], &got);
			snprintf(sets + strlen(sets), sizeof(sets) - strlen(sets), " train.clip=1e30");
			train(sets, all[i], &want);
			CU_ASSERT_TRUE_FATAL(rig_equal_weights(&got, &want, sets));
			rig_result_fini(&got);
			rig_result_fini(&want);
		}
}

/* c = 0: the bits without it, in every type, whatever steps, and however many workers have a part in a stage. */
static void error_feedback_of_nothing(void)
{
	static const char *const cases[] = {
		"system.name=pipedream train.microbatches=1 machine.workers=3 precision=f32",
		"system.name=pipedream train.microbatches=1 machine.workers=3 precision=bf16 optimizer.name=adamw",
		"system.name=pipedream system.stashing=false train.microbatches=1 machine.workers=3 precision=bf16",
		"system.name=pipedream_2bw train.microbatches=2 machine.workers=2 optimizer.name=muon train.clip=0.3",
		"system.name=pipedream system.replicas=[2,1] train.microbatches=2 machine.workers=3 "
		"optimizer.name=lion",
		"system.name=pipedream_2bw train.microbatches=2 machine.workers=2 optimizer.name=soap "
		"optimizer.frequency=2",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_result want = {0}, got = {0}, fed = {0};

		train(cases[i], "", &want);
		train(cases[i], "mitigation.name=error_feedback mitigation.c=0", &got);
		CU_ASSERT_TRUE_FATAL(same_model(&got, &want));
		train(cases[i], "mitigation.name=error_feedback", &fed);
		CU_ASSERT_NOT_EQUAL(fed.step[fed.n_steps - 1].loss, want.step[want.n_steps - 1].loss);
		rig_result_fini(&fed);
		rig_result_fini(&got);
		rig_result_fini(&want);
	}
}

static void refused(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "optimizer.name=adam mitigation.name=delayed_nesterov");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG,
		      "mitigation.name: delayed_nesterov needs an optimizer that looks ahead");
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, "mitigation.name=gap");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, "no mitigation is called \"gap\" (known: none, ");
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r,
		 "system.name=pipeoptim train.microbatches=1 optimizer.name=adam mitigation.name=weight_prediction");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG,
		      "mitigation.name: weight_prediction predicts what pipeoptim must not: its forward works on "
		      "weights predicted that far already");
	rig_fini(&r);
	/* A plan that does not keep what the mitigation looks at, or steps before it could. */
	rig_init(&r);
	rig_sets(&r, "system.name=pipedream train.microbatches=1 mitigation.name=gap_aware");
	rig_open(&r);
	r.s.plan->contract.keep_read = false;
	MR_CHECK_FAIL(mr_session_start(&r.s, NULL), MR_ECONFIG, "gap_aware looks at the weights that F read");
	rig_fini(&r);
}

void mr_suite_mitigated(void);
void mr_suite_mitigated(void)
{
	MR_SUITE("mitigated");
	MR_TEST(plain);
	MR_TEST(staleness_aware);
	MR_TEST(gap_aware);
	MR_TEST(dc_asgd);
	MR_TEST(delayed_nesterov);
	MR_TEST(error_feedback);
	MR_TEST(error_feedback_of_nothing);
	MR_TEST(kept);
	MR_TEST(fresh);
	MR_TEST(stale);
	MR_TEST(one_pass);
	MR_TEST(refused);
}
