/*
 * slow_restored.c - what exec/state.h lists is all that a run needs: restored into another engine, it goes on to the
 * bit.
 */
#include <string.h>

#include "check.h"
#include "rig.h"

#define END 14 /* of pauses */

static void open_case(rig *r, bool gpt, const char *sets)
{
	rig_init(r);
	if (gpt)
		rig_tokens(r, sets);
	rig_sets(r, sets);
	rig_open(r);
}

/*
 * Run to @k, save there, and go on to @end; with what the whole leaves in @want (losses of the steps after @k only).
 */
static void save_at(bool gpt, const char *sets, uint64_t k, uint64_t end, rig_result *saved, rig_result *want)
{
	rig r;

	open_case(&r, gpt, sets);
	rig_start(&r);
	rig_run(&r, k, NULL);
	rig_collect(&r, false, saved);
	rig_run(&r, end, want);
	rig_collect(&r, true, want);
	rig_fini(&r);
}

static void resume(bool gpt, const char *sets, uint64_t k, uint64_t end, uint64_t every, const rig_result *saved,
		   rig_result *got)
{
	mr_state st;
	rig r;

	open_case(&r, gpt, sets);
	rig_start(&r);
	rig_run(&r, 3 * every, NULL); /* an engine that has been used: nothing of that may shine through */
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, k));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, saved));
	mr_state_fini(&st);
	rig_delays(100, k);
	rig_run(&r, end, got);
	rig_delays(0, 0);
	rig_collect(&r, true, got);
	rig_fini(&r);
}

static void check_at(bool gpt, const char *sets, uint64_t k, uint64_t end, uint64_t every)
{
	rig_result saved = {0}, want = {0}, got = {0};
	char what[300];

	snprintf(what, sizeof(what), "%s, resumed at %llu", sets, (unsigned long long)k);
	save_at(gpt, sets, k, end, &saved, &want);
	resume(gpt, sets, k, end, every, &saved, &got);
	CU_ASSERT_EQUAL(got.n_steps, end - k);
	CU_ASSERT_FATAL(rig_equal(&got, &want, true, what));
	rig_result_fini(&saved);
	rig_result_fini(&want);
	rig_result_fini(&got);
}

/* Where a pause lies behind every @every steps. */
static void check_every(bool gpt, const char *sets, uint64_t every)
{
	static const uint64_t at[] = {1, 2, 5, 9, 13};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		check_at(gpt, sets, at[i] * every, END * every, every);
}

static void check(bool gpt, const char *sets)
{
	check_every(gpt, sets, 1);
}

#define ASYNC "system.name=pipedream train.batch=3 train.microbatches=1 "

static void pipedream(void)
{
	check(false, ASYNC "machine.workers=2");
	check(false, ASYNC "machine.workers=3 train.clip=0.3");
	check(true, ASYNC "machine.workers=3 model.dropout=0.1 precision=f32");
}

static void vertical_sync(void)
{
	check(false, ASYNC "system.vertical_sync=true machine.workers=2");
	check(true, ASYNC "system.vertical_sync=true machine.workers=4");
}

/* At a pause the next gradients of slow workers are of older versions. */
static void arrivals(void)
{
	check_every(false, ASYNC "train.steps=996 system.name=asgd machine.workers=3 optimizer.name=momentum", 3);
	check_every(false, ASYNC "train.steps=996 system.name=asgd machine.workers=2 system.times=[3,1]", 4);
	check_every(true, ASYNC "system.name=asgd machine.workers=2 model.dropout=0.1 precision=f32", 2);
	check(false, "system.name=cyclic train.batch=6 train.microbatches=3 machine.workers=3 optimizer.name=momentum");
	check(true, "system.name=cyclic system.rule=v2 train.batch=4 train.microbatches=4 machine.workers=2 "
		    "model.dropout=0.1 precision=f32");
}

/* Their prologues make versions: the first pauses lie inside. */
static void greedy(void)
{
	check(false, ASYNC "system.order=greedy machine.workers=4");
	check(false, ASYNC "system.order=greedy system.noam=6 system.vertical_sync=true machine.workers=3");
}

static void one_copy(void)
{
	check(false, ASYNC "system.stashing=false machine.workers=3");
	check(false, "system.name=ampnet system.in_flight=6 train.batch=4 train.microbatches=2 machine.workers=3");
	check(true,
	      "system.name=paci train.batch=4 train.microbatches=2 machine.workers=3 model.dropout=0.1 precision=f32");
}

static void double_buffered(void)
{
	check(false, "system.name=pipedream_2bw train.batch=6 train.microbatches=3 machine.workers=2");
	check(false,
	      "system.name=pipedream_2bw system.recompute=always train.batch=6 train.microbatches=3 machine.workers=3");
	check(true, "system.name=pipedream_2bw train.batch=4 train.microbatches=4 machine.workers=4 train.clip=0.3");
	check(false, "system.name=wpipe train.batch=6 train.microbatches=3 machine.workers=2");
	check(false, "system.name=roundpipe system.optimizer=async system.stages=5 train.batch=6 train.microbatches=3 "
		     "machine.workers=3");
}

