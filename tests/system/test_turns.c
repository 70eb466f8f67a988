/*
 * test_turns.c - stages whose replicas take micro-batches in turn (1F1B-RR): recorded trajectories of the scalar chain,
 * by the engine, by the replay and in virtual time; what a user asks for and what is refused.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "golden.h"
#include "trajectory.h"

/* A recorded run as it is open. */
typedef struct recorded_run {
	golden g;
	const mr_json *sys;
} recorded_run;

static void open_chain(rig *r, recorded_run *rec, const golden_case *c)
{
	const mr_json *reps, *w0;
	long long workers = 0;
	char init[256] = "", replicas[64] = "";

	golden_load(&rec->g);
	rec->sys = golden_system(&rec->g, c->name);
	reps = mr_json_get(rec->sys, "reps");
	w0 = mr_json_get(rec->g.in, "w0");
	for (size_t s = 0, a = 0, b = 0; s < mr_json_size(reps); s++) {
		long long n = (long long)mr_json_int(mr_json_at(reps, s));

		a += (size_t)snprintf(replicas + a, sizeof(replicas) - a, "%s%lld", s ? ", " : "", n);
		b += (size_t)snprintf(init + b, sizeof(init) - b, "%s%.17g", s ? ", " : "",
				      mr_json_double(mr_json_at(w0, s)));
		workers += n;
	}
	golden_rig(r, &rec->g);
	rig_set(r, "model.depth=%zu", mr_json_size(reps));
	rig_set(r, "model.init=[%s]", init);
	rig_set(r, "optimizer.name=sgd");
	rig_set(r, "train.batch=2");
	rig_set(r, "train.microbatches=2"); /* the least common multiple of all that are recorded */
	rig_set(r, "machine.workers=%lld", workers);
	rig_sets(r, c->sets);
	rig_set(r, "system.replicas=[%s]", replicas);
	rig_open(r);
	CU_ASSERT_EQUAL_FATAL(r->s.samples, 1);
}

static void check_stage(const recorded_run *rec, uint16_t s, const trajectory *t)
{
	const trajectory_stage *row = &t->stage[s];
	const mr_json *f = mr_json_at(mr_json_get(rec->sys, "F_ver"), s),
		      *b = mr_json_at(mr_json_get(rec->sys, "B_ver"), s);
	const mr_json *w = mr_json_at(mr_json_get(rec->sys, "weights"), s);
	uint64_t turns = (uint64_t)mr_json_int(mr_json_at(mr_json_get(rec->sys, "reps"), s));

	for (uint64_t m = 0; m < t->n_micro; m++) {
		CU_ASSERT_EQUAL_FATAL(row->f_version[m], (uint64_t)mr_json_int(mr_json_at(f, m)));
		CU_ASSERT_EQUAL_FATAL(row->b_version[m], (uint64_t)mr_json_int(mr_json_at(b, m)));
		CU_ASSERT_EQUAL_FATAL(row->applied_on[m], m / turns);
	}
	CU_ASSERT_EQUAL_FATAL(mr_json_size(w), t->n_micro / turns + 1);
	for (uint64_t v = 0; v <= t->n_micro / turns; v++)
		golden_number("weights", mr_json_at(w, v), row->weights[v]);
	/* H + 1 versions, all of them alive at once, however many replicas read them. */
	CU_ASSERT_EQUAL(trajectory_peak_live(t, s),
			(uint32_t)mr_json_int(mr_json_at(mr_json_get(rec->sys, "warmup"), s)) + 1);
}

static void check_run(const recorded_run *rec, const trajectory *t, const mr_run *run)
{
	CU_ASSERT_EQUAL_FATAL(trajectory_steps(t), t->n_steps);
	for (uint16_t s = 0; s < t->n_stages; s++) {
		uint32_t ahead = (uint32_t)mr_json_int(mr_json_at(mr_json_get(rec->sys, "warmup"), s));
		uint64_t bins[MR_STALENESS_BINS], sum = 0;

		check_stage(rec, s, t);
		CU_ASSERT_EQUAL(run->weights[s].cap, ahead + 1);
		CU_ASSERT_EQUAL(run->weights[s].version_count.live, ahead + 1);
		CU_ASSERT_EQUAL(run->weights[s].latest, trajectory_versions(t, s, t->n_steps));
		mr_run_staleness(run, s, bins);
		for (uint32_t i = 0; i < MR_STALENESS_BINS; i++) {
			CU_ASSERT_TRUE(i <= ahead || bins[i] == 0);
			sum += bins[i];
		}
		CU_ASSERT_EQUAL(sum, t->n_micro);
		CU_ASSERT_TRUE(bins[ahead] > 0);
	}
}

