/*
 * test_chain.c - the scalar chain against recorded trajectories (tests/golden/async): every version of every weight,
 * every version read, every loss, by the engine, by the replay and by sequential training.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "weights/predict.h"
#include "golden.h"
#include "oracle.h"
#include "trajectory.h"

/* @sets: the system, such as "system.name=gpipe". */
static void open_chain(rig *r, const golden *g, const mr_json *sys, const char *sets)
{
	const char *kind = mr_json_string(mr_json_get(mr_json_get(sys, "opt"), "kind"));
	const mr_json *decay = mr_json_get(mr_json_get(sys, "opt"), "wd");
	const mr_json *params = mr_json_get(sys, "params"), *m = mr_json_get(params, "M"),
		      *u = mr_json_get(params, mr_json_get(params, "T") ? "T" : "accum");
	long long need = m || u ? (long long)mr_json_int(m ? m : u) : 1;

	golden_rig(r, g);
	rig_set(r, "optimizer.name=%s", kind);
	if (!strcmp(kind, "momentum") || !strcmp(kind, "ema"))
		rig_set(r, "optimizer.mu=%.17g", mr_json_double(mr_json_get(g->in, "mu")));
	if (decay || !strcmp(kind, "adamw"))
		rig_set(r, "optimizer.weight_decay=%.17g", mr_json_double(decay ? decay : mr_json_get(g->in, "wd")));
	rig_set(r, "train.batch=%lld", need);
	rig_set(r, "train.microbatches=%lld", need);
	rig_sets(r, sets);
	rig_open(r);
	CU_ASSERT_EQUAL_FATAL(r->s.samples, 1);
}

/* Row @stage of @key in @record. */
static void check_versions(const char *what, const char *key, const mr_json *record, size_t stage, const uint64_t *got,
			   uint64_t n)
{
	const mr_json *want = mr_json_at(mr_json_get(record, key), stage);

	CU_ASSERT_EQUAL_FATAL(mr_json_size(want), n);
	for (uint64_t m = 0; m < n; m++) {
		if ((uint64_t)mr_json_int(mr_json_at(want, m)) != got[m])
			fprintf(stderr, "\n%s: %s of micro-batch %llu is %llu\n", what, key, (unsigned long long)m,
				(unsigned long long)got[m]);
		CU_ASSERT_EQUAL_FATAL((uint64_t)mr_json_int(mr_json_at(want, m)), got[m]);
	}
}

/* WPipe's record is of another simulation: no losses, no commits beside the weights, and another name for the peak. */
static bool from_phases(const mr_json *sys)
{
	return mr_json_get(sys, "max_live");
}

/* Micro-batches hold the weights that were made for them, in place of the version that these were made from. */
static bool holds_made(const mr_plan *p)
{
	return p->contract.predict != MR_PREDICT_NONE && p->contract.same_version_b;
}

static uint32_t peak_live(const mr_json *sys, uint16_t s)
{
	return (uint32_t)mr_json_int(mr_json_at(mr_json_get(sys, from_phases(sys) ? "max_live" : "peak_live"), s));
}

/* When each gradient is applied: always with the commit of its batch. */
static void check_applied(const char *what, const mr_json *sys, uint16_t s, const trajectory_stage *row,
			  const trajectory *t)
{
	const mr_json *age = mr_json_at(mr_json_get(sys, "staleness"), s);

	for (uint64_t m = 0; m < t->n_micro; m++)
		CU_ASSERT_EQUAL(row->applied_on[m], m / t->need);
	if (from_phases(sys))
		return;
	check_versions(what, "applied_on", sys, s, row->applied_on, t->n_micro);
	for (uint64_t m = 0; m < t->n_micro; m++)
		CU_ASSERT_EQUAL(row->applied_on[m] - row->f_version[m], (uint64_t)mr_json_int(mr_json_at(age, m)));
}

/* Recorded are the weights w; the run holds their look-ahead y = w + gam (w - w_prev). */
static void look_back(const mr_json *sys, trajectory *t)
{
	const mr_json *gam = mr_json_get(mr_json_get(sys, "params"), "gam");

	for (uint16_t s = 0; gam && s < t->n_stages; s++)
		for (uint64_t v = 1; v <= t->n_steps; v++) {
			double *w = t->stage[s].weights, g = mr_json_double(gam);

			w[v] = (w[v] + g * w[v - 1]) / (1 + g);
		}
}