static void aiming(void)
{
	check(false, ASYNC "system.name=pipemare system.t1_steps=6 machine.workers=3");
	check(false, "system.name=pipemare system.t1_steps=9 system.t3_steps=5 train.batch=4 train.microbatches=2 "
		     "machine.workers=3");
	check(true, "system.name=pipemare system.t3_steps=4 system.recompute=always train.batch=4 train.microbatches=2 "
		    "machine.workers=4 "
		    "model.dropout=0.1 precision=f32");
	check(true, ASYNC "system.name=spectrain machine.workers=4 model.dropout=0.1 precision=f32");
	check(false, ASYNC "system.name=spectrain system.variant=v2 machine.workers=3");
	check(false, "system.name=xpipe train.batch=6 train.microbatches=3 machine.workers=3");
	check(true,
	      "system.name=xpipe train.batch=2 train.microbatches=2 machine.workers=4 model.dropout=0.1 precision=f32");
	check(false, ASYNC "system.name=pipeoptim optimizer.name=ema machine.workers=3");
}

#define DRAWN "system.name=rpd train.batch=2 train.microbatches=1 "

/* Its list ends: pauses lie early, in the middle and one step before the end. */
static void drawn(void)
{
	static const char *const many[] = {
		DRAWN "train.steps=600 machine.workers=2",
		DRAWN "train.steps=600 machine.workers=2 system.delays=zero",
		DRAWN "train.steps=600 machine.workers=2 system.delta=1",
		DRAWN "train.steps=600 machine.workers=2 system.delta=20 system.seed=3",
		DRAWN "train.steps=600 machine.workers=2 system.delays=max system.delta=5",
		DRAWN
		"train.steps=600 machine.workers=3 system.delays=exact system.stage=timeline system.batch=timeline",
		DRAWN "train.steps=600 machine.workers=4 system.delta=9 system.ringmaster=8",
	};
	static const uint64_t at[] = {1, 64, 350, 500, 599};

	for (size_t s = 0; s < sizeof(many) / sizeof(many[0]); s++)
		for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
			check_at(false, many[s], at[i], 600, 1);
	check(false, DRAWN "train.steps=14 machine.workers=3 system.delta=7 optimizer.name=momentum");
	check(false, DRAWN "machine.workers=4 system.delta=3");
	check(true, DRAWN "train.steps=14 machine.workers=2 system.delta=5 model.dropout=0.1 precision=f32");
	check(true, DRAWN "machine.workers=4");
}

#define NORM "model.norm=batch train.batch=12 machine.workers=2 "

/* Running statistics, and what micro-batches under way have seen for them. */
static void batch_norm(void)
{
	check(false, NORM "system.name=pipedream train.microbatches=1");
	check(false, NORM "system.name=pipedream_2bw system.recompute=always train.microbatches=3");
	check(false, NORM "system.name=ampnet system.in_flight=5 train.microbatches=2 precision=bf16");
	check(false, NORM "system.name=data_parallel train.microbatches=4");
	check(false, NORM "system.name=pipedream train.microbatches=2 system.replicas=[2,1] machine.workers=3");
	check_every(false, NORM "system.name=local_sgd system.replicas=2 system.every=3 train.steps=1200 "
			   "train.microbatches=2", 3);
	check(false, NORM "system.name=avgpipe train.microbatches=4");
	check(false, NORM "system.name=sequential train.microbatches=4");
}

#define CARRIED \
	"model.name=awd_lm model.layers=3 model.embed=6 model.width=8 model.context=5 model.tied=false " \
	"data.order=columns precision=f32 machine.workers=2 "

/* The state of LSTM layers, of the next step or of micro-batches under way. */
static void carried(void)
{
	check(true, CARRIED "system.name=pipedream train.batch=4 train.microbatches=1");
	check(true, CARRIED "system.name=pipedream_2bw system.recompute=always train.batch=6 train.microbatches=3");
	check(true, CARRIED "system.name=1f1b train.batch=4 precision=bf16");
	check(true, CARRIED "system.name=data_parallel train.batch=4");
	check_every(true, CARRIED "system.name=local_sgd system.replicas=2 system.every=3 train.steps=1200 "
			  "train.batch=4 train.microbatches=2", 3);
	check(true, CARRIED "system.name=sequential train.batch=4");
}

