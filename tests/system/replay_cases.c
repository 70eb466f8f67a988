#include "replay_cases.h"

#include <string.h>

#include "check.h"
#include "rig.h"
#include "sync_cases.h"

/* 16 linear layers, the hidden ones 16 wide; at most 24 micro-batches a run. */
#define BLOCKS "model.depth=15 model.width=16 precision=f32"
#define ASYNC " system.name=pipedream train.batch=4 train.microbatches=1"

static uint64_t steps_of(const rig *r)
{
	return 24 / r->s.n_micro;
}

/* Half of the runs go on in three parts with an evaluation between. That must change nothing. */
static void run_once(rig *r, uint32_t i, rig_result *out)
{
	uint64_t steps = steps_of(r), at[3] = {steps * 7 / 24, steps / 2, steps}, each = mr_plan_stride(r->s.plan);

	for (int part = 0; part < 3; part++)
		at[part] -= at[part] % each;
	out->n_steps = 0;
	rig_delays(200, i + 1);
	for (int part = i % 2 ? 0 : 2; part < 3; part++) {
		double loss;

		rig_run(r, at[part], out);
		if (part < 2)
			MR_CHECK_OK(mr_executor_eval(&r->s.executor, NULL, NULL, &loss));
	}
	rig_delays(0, 0);
	rig_collect(r, false, out);
}

static const char *precision; /* all cases are to have this one, at one number of workers */

static void open_case(rig *r, bool gpt, const char *sets, unsigned workers)
{
	rig_init(r);
	if (gpt)
		rig_tokens(r, sets);
	else if (strstr(sets, "model.patch="))
		rig_vit(r);
	rig_sets(r, sets);
	if (precision)
		rig_set(r, "precision=%s", precision);
	rig_set(r, "machine.workers=%u", workers);
	rig_open(r);
}

static void engine_against(const rig_result *want, bool gpt, const char *sets, unsigned workers, uint32_t runs)
{
	rig_result got = {0};
	char what[300];
	rig r;

	open_case(&r, gpt, sets, workers);
	rig_start(&r);
	for (uint32_t i = 0; i < runs; i++) {
		snprintf(what, sizeof(what), "%s, %u workers, run %u", sets, workers, i);
		if (i > 0)
			MR_CHECK_OK(mr_engine_restart(r.s.executor.engine));
		run_once(&r, i, &got);
		CU_ASSERT_FATAL(rig_equal(&got, want, true, what));
	}
	rig_result_fini(&got);
	rig_fini(&r);
}

static void check(bool gpt, const char *sets, unsigned workers, uint32_t runs)
{
	rig_result want = {0}, other = {0};
	char what[300];
	rig r;

	snprintf(what, sizeof(what), "orders of the replay, %s, %u workers", sets, workers);
	open_case(&r, gpt, sets, workers);
	rig_replay(&r, steps_of(&r), MR_REPLAY_ROUND_ROBIN, 0, &want);
	CU_ASSERT_EQUAL_FATAL(want.n_steps, steps_of(&r));
	for (uint64_t seed = 0; seed <= (precision ? 1 : 3) && !RIG_TSAN; seed++) {
		rig_replay(&r, steps_of(&r), seed ? MR_REPLAY_RANDOM : MR_REPLAY_LAST_FIRST, seed, &other);
		CU_ASSERT_FATAL(rig_equal(&other, &want, true, what));
	}
	CU_ASSERT_EQUAL(want.inflight.n > 0, (r.s.plan->contract.flush == MR_FLUSH_NONE && workers > 1) ||
						     r.s.plan->contract.average.rule == MR_AVERAGE_ELASTIC);
	rig_fini(&r);
	engine_against(&want, gpt, sets, workers, runs);
	rig_result_fini(&want);
	rig_result_fini(&other);
}

static void at_each_size(bool gpt, const char *sets, uint32_t runs)
{
	bool one = RIG_TSAN || precision;

	for (unsigned d = one ? 3 : 2; d <= (one ? 3 : 4); d++)
		check(gpt, sets, d, runs);
}

void replay_pipedream(uint32_t runs)
{
	at_each_size(false, BLOCKS ASYNC, runs);
}

void replay_vertical_sync(uint32_t runs)
{
	at_each_size(false, BLOCKS ASYNC " system.vertical_sync=true", runs);
}

#define ARRIVALS BLOCKS ASYNC " train.steps=24 system.name=asgd" /* each cycle divides these steps */

