/*
 * test_version_table.c - invariants of every live weight version, checked from outside while the engine runs: the bytes
 * that a micro-batch reads do not change between its forward and its backward, no worker reads a buffer that was given
 * up, nothing is under way after a drain, memory for versions is as in the papers' formulas, and without staleness the
 * result is plain SGD.
 */
#include <string.h>

#include "base/stats.h"
#include "check.h"
#include "rig.h"

#define STEPS 30
#define MOST_STAGES 8
#define MOST_MICRO 256
/* Clipping that never clips keeps the optimizer's step out of the backward pass, so that an observer comes between
 * them. */
#define APART " train.clip=1e30"
#define MLP "model.depth=7 model.width=6 precision=f64 train.batch=6 train.steps=30"

/* --- bytes --- */

typedef struct watch {
	uint64_t hash[MOST_STAGES][MOST_MICRO]; /* of what F read; each cell is one worker's */
	uint64_t n_checked[MOST_STAGES * 2];    /* by worker */
	bool changed[MOST_STAGES];
} watch;

static void watch_bytes(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	watch *w = arg;
	const mr_stage_weights *b = mr_run_weights(run, in->pipe, in->stage);
	uint64_t h;

	if ((in->op != MR_OP_F && in->op != MR_OP_B) || micro >= MOST_MICRO)
		return;
	h = mr_hash64(0, mr_weights_at(b, mr_run_shard(run, in->pipe, in->stage), version),
		      mr_stage_size(b->stage)->weight_bytes);
	if (in->op == MR_OP_F) {
		w->hash[in->stage][micro] = h;
		return;
	}
	w->n_checked[mr_plan_worker(run->c.plan, in->pipe, in->stage)]++;
	if (w->hash[in->stage][micro] != h)
		w->changed[in->stage] = true;
}

static void same_bytes(const char *sets)
{
	watch *w = calloc(1, sizeof(*w));
	mr_session_opts opts = {.observer = watch_bytes, .observer_arg = w};
	uint64_t n = 0;
	rig r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	rig_init(&r);
	rig_sets(&r, MLP APART);
	rig_sets(&r, sets);
	rig_open(&r);
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	rig_delays(100, 5);
	rig_run(&r, STEPS, NULL);
	rig_delays(0, 0);
	for (int i = 0; i < MOST_STAGES * 2; i++)
		n += w->n_checked[i];
	CU_ASSERT_EQUAL(n, (uint64_t)STEPS * r.s.n_micro * r.s.plan->n_stages);
	for (int s = 0; s < MOST_STAGES; s++) {
		if (w->changed[s])
			fprintf(stderr, "\n%s: what stage %d reads changes between forward and backward\n", sets, s);
		CU_ASSERT_FALSE(w->changed[s]);
	}
	rig_fini(&r);
	free(w);
}

#define ONE " train.microbatches=1 "

static void live_versions_keep_their_bytes(void)
{
	same_bytes("system.name=pipedream machine.workers=4" ONE);
	same_bytes("system.name=pipedream system.vertical_sync=true machine.workers=3" ONE);
	same_bytes("system.name=pipedream system.noam=6 machine.workers=3" ONE);
	same_bytes("system.name=pipedream system.drain=5 machine.workers=3" ONE);
	same_bytes("system.name=pipedream system.order=greedy machine.workers=4" ONE);
	same_bytes("system.name=pipedream system.replicas=[2,1] machine.workers=3 train.microbatches=2");
	same_bytes("system.name=pipedream system.replicas=[1,2,1] machine.workers=4 train.microbatches=2");
	same_bytes("system.name=pipedream_2bw machine.workers=3 train.microbatches=3");
	same_bytes("system.name=wpipe machine.workers=2 train.microbatches=3");
	same_bytes("system.name=rpd machine.workers=3 system.delta=4" ONE);
}

/* --- buffers that are given up --- */

typedef struct poisoner {
	uint64_t read[MOST_STAGES][MOST_MICRO]; /* version that F read */
	uint64_t first[MOST_STAGES], end[MOST_STAGES]; /* micro-batches that F has done and B has not */
	uint64_t n_poisoned;                    /* of stage 0 */
} poisoner;

/* Is version @v of stage @s that of a micro-batch under way? */
static bool is_pinned(const poisoner *p, uint16_t s, uint64_t v)
{
	for (uint64_t m = p->first[s]; m < p->end[s]; m++)
		if (p->read[s][m] == v)
			return true;
	return false;
}

/* What is neither the latest nor read by a micro-batch under way turns into NaN: the one that reads it has a loss that
 * is none. */