static void by_all(const golden_case *gc)
{
	mr_session_opts opts = {.observer = trajectory_observer};
	trajectory *t;
	mr_replay *replay;
	mr_run_config c;
	recorded_run rec;
	rig r;

	open_chain(&r, &rec, gc);
	/* NOAM in flight at a replica of stage 0, over all its pipes. */
	CU_ASSERT_EQUAL(r.s.plan->n_slots[0] * r.s.plan->n_pipes / r.s.plan->stage_replicas[0],
			(uint32_t)mr_json_int(mr_json_get(rec.sys, "noam")));
	MR_CHECK_OK(trajectory_create_for(r.s.graph, &r.s.partition, r.s.plan,
					     (uint64_t)mr_json_int(mr_json_get(rec.g.in, "N")) / 2, &t));
	opts.observer_arg = t;
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	for (int again = 0; again < 2; again++) { /* the second time on the same memory */
		if (again)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		rig_run(&r, t->n_steps, NULL);
		check_run(&rec, t, mr_engine_run_of(r.s.executor.engine));
	}
	c = mr_session_run_config(&r.s, NULL);
	c.observer = trajectory_observer;
	c.observer_arg = t;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		MR_CHECK_OK(mr_replay_create(&c, &replay));
		MR_CHECK_OK(mr_replay_run(replay, t->n_steps, MR_REPLAY_RANDOM, seed));
		check_run(&rec, t, mr_replay_run_of(replay));
		mr_replay_destroy(replay);
	}
	trajectory_destroy(t);
	rig_fini(&r);
	golden_fini(&rec.g);
}

static void recorded(void)
{
	for (const golden_case *c = golden_turns; c->name; c++)
		by_all(c);
}

/* What an observer has seen of versions being made. */
typedef struct watch {
	_Atomic uint64_t making[2];               /* newest version of the stage whose observer has been called */
	_Atomic uint32_t n_made, n_early, n_left; /* made; told to others before; parts whose worker left while it was
	                                             looked at */
} watch;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* The worker that has made a version dawdles over it, and those that made other parts leave meanwhile: the moment at
 * which one of these could tell the others too early. */
static void look_first(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	bool step = in->op == MR_OP_U,
	     made = step ? !mr_plan_has_stage_replicas(run->c.plan) ||
				    run->worker[mr_plan_worker(run->c.plan, in->pipe, in->stage)].made
			 : in->flags & MR_INSTR_UPDATE;
	const mr_stage_weights *b = mr_run_weights(run, in->pipe, in->stage);
	watch *seen = arg;

	(void)micro;
	if (step && !made) {
		for (int ms = 0; ms < 2000 && atomic_load(&seen->making[in->stage]) < version; ms++)
			sleep_ms(1);
		atomic_fetch_add(&seen->n_left, atomic_load(&seen->making[in->stage]) == version);
	}
	if (!made)
		return;
	atomic_store(&seen->making[in->stage], b->latest);
	if (mr_plan_has_stage_replicas(run->c.plan) && b->n_shards > 1)
		sleep_ms(5);
	atomic_fetch_add(&seen->n_made, 1);
	atomic_fetch_add(&seen->n_early, mr_event_reached(&b->published.event, (uint32_t)b->latest));
}

static void is_first(const char *sets, uint32_t n_made, bool parts)
{
	watch seen = {0};
	mr_session_opts opts = {.observer = look_first, .observer_arg = &seen};
	rig r;

	rig_init(&r);
	rig_sets(&r, "train.batch=4 train.steps=4");
	rig_sets(&r, sets);
	rig_open(&r);
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	rig_run(&r, 4, NULL);
	CU_ASSERT_EQUAL(seen.n_made, n_made);
	CU_ASSERT_EQUAL(seen.n_early, 0);
	CU_ASSERT_EQUAL(seen.n_left > 0, parts);
	rig_fini(&r);
}

/* Others may write over a version once they know of it: an observer has seen it before they do. */
static void observers_come_first(void)
{
	is_first("system.name=pipedream machine.workers=3 system.replicas=[2,1] train.microbatches=2", 4 + 8, true);
	is_first("system.name=pipedream machine.workers=3 system.replicas=[1,2] train.microbatches=2", 8 + 4, true);
	is_first("system.name=local_sgd machine.workers=2 system.replicas=2 system.every=2 train.microbatches=2",
		 4 * 2 * 2, false);
}

/* Where the second stage begins. */
static uint32_t second_stage(const char *sets)
{
	uint32_t first;
	rig r;

	rig_init(&r);
	rig_sets(&r, "model.depth=11 train.batch=8");
	rig_sets(&r, sets);
	rig_open(&r);
	CU_ASSERT_EQUAL(r.s.partition.n_stages, 2);
	first = r.s.partition.first[1];
	rig_fini(&r);
	return first;
}