void replay_arrivals(uint32_t runs)
{
	at_each_size(false, ARRIVALS, runs);
	at_each_size(false, ARRIVALS " optimizer.name=momentum train.clip=0.2", runs);
	check(false, ARRIVALS " system.times=[3,1] optimizer.name=adamw", 2, runs);
	check(false, ARRIVALS " system.times=[1,2,2] system.data=own system.rescaled=true", 3, runs);
}

void replay_cyclic(uint32_t runs)
{
	for (unsigned d = 2; d <= 4; d++) {
		char sets[200];

		snprintf(sets, sizeof(sets), BLOCKS " system.name=cyclic train.batch=%u train.microbatches=%u%s", 2 * d,
			 d,
			 d == 3   ? " system.rule=v2 optimizer.name=adamw"
			 : d == 4 ? " system.rule=v2 train.clip=0.2"
				  : "");
		if (!(RIG_TSAN || precision) || d == 3)
			check(false, sets, d, runs);
	}
	check(true, "system.name=cyclic train.batch=4 train.microbatches=4", 2, runs);
}

void replay_no_stash(uint32_t runs)
{
	at_each_size(false, BLOCKS ASYNC " system.stashing=false", runs);
	at_each_size(false, BLOCKS ASYNC " system.noam=6", runs);
	at_each_size(false, BLOCKS ASYNC " system.order=greedy system.noam=5", runs);
}

void replay_accumulating(uint32_t runs)
{
	at_each_size(false, BLOCKS " system.name=pipedream_2bw train.microbatches=4", runs);
	at_each_size(false, BLOCKS " system.name=pipedream_2bw system.recompute=always train.microbatches=4", runs);
	at_each_size(false, BLOCKS " system.name=ampnet system.in_flight=5 train.microbatches=2", runs);
	at_each_size(false, BLOCKS " system.name=paci train.microbatches=4 train.clip=0.1", runs);
	at_each_size(false, BLOCKS " system.name=wpipe train.microbatches=4", runs);
	at_each_size(false, BLOCKS " system.name=roundpipe system.optimizer=async train.microbatches=4", runs);
}

/* Does the system take this many workers? */
static bool takes(const char *sets, unsigned workers)
{
	mr_status st;
	rig r;

	rig_init(&r);
	rig_sets(&r, sets);
	rig_set(&r, "machine.workers=%u", workers);
	st = rig_try_open(&r);
	CU_ASSERT_FATAL(st == MR_OK || (st == MR_ECONFIG && strstr(mr_error_text(), "system.name: ")));
	rig_fini(&r);
	return st == MR_OK;
}

void replay_flushing(uint32_t runs)
{
	const char *system;

	for (uint32_t i = 0; (system = sync_system(i)); i++)
		for (unsigned d = 4, done = 0; d >= 2 && !((RIG_TSAN || precision) && done); d--) {
			char sets[300];

			/* Clipped and not by turns: then with a barrier, or local. */
			snprintf(sets, sizeof(sets), BLOCKS " %s train.microbatches=8 train.clip=%s", system,
				 (i + d) % 2 ? "0.1" : "0.0");
			if (takes(sets, d)) {
				check(false, sets, d, runs);
				done++;
			}
		}
}

void replay_aiming(uint32_t runs)
{
	at_each_size(false, BLOCKS ASYNC " system.name=pipemare system.t1_steps=9", runs);
	at_each_size(false,
		     BLOCKS " system.name=pipemare system.t3_steps=2 system.recompute=always train.microbatches=2 "
			    "optimizer.name=momentum",
		     runs);
	at_each_size(false, BLOCKS ASYNC " system.name=spectrain optimizer.name=momentum train.clip=0.2", runs);
	at_each_size(false, BLOCKS ASYNC " system.name=spectrain system.variant=v2 optimizer.name=ema", runs);
	at_each_size(false, BLOCKS ASYNC " system.name=pipeoptim", runs);
	at_each_size(false, BLOCKS " system.name=xpipe train.microbatches=4", runs);
}