static void poison(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	poisoner *p = arg;
	uint16_t s = in->stage;
	const mr_stage_weights *b = &run->weights[s];

	if (in->op == MR_OP_F) {
		p->read[s][micro] = version;
		p->end[s] = micro + 1;
	}
	if (in->op == MR_OP_B)
		p->first[s] = micro + 1;
	if (in->op != MR_OP_U)
		return;
	for (uint64_t v = version >= b->cap ? version - b->cap + 1 : 0; v < version; v++)
		if (!is_pinned(p, s, v)) {
			memset(mr_weights_at(b, 0, v), 0xff, mr_stage_size(b->stage)->weight_bytes);
			if (s == 0)
				p->n_poisoned++;
		}
}

static void poisoned(const char *sets)
{
	poisoner *p = calloc(1, sizeof(*p));
	mr_session_opts opts = {.observer = poison, .observer_arg = p};
	rig_result want = {0}, got = {0};
	rig r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	rig_init(&r);
	rig_sets(&r, MLP APART ONE);
	rig_sets(&r, sets);
	rig_open(&r);
	rig_replay(&r, STEPS, MR_REPLAY_RANDOM, 7, &want);
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	rig_run(&r, STEPS, &got);
	rig_collect(&r, false, &got);
	CU_ASSERT_TRUE(rig_equal(&got, &want, false, sets));
	CU_ASSERT_TRUE(p->n_poisoned > 0);
	rig_result_fini(&want);
	rig_result_fini(&got);
	rig_fini(&r);
	free(p);
}

static void what_is_given_up_is_read_by_nobody(void)
{
	/* A version is given up where a backward is done and the forward behind it has read a later one. */
	poisoned("system.name=pipedream machine.workers=3 system.drain=5");
	poisoned("system.name=pipedream machine.workers=4 system.drain=6 system.noam=6");
	poisoned("system.name=pipedream machine.workers=4 system.drain=10 optimizer.name=adamw");
}

/* --- where a pipeline has run empty --- */

static void check_idle(const mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_links_stage *st = mr_links_at(&run->train, pipe, s);

	for (uint32_t i = 0; i < st->n_slots; i++)
		CU_ASSERT_FALSE(st->slot[i].taken);
	CU_ASSERT_EQUAL(mr_run_done(run, pipe, s, true), mr_run_done(run, pipe, s, false));
}

static void empty_after(const char *sets)
{
	mr_state state;
	const mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP);
	rig_sets(&r, sets);
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, STEPS, NULL);
	run = mr_executor_run_of(&r.s.executor);
	for (uint16_t s = 0; s < run->n_stages; s++) {
		uint64_t done = 0;

		for (unsigned p = 0; p < run->n_pipes; p++) {
			check_idle(run, (uint8_t)p, s);
			done += mr_run_done(run, (uint8_t)p, s, false);
		}
		/* As many commits as their micro-batches make, none begun. */
		CU_ASSERT_EQUAL(done, (uint64_t)STEPS * r.s.n_micro);
		CU_ASSERT_EQUAL(run->weights[s].latest, done / mr_plan_need(run->c.plan, s));
	}
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &state));
	for (size_t i = 0; i < state.inflight.n; i++) /* versions alone, which nobody will read */
		CU_ASSERT_EQUAL(state.inflight.at[i].name[0], 'v');
	mr_state_fini(&state);
	rig_fini(&r);
}

static void nothing_is_under_way_behind_a_drain(void)
{
	empty_after("system.name=1f1b machine.workers=3 train.microbatches=3");
	empty_after("system.name=chimera machine.workers=2 train.microbatches=2");
	empty_after("system.name=pipedream machine.workers=3 system.drain=5 train.microbatches=1");
	empty_after(
		"system.name=pipedream machine.workers=3 system.replicas=[2,1] system.drain=6 train.microbatches=2");
}

/* --- memory --- */

/* Versions of stage @k beyond one, on @d workers. */
typedef uint64_t extra(uint64_t d, uint64_t k);

static uint64_t stash(uint64_t d, uint64_t k)
{
	return d - 1 - k;
}

static uint64_t vertical(uint64_t d, uint64_t k)
{
	(void)k;
	return d - 1;
}

static uint64_t none(uint64_t d, uint64_t k)
{
	(void)d;
	(void)k;
	return 0;
}

static uint64_t one(uint64_t d, uint64_t k)
{
	(void)d;
	(void)k;
	return 1;
}

/* ceil((r_k + r_{k+1} + ..) / r_k) - 1 for the replicas 1, 2, 1. */
static uint64_t in_turn(uint64_t d, uint64_t k)
{
	static const uint64_t ahead[] = {3, 1, 0};

	(void)d;
	return ahead[k];
}