static void check_trajectory(const char *what, const mr_json *sys, const mr_plan *plan, trajectory *t)
{
	look_back(sys, t);
	CU_ASSERT_EQUAL_FATAL(trajectory_steps(t), t->n_steps);
	for (uint16_t s = 0; s < t->n_stages; s++) {
		const trajectory_stage *row = &t->stage[s];
		const mr_json *w = mr_json_at(mr_json_get(sys, "weights"), s);

		check_versions(what, "F_ver", sys, s, row->f_version, t->n_micro);
		check_versions(what, "B_ver", sys, s, row->b_version, t->n_micro);
		check_applied(what, sys, s, row, t);
		CU_ASSERT_EQUAL_FATAL(row->n_scalars, 1);
		CU_ASSERT_EQUAL_FATAL(mr_json_size(w), t->n_steps + 1);
		for (uint64_t v = 0; v <= t->n_steps; v++)
			golden_number(what, mr_json_at(w, v), row->weights[v]);
		golden_number(what, mr_json_at(mr_json_get(sys, "final"), s), row->weights[t->n_steps]);
		CU_ASSERT_EQUAL(trajectory_peak_live(t, s), plan && holds_made(plan) ? 1 : peak_live(sys, s));
	}
	for (uint64_t m = 0; m < t->n_micro && !from_phases(sys); m++)
		golden_number(what, mr_json_at(mr_json_get(sys, "loss"), m), t->loss[m]);
}

static uint64_t steps_of(const golden *g, const rig *r)
{
	return (uint64_t)mr_json_int(mr_json_get(g->in, "N")) / r->s.n_micro;
}

/* The most commits by which a backward's version lies behind those made before its gradient is applied. */
static uint32_t oldest_read(const mr_json *sys, uint16_t s, uint32_t need)
{
	const mr_json *read = mr_json_at(mr_json_get(sys, "B_ver"), s);
	uint32_t most = 0;

	for (uint32_t m = 0; m < mr_json_size(read); m++) {
		uint32_t age = m / need - (uint32_t)mr_json_int(mr_json_at(read, m));

		most = age > most ? age : most;
	}
	return most;
}

/* As many copies as micro-batches under way; some records keep versions in their place, and count them as live. */
static void check_made(const mr_json *sys, const mr_run *run, uint16_t s)
{
	const mr_prediction *x = run->weights[s].prediction;
		uint32_t copies = x ? x->n_buffers : 0, live = peak_live(sys, s);

	CU_ASSERT_EQUAL(run->weights[s].cap, 1);
	CU_ASSERT_EQUAL(copies, x ? run->n_stages - (uint32_t)s : 0);
	CU_ASSERT_TRUE(live == 1 || live == copies);
}

/* What the engine counts as staleness, and as versions live at once, must be what the recorded run has, over the steps
 * that it made. */
static void check_staleness(const mr_json *sys, const mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		const mr_json *read = mr_json_at(mr_json_get(sys, "F_ver"), s);
		uint64_t want[MR_STALENESS_BINS] = {0};

		for (size_t m = 0; m < mr_json_size(read); m++)
			want[m / run->c.plan->contract.need - (uint64_t)mr_json_int(mr_json_at(read, m))]++;
		for (int i = 0; i < MR_STALENESS_BINS; i++)
			CU_ASSERT_EQUAL(run->weights[s].shard[0].staleness[i], want[i]);
		/* A buffer for each version from the oldest that a backward reads to the latest, or for what is made of
		 * it. */
		if (holds_made(run->c.plan)) {
			check_made(sys, run, s);
			continue;
		}
		CU_ASSERT_EQUAL(run->weights[s].cap, 1 + oldest_read(sys, s, run->c.plan->contract.need));
		CU_ASSERT_TRUE(run->weights[s].cap >= peak_live(sys, s));
		CU_ASSERT_EQUAL(run->weights[s].version_count.live, peak_live(sys, s));
	}
}