void replay_mitigated(uint32_t runs)
{
	at_each_size(false, BLOCKS ASYNC " mitigation.name=staleness_aware", runs);
	at_each_size(false, BLOCKS ASYNC " mitigation.name=gap_aware train.clip=0.2", runs);
	at_each_size(false, BLOCKS ASYNC " system.stashing=false mitigation.name=dc_asgd mitigation.adaptive=true",
		     runs);
	at_each_size(false, BLOCKS " system.name=paci train.microbatches=4 mitigation.name=gap_aware", runs);
	at_each_size(false, BLOCKS " system.name=pipedream_2bw train.microbatches=4 mitigation.name=dc_asgd", runs);
	at_each_size(false,
		     BLOCKS ASYNC " optimizer.name=nadamw mitigation.name=delayed_nesterov mitigation.t1_steps=9",
		     runs);
	at_each_size(false, BLOCKS ASYNC " optimizer.name=lion", runs);
	at_each_size(false, BLOCKS ASYNC " system.name=pipeoptim mitigation.name=staleness_aware", runs);
	at_each_size(false, BLOCKS ASYNC " optimizer.name=momentum mitigation.name=spike_compensation", runs);
	at_each_size(false, BLOCKS ASYNC " mitigation.name=weight_prediction train.clip=0.2", runs);
	at_each_size(false,
		     BLOCKS
		     " system.name=paci train.microbatches=4 optimizer.name=ema mitigation.name=weight_prediction",
		     runs);
	at_each_size(false, BLOCKS " system.name=xpipe train.microbatches=4 mitigation.name=gap_aware", runs);
}

void replay_replicas(uint32_t runs)
{
	at_each_size(false, BLOCKS " system.name=local_sgd system.replicas=2 system.every=4 train.microbatches=2",
		     runs);
	at_each_size(false,
		     BLOCKS " system.name=local_sgd system.replicas=4 system.every=3 train.steps=1200 "
			    "system.placement=rotated system.outer=nesterov "
			    "system.state=averaged optimizer.name=adam train.microbatches=4",
		     runs);
	at_each_size(false,
		     BLOCKS " system.name=local_sgd system.replicas=3 system.every=2 train.batch=6 "
			    "train.microbatches=6 train.clip=0.1",
		     runs);
	at_each_size(false, BLOCKS " system.name=avgpipe train.microbatches=4", runs);
	at_each_size(false,
		     BLOCKS " system.name=avgpipe system.replicas=3 system.alpha=0.1 system.advance=2 train.batch=6 "
			    "train.microbatches=6",
		     runs);
	at_each_size(
		true,
		"precision=f32 model.dropout=0.1 system.name=avgpipe train.batch=4 train.microbatches=4 train.clip=0.5",
		runs);
}

void replay_turns(uint32_t runs)
{
	static const struct {
		const char *sets;
		unsigned workers;
	} cases[] = {
		{" system.replicas=[2,1]", 3},
		{" system.replicas=[1,2] system.stashing=false optimizer.name=muon optimizer.lr=0.01", 3},
		{" system.replicas=[2,2] train.clip=0.1", 4},
		{" system.replicas=[1,2,1] system.noam=6", 4},
		{" system.replicas=[3,1] train.batch=6 train.microbatches=3 optimizer.name=adamw", 4},
		{" system.replicas=[2,1] system.drain=8 train.steps=1200", 3},
	};
	char sets[300];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int gpt = 0; gpt < 2; gpt++) {
			snprintf(sets, sizeof(sets), "%s" ASYNC " train.microbatches=2%s",
				 gpt ? "precision=f32 model.dropout=0.1" : BLOCKS, cases[i].sets);
			check(gpt, sets, cases[i].workers, runs);
		}
	at_each_size(false, BLOCKS ASYNC " system.drain=6 train.steps=1200", runs);
}

void replay_gpt(uint32_t runs)
{
	at_each_size(true, "precision=f32 model.dropout=0.1 train.clip=0.5" ASYNC, runs);
}

void replay_llama(uint32_t runs)
{
	at_each_size(true, "precision=f32 model.name=llama model.kv_heads=1 system.stashing=false train.clip=0.5" ASYNC,
		     runs);
	at_each_size(true,
		     "precision=f32 model.name=llama model.kv_heads=1 system.name=pipedream_2bw "
			"system.recompute=always "
		     "train.microbatches=4",
		     runs);
}

void replay_gnmt(uint32_t runs)
{
	at_each_size(false,
		     "precision=f32 model.name=gnmt model.layers=2 model.width=6 data.name=reversal data.letters=5 "
		     "data.shortest=1 data.longest=4 train.clip=0.5" ASYNC,
		     runs);
}