static void check_memory(const char *sets, uint32_t workers, extra *formula)
{
	uint64_t parts = 0;
	const mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP);
	rig_sets(&r, sets);
	rig_set(&r, "machine.workers=%u", workers);
	rig_open(&r);
	rig_start(&r);
	run = mr_executor_run_of(&r.s.executor);
	for (uint16_t s = 0; s < run->n_stages; s++)
		for (unsigned p = 0; p < run->n_pipes; p++) {
			const mr_stage_sizes *z = mr_stage_size(run->stage[s]);
			mr_run_memory m;

			mr_run_memory_of_stage(run, (uint8_t)p, s, &m);
			parts += m.weights + m.stashes + m.grads + m.optimizer + m.activations + m.boundaries +
				 m.scratch;
			CU_ASSERT_EQUAL(m.weights, p ? 0 : z->weight_bytes);
			CU_ASSERT_EQUAL(m.stashes, p ? 0 : formula(workers, s) * z->weight_bytes);
			CU_ASSERT_EQUAL(m.grads, p < mr_plan_partial_sums(run->c.plan, s) ? z->grad_bytes : 0);
		}
	/* Beyond these: rings, tables and rounding to pages. */
	CU_ASSERT_TRUE(parts <= mr_run_mapped_bytes(run));
	CU_ASSERT_TRUE(mr_run_mapped_bytes(run) - parts <= run->n_workers * (uint64_t)(16 << 10));
	rig_fini(&r);
}

static void memory_is_the_formula(void)
{
	for (uint32_t d = 1; d <= 4; d++) {
		check_memory("system.name=pipedream train.microbatches=1", d, stash);
		check_memory("system.name=pipedream system.vertical_sync=true train.microbatches=1", d, vertical);
		check_memory("system.name=pipedream system.stashing=false train.microbatches=1", d, none);
		check_memory("system.name=ampnet train.microbatches=2", d, none);
		check_memory("system.name=1f1b train.microbatches=2", d, none);
	}
	check_memory("system.name=pipedream_2bw train.microbatches=3", 3, one);
	check_memory("system.name=pipedream system.replicas=[1,2,1] train.microbatches=2", 4, in_turn);
}

/* --- without staleness --- */

static void plain(const char *sets, const char *optimizer)
{
	rig_result want = {0}, got = {0};
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP ONE "system.name=sequential");
	rig_sets(&r, optimizer);
	rig_open(&r);
	rig_train(&r, STEPS, false, &want);
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, MLP ONE "machine.workers=1");
	rig_sets(&r, optimizer);
	rig_sets(&r, sets);
	rig_open(&r);
	rig_train(&r, STEPS, false, &got);
	CU_ASSERT_TRUE(rig_equal_weights(&got, &want, sets));
	rig_fini(&r);
	rig_result_fini(&want);
	rig_result_fini(&got);
}

/* With one stage there is no staleness, whatever an asynchronous system does about it. */
static void one_worker_is_plain_sgd(void)
{
	static const char *const all[] = {
		"system.name=pipedream",
		"system.name=pipedream system.vertical_sync=true",
		"system.name=pipedream system.stashing=false",
		"system.name=pipedream system.drain=3",
		"system.name=ampnet system.in_flight=1",
		"system.name=paci",
		"system.name=pipemare",
		"system.name=spectrain",
		"system.name=pipeoptim",
		"system.name=xpipe",
		"system.name=pipedream mitigation.name=staleness_aware",
		"system.name=pipedream mitigation.name=dc_asgd",
		"system.name=pipedream mitigation.name=weight_prediction",
		"system.name=pipedream mitigation.name=spike_compensation",
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		plain(all[i], "optimizer.name=momentum");
	plain("system.name=pipedream", "optimizer.name=adamw");
	plain("system.name=pipedream", "optimizer.name=sgd");
}

/* The first commit of 2BW has nothing before it: M micro-batches at once are one step of gradient descent. */
static void one_batch_is_one_step(void)
{
	rig_result want = {0}, got = {0};
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP " train.microbatches=6 system.name=sequential");
	rig_open(&r);
	rig_train(&r, 1, false, &want);
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, MLP " train.microbatches=6 system.name=pipedream_2bw machine.workers=3");
	rig_open(&r);
	rig_train(&r, 1, false, &got);
	CU_ASSERT_TRUE(rig_equal_weights(&got, &want, "one batch of 2BW"));
	rig_fini(&r);
	rig_result_fini(&want);
	rig_result_fini(&got);
}

void mr_suite_version_table(void)
{
	MR_SUITE("version_table");
	MR_TEST(live_versions_keep_their_bytes);
	MR_TEST(what_is_given_up_is_read_by_nobody);
	MR_TEST(nothing_is_under_way_behind_a_drain);
	MR_TEST(memory_is_the_formula);
	MR_TEST(one_worker_is_plain_sgd);
	MR_TEST(one_batch_is_one_step);
}