/* Stages are cut by what one worker of each has to do, with a flush or without; where all have as many workers, evenly.
 */
static void workers_share_a_stage(void)
{
	uint32_t even = second_stage("system.name=1f1b machine.workers=2 train.microbatches=2");
	uint32_t dapple =
		second_stage("system.name=dapple system.replicas=[2,1] machine.workers=3 train.microbatches=2");

	CU_ASSERT_EQUAL(
		dapple,
		second_stage("system.name=pipedream system.replicas=[2,1] machine.workers=3 train.microbatches=2"));
	CU_ASSERT_TRUE(dapple > even);
	CU_ASSERT_TRUE(second_stage("system.name=dapple system.replicas=[1,2] machine.workers=3 train.microbatches=2") <
		       even);
	CU_ASSERT_EQUAL(second_stage("system.name=dapple system.replicas=[2,2] machine.workers=4 train.microbatches=2"),
			even);
	CU_ASSERT_EQUAL(
		second_stage("system.name=pipedream system.replicas=[2,2] machine.workers=4 train.microbatches=2"),
		even);
}

static void refuse(const char *sets, const char *message)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=pipedream machine.workers=3");
	rig_sets(&r, sets);
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, message);
	rig_fini(&r);
}

static void refused(void)
{
	rig r;

	refuse("system.replicas=[2,1] train.microbatches=4", "with its replicas pipedream takes 2 a step, got 4");
	refuse("system.replicas=[2,1] train.microbatches=1", "with its replicas pipedream takes 2 a step, got 1");
	refuse("system.replicas=[2,1] train.batch=3 train.microbatches=0",
	       "3 samples cannot be cut into 2 equal micro-batches");
	refuse("system.replicas=[2,2] train.microbatches=2", "2 stages on 4 workers in all, but there are 3 workers");
	refuse("system.replicas=[2,1] train.microbatches=2 system.vertical_sync=true",
	       "vertical_sync reads one version at all stages");
	refuse("system.replicas=[2,1] train.microbatches=2 system.order=greedy",
	       "order = greedy is for stages of one worker that never drain");
	refuse("system.drain=3 train.microbatches=1 system.order=greedy",
	       "order = greedy is for stages of one worker that never drain");
	refuse("system.replicas=[2,1] train.microbatches=2 system.drain=3",
	       "drain: 3 micro-batches are no whole number of rounds of 2");
	rig_init(&r);
	rig_sets(&r, "system.name=pipedream train.microbatches=1 system.drain=3 train.steps=7");
	rig_open(&r);
	MR_CHECK_FAIL(mr_session_start(&r.s, NULL), MR_ECONFIG,
		      "pipedream drains every 3 steps, and a run stops only there: train.steps must be a multiple of "
		      "3, got 7");
	rig_fini(&r);
}

/* A step that is left out copies the weights to the next version: each part its own range, since others copy theirs
 * meanwhile. */
static void parts_skip_their_ranges(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=pipedream system.replicas=[2,1] train.microbatches=2 machine.workers=3");
	rig_open(&r);
	rig_start(&r);
	mr_stage_weights *b = &mr_executor_run_of(&r.s.executor)->weights[0];
	size_t bytes = mr_stage_size(b->stage)->weight_bytes;
	uint8_t *next = mr_weights_at(b, 0, b->latest + 1), *now = mr_weights_at(b, 0, b->latest);

	CU_ASSERT_EQUAL_FATAL(b->n_shards, 2);
	CU_ASSERT_FATAL(b->cap > 1);
	for (size_t i = 0; i < bytes; i++)
		next[i] = (uint8_t)~now[i];
	for (uint8_t shard = 0; shard < 2; shard++) {
		const mr_shard *own = &b->shard[shard], *other = &b->shard[1 - shard];
		bool others_stay = true;
		size_t copied = 0;

		for (size_t i = other->begin; i < other->end; i++)
			next[i] = (uint8_t)~now[i];
		mr_weights_skip(b, shard);
		for (size_t i = own->begin; i < own->end; i++)
			copied += next[i] == now[i];
		for (size_t i = other->begin; i < other->end; i++)
			others_stay = others_stay && next[i] != now[i];
		CU_ASSERT_TRUE(others_stay);
		CU_ASSERT(copied > 0 && copied > (own->end - own->begin) / 2); /* between parameters there are gaps */
	}
	rig_fini(&r);
}

void mr_suite_turns(void)
{
	MR_SUITE("turns");
	MR_TEST(recorded);
	MR_TEST(observers_come_first);
	MR_TEST(workers_share_a_stage);
	MR_TEST(parts_skip_their_ranges);
	MR_TEST(refused);
}