void replay_dlrm(uint32_t runs)
{
	static const char model[] =
		"model.name=dlrm model.rows=[41,7,19,300,5,23,11,90,13] model.width=6 model.bottom=[8,6,6] "
		"model.top=[9,8,7,6] data.name=clicks data.numbers=3 data.categories=9 data.values=400 precision=f32 ";
	static const char *const systems[] = {
		"optimizer.name=momentum train.clip=0.5" ASYNC,
		"system.name=pipedream_2bw system.recompute=always train.microbatches=4",
	};
	char sets[500];

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		snprintf(sets, sizeof(sets), "%s%s", model, systems[i]);
		at_each_size(false, sets, runs);
	}
}

void replay_s2vt(uint32_t runs)
{
	at_each_size(false,
		     "precision=f32 model.name=s2vt model.projection=4 model.embed=3 model.width=5 data.name=captions "
		     "data.frames=4 data.features=3 data.words=5 data.longest=3 train.clip=0.5" ASYNC,
		     runs);
}

void replay_vit(uint32_t runs)
{
	at_each_size(false, "precision=f32 model.patch=16 train.clip=0.5" ASYNC, runs);
}

void replay_networks(uint32_t runs)
{
	const char *network;
	char sets[500];

	for (size_t i = 0; (network = rig_network(i)); i++) {
		snprintf(sets, sizeof(sets), "%s model.tied=false precision=f32" ASYNC, network);
		at_each_size(true, sets, runs);
		snprintf(sets, sizeof(sets), "%s model.tied=false precision=f32" ASYNC " system.name=pipedream_2bw "
			 "train.microbatches=4", network);
		check(true, sets, 2, runs);
	}
}

void replay_drawn(uint32_t runs)
{
	at_each_size(false, BLOCKS ASYNC " system.name=rpd train.steps=24", runs);
	at_each_size(false, BLOCKS ASYNC " system.name=rpd train.steps=24 system.delta=20 system.seed=5", runs);
	at_each_size(false, BLOCKS ASYNC " system.name=rpd train.steps=24 system.delays=max system.delta=2", runs);
	at_each_size(false,
		     BLOCKS ASYNC " system.name=rpd system.delays=exact system.stage=timeline system.batch=timeline",
		     runs);
	at_each_size(false, BLOCKS ASYNC " system.name=rpd system.delta=12 system.ringmaster=9", runs);
	at_each_size(true, "precision=f32 model.dropout=0.1" ASYNC " system.name=rpd train.steps=24", runs);
	at_each_size(true,
		     "precision=f32 model.dropout=0.1" ASYNC
		     " system.name=rpd system.delta=3 optimizer.name=muon optimizer.lr=0.01",
		     runs);
}

void replay_dnnl(uint32_t runs)
{
	if (mr_kernels_find("auto", MR_F32)) {
		at_each_size(false, BLOCKS ASYNC " backend=auto", runs);
		at_each_size(false, BLOCKS ASYNC " backend=auto system.name=pipeoptim", runs);
		check(true, "precision=f32 backend=onednn model.dropout=0.1" ASYNC, 2, runs);
		check(true, "precision=f32 backend=onednn system.name=1f1b train.microbatches=4", 2, runs);
		check(true, "precision=bf16 backend=fused model.dropout=0.1" ASYNC, 2, runs);
		check(true, "precision=bf16 backend=fused system.name=1f1b train.microbatches=4", 2, runs);
		check(true, "precision=bf16_pure backend=auto model.dropout=0.1" ASYNC, 2, runs);
		check(true, "precision=bf16_pure backend=auto system.name=data_parallel train.microbatches=4",
		      2, runs);
	}
}