static void mitigated(void)
{
	check(false, ASYNC
	      "optimizer.name=momentum mitigation.name=spike_compensation mitigation.predict=true machine.workers=3");
	check(false, ASYNC "mitigation.name=gap_aware machine.workers=3");
	check(false, ASYNC "system.stashing=false mitigation.name=dc_asgd mitigation.adaptive=true machine.workers=3 "
			   "train.clip=0.3");
	check(false,
	      "system.name=paci train.batch=4 train.microbatches=2 mitigation.name=staleness_aware machine.workers=3");
	check(false,
	      ASYNC "optimizer.name=nadam mitigation.name=delayed_nesterov mitigation.t1_steps=6 machine.workers=2");
}

static void replicas(void)
{
	check_every(false,
		    "system.name=local_sgd system.replicas=2 system.every=3 train.steps=42 train.batch=4 "
		    "train.microbatches=2 machine.workers=3",
		    3);
	check_every(false,
		    "system.name=local_sgd system.every=2 system.placement=rotated system.outer=nesterov "
		    "optimizer.name=adam "
		    "train.batch=6 train.microbatches=3 machine.workers=3",
		    2);
	check_every(true,
		    "system.name=local_sgd system.replicas=2 system.every=2 system.state=averaged optimizer.name=adamw "
		    "train.batch=2 "
		    "train.microbatches=2 machine.workers=2 model.dropout=0.1 precision=f32",
		    2);
	check(false, "system.name=avgpipe train.batch=8 train.microbatches=4 machine.workers=3");
	check(true, "system.name=avgpipe system.replicas=3 system.alpha=0.2 train.batch=6 train.microbatches=6 "
		    "machine.workers=4 precision=f32");
}

static void turns(void)
{
	check(false, "system.name=pipedream system.replicas=[2,1] train.batch=4 train.microbatches=2 machine.workers=3 "
		     "train.clip=0.3");
	check(true, "system.name=pipedream system.replicas=[1,2,1] system.noam=6 train.batch=4 train.microbatches=2 "
		    "machine.workers=4 "
		    "model.dropout=0.1 precision=f32");
	check(false, "system.name=pipedream system.replicas=[1,3] system.stashing=false train.batch=6 "
		     "train.microbatches=3 machine.workers=4");
	check_every(false,
		    "system.name=pipedream system.replicas=[2,1] system.drain=8 train.steps=56 train.batch=4 "
		    "train.microbatches=2 machine.workers=3",
		    4);
	check_every(true, ASYNC "system.drain=3 train.steps=42 machine.workers=3", 3);
}

static void synchronous(void)
{
	check(false, "system.name=gpipe machine.workers=3 system.backward=lifo");
	check(true, "system.name=1f1b machine.workers=2 model.tied=true train.clip=0.1 lr_schedule.name=cosine "
		    "lr_schedule.warmup=3");
}

static void sequential(void)
{
	check(true, "system.name=sequential model.dropout=0.1");
}

#define BF16 "precision=bf16 "

/* Versions in bf16 and what the masters have beyond them. */
static void bf16(void)
{
	check(false, BF16 "system.name=sequential");
	check(true, BF16 "system.name=1f1b machine.workers=2 model.tied=true train.clip=0.1");
	check(true, BF16 ASYNC "machine.workers=3 model.dropout=0.1");
	check(false, BF16 "system.name=pipemare system.t1_steps=9 system.t3_steps=5 train.batch=4 train.microbatches=2 "
			  "machine.workers=3");
	check(false, BF16 "system.name=xpipe train.batch=6 train.microbatches=3 machine.workers=3");
	check(false, BF16 ASYNC "mitigation.name=gap_aware machine.workers=3");
	check_every(false,
		    BF16 "system.name=local_sgd system.every=2 system.placement=rotated system.outer=nesterov "
			 "optimizer.name=adam train.batch=6 train.microbatches=3 machine.workers=3",
		    2);
	check(false, BF16 "system.name=avgpipe train.batch=8 train.microbatches=4 machine.workers=3");
}

#define PURE "precision=bf16_pure "

/* Which numbers a step rounds by goes on with the step's number. */
static void bf16_pure(void)
{
	check(true, PURE "system.name=sequential");
	check(true, PURE "system.name=1f1b machine.workers=2 model.tied=true train.clip=0.1");
	check(true, PURE ASYNC "machine.workers=3 model.dropout=0.1");
	check(false, PURE "system.name=pipemare system.t1_steps=9 system.t3_steps=5 train.batch=4 train.microbatches=2 "
			  "machine.workers=3");
}

void mr_suite_restored(void)
{
	MR_SUITE("restored");
	MR_TEST(pipedream);
	MR_TEST(vertical_sync);
	MR_TEST(arrivals);
	MR_TEST(greedy);
	MR_TEST(one_copy);
	MR_TEST(double_buffered);
	MR_TEST(aiming);
	MR_TEST(drawn);
	MR_TEST(batch_norm);
	MR_TEST(carried);
	MR_TEST(mitigated);
	MR_TEST(replicas);
	MR_TEST(turns);
	MR_TEST(synchronous);
	MR_TEST(sequential);
	MR_TEST(bf16);
	MR_TEST(bf16_pure);
}