static void by_engine(const golden *g, const char *name, const char *sets)
{
	const mr_json *sys = golden_system(g, name);
	trajectory *t;
	mr_session_opts opts = {.observer = trajectory_observer};
	rig r;

	open_chain(&r, g, sys, sets);
	MR_CHECK_OK(trajectory_create(r.s.graph, &r.s.partition, r.s.plan->contract.need, steps_of(g, &r), &t));
	opts.observer_arg = t;
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	rig_run(&r, t->n_steps, NULL);
	check_trajectory(name, sys, r.s.plan, t);
	check_staleness(sys, mr_engine_run_of(r.s.executor.engine));
	/* again from the beginning, on the same memory */
	MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
	rig_run(&r, t->n_steps, NULL);
	check_trajectory(name, sys, r.s.plan, t);
	trajectory_destroy(t);
	rig_fini(&r);
}

static void by_replay(const golden *g, const char *name, const char *sets)
{
	const mr_json *sys = golden_system(g, name);
	trajectory *t;
	mr_run_config c;
	mr_replay *replay;
	rig r;

	open_chain(&r, g, sys, sets);
	MR_CHECK_OK(trajectory_create(r.s.graph, &r.s.partition, r.s.plan->contract.need, steps_of(g, &r), &t));
	c = mr_session_run_config(&r.s, NULL);
	c.observer = trajectory_observer;
	c.observer_arg = t;
	MR_CHECK_OK(mr_replay_create(&c, &replay));
	MR_CHECK_OK(mr_replay_run(replay, t->n_steps, MR_REPLAY_RANDOM, 3));
	check_trajectory(name, sys, r.s.plan, t);
	check_staleness(sys, mr_replay_run_of(replay));
	mr_replay_destroy(replay);
	trajectory_destroy(t);
	rig_fini(&r);
}

typedef struct noted {
	trajectory *t;
	oracle *o;
} noted;

/* What the oracle has after step @step, as every stage of @n's cut. */
static void note_step(noted *n, uint64_t step)
{
	trajectory *t = n->t;

	for (uint16_t s = 0; s < t->n_stages; s++) {
		trajectory_stage *row = &t->stage[s];

		for (uint64_t m = step ? (step - 1) * t->need : 0; m < step * t->need; m++) {
			row->f_version[m] = row->b_version[m] = row->applied_on[m] = step - 1;
			t->loss[m] = oracle_losses(n->o)[m % t->need];
		}
		row->weights[step] = *(const double *)oracle_weights(n->o, t->first[s]);
		row->born[step] = row->last_read[step] = step;
		row->n_commits = step;
	}
}

static bool note(void *arg, const mr_step_rec *rec)
{
	noted *n = arg;

	if (rec)
		note_step(n, rec->step);
	return true;
}

static void by_oracle(const golden *g, const char *name, const char *sets)
{
	mr_partition four;
	const char *const names[] = {"w.1", "w.2", "w.3"};
	const mr_json *sys = golden_system(g, name);
	oracle_config c;
	noted n;
	rig r;

	open_chain(&r, g, sys, sets);
	MR_CHECK_OK(mr_partition_explicit(r.s.graph, names, 3, &four));
	MR_CHECK_OK(trajectory_create(r.s.graph, &four, r.s.n_micro, steps_of(g, &r), &n.t));
	c = oracle_config_of(&r.s);
	n.o = oracle_create(&c);
	note_step(&n, 0);
	oracle_run(n.o, n.t->n_steps, note, &n);
	check_trajectory(name, sys, NULL, n.t);
	oracle_destroy(n.o);
	trajectory_destroy(n.t);
	mr_partition_fini(&four);
	rig_fini(&r);
}

static void recorded(void)
{
	golden g;

	golden_load(&g);
	for (const golden_case *c = golden_pipelines; c->name; c++) {
		if (!strcmp(c->sets, "system.name=sequential")) {
			by_oracle(&g, c->name, c->sets);
			continue;
		}
		by_engine(&g, c->name, c->sets);
		by_replay(&g, c->name, c->sets);
	}
	golden_fini(&g);
}

static void refused(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=spectrain train.microbatches=1 optimizer.name=sgd");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG,
		      "optimizer.name: spectrain predicts weights along the optimizer's direction, and sgd keeps none");
	rig_fini(&r);
}

void mr_suite_chain(void)
{
	MR_SUITE("chain");
	MR_TEST(recorded);
	MR_TEST(refused);
}