void replay_batch_norm(uint32_t runs)
{
	static const struct {
		const char *sets;
		unsigned workers;
	} cases[] = {
		{ASYNC, 3},
		{ASYNC " system.vertical_sync=true", 2},
		{ASYNC " system.stashing=false precision=bf16", 3},
		{ASYNC " system.replicas=[2,1] train.microbatches=2", 3},
		{ASYNC " system.replicas=[1,2,1] system.noam=6 train.microbatches=2", 4},
		{ASYNC " system.replicas=[3,1] train.batch=6 train.microbatches=3", 4},
		{ASYNC " system.name=spectrain", 3},
		{ASYNC " system.name=rpd train.steps=24", 2},
		{" system.name=pipedream_2bw train.microbatches=4", 3},
		{" system.name=pipedream_2bw system.recompute=always train.microbatches=4 precision=bf16_pure", 2},
		{" system.name=ampnet system.in_flight=5 train.microbatches=2", 3},
		{" system.name=pipemare system.t3_steps=2 system.recompute=always train.microbatches=2", 3},
		{" system.name=wpipe train.microbatches=4", 2},
		{" system.name=roundpipe system.optimizer=async train.microbatches=4", 3},
		{" system.name=xpipe train.microbatches=4", 3},
		{" system.name=local_sgd system.replicas=2 system.every=3 train.steps=1200 train.microbatches=2",
		 2},
		{" system.name=local_sgd system.replicas=2 system.every=2 train.steps=1200 system.outer=nesterov "
		 "train.microbatches=2",
		 2},
		{" system.name=avgpipe train.microbatches=4", 2},
		{" system.name=zb_h2 system.steal=true train.microbatches=4", 2},
		{" system.name=zb_h1 train.microbatches=4 train.clip=0.1", 3},
		{" system.name=data_parallel system.weights=private train.microbatches=4", 4},
		{" system.name=data_parallel system.gradients=joint train.microbatches=4", 3},
		{" system.name=data_parallel system.gradients=released system.chunks=3 train.microbatches=4", 3},
		{" system.name=data_parallel system.parameters=sharded system.chunks=4 train.microbatches=4", 3},
	};
	char sets[300];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(sets, sizeof(sets), "model.depth=4 model.width=8 model.norm=batch precision=f32 "
			"train.batch=8%s",
			 cases[i].sets);
		check(false, sets, cases[i].workers, runs);
	}
}

void replay_carried(uint32_t runs)
{
	static const struct {
		const char *sets;
		unsigned workers;
	} cases[] = {
		{ASYNC, 3},
		{ASYNC " system.noam=6", 2},
		{ASYNC " system.vertical_sync=true precision=bf16", 2},
		{ASYNC " system.replicas=[2,1] train.microbatches=2", 3},
		{ASYNC " system.replicas=[1,2,1] system.noam=6 train.microbatches=2", 4},
		{ASYNC " system.name=spectrain", 3},
		{ASYNC " system.name=rpd train.steps=24", 2},
		{" system.name=pipedream_2bw train.microbatches=4", 3},
		{" system.name=pipedream_2bw system.recompute=always train.microbatches=4 precision=bf16_pure", 2},
		{" system.name=ampnet system.in_flight=5 train.microbatches=2", 3},
		{" system.name=pipemare system.t3_steps=2 system.recompute=always train.microbatches=2", 3},
		{" system.name=wpipe train.microbatches=4", 2},
		{" system.name=roundpipe system.optimizer=async train.microbatches=4", 3},
		{" system.name=xpipe train.microbatches=4", 3},
		{" system.name=local_sgd system.replicas=2 system.every=3 train.steps=1200 train.microbatches=2",
		 2},
		{" system.name=avgpipe train.microbatches=4", 2},
		{" system.name=zb_h2 system.steal=true train.microbatches=4", 2},
		{" system.name=zb_h1 train.microbatches=4 train.clip=0.1", 3},
		{" system.name=data_parallel system.weights=private train.microbatches=4", 4},
	};
	char sets[500];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(sets, sizeof(sets),
			 "model.name=awd_lm model.layers=4 model.embed=6 model.width=8 model.context=3 "
			 "model.tied=false model.weight_dropout=0.3 data.order=columns precision=f32 train.batch=4%s",
			 cases[i].sets);
		check(true, sets, cases[i].workers, runs);
	}
}

void replay_bf16(uint32_t runs)
{
	(void)runs;
	precision = "bf16";
	replay_pipedream(1);
	replay_vertical_sync(1);
	replay_arrivals(1);
	replay_cyclic(1);
	replay_no_stash(1);
	replay_accumulating(1);
	replay_aiming(1);
	replay_mitigated(1);
	replay_replicas(1);
	if (!RIG_TSAN) { /* threads do the same as in f32 */
		replay_turns(1);
		replay_flushing(1);
	}
	replay_gpt(1);
	replay_drawn(1);
	precision = NULL;
}

void replay_bf16_pure(uint32_t runs)
{
	(void)runs;
	precision = "bf16_pure";
	replay_pipedream(1);
	replay_accumulating(1);
	replay_aiming(1);
	if (!RIG_TSAN) {
		replay_turns(1);
		replay_flushing(1);
	}
	replay_gpt(1);
	replay_drawn(1);
	precision = NULL;
}
