/*
 * test_shares.c - workers of several shares (exec/shares.h): the bits depend on the number of shares and the order of
 * sums alone, not on system, timing or pauses; and what they compute is what the whole model computes, to rounding.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bounded_link.h"
#include "check.h"
#include "exec/shares.h"
#include "rig.h"
#include "schedules/registry.h"
#include "session/memory_plan.h"
#include "session/shares.h"

#define F64 "backend=reference precision=f64 "
#define GPT "train.batch=8 train.microbatches=4 optimizer.name=adamw "
#define LLAMA \
	"model.name=llama model.layers=3 model.width=16 model.heads=4 model.kv_heads=2 model.hidden=24 " \
	"model.context=8 " GPT
#define BY_ROWS "machine.shares=2 machine.sequence_parallel=true"

static void open_rig(rig *r, const char *sets, const char *more)
{
	rig_init(r);
	if (strncmp(sets, "mlp ", 4) != 0)
		rig_tokens(r, sets);
	rig_sets(r, strncmp(sets, "mlp ", 4) ? sets : sets + 4);
	rig_sets(r, more);
	rig_open(r);
}

static void train(const char *sets, const char *more, uint64_t steps, rig_result *out)
{
	rig r;

	open_rig(&r, sets, more);
	rig_train(&r, steps, true, out);
	rig_fini(&r);
}

/* Every system whose gradients are summed in ascending order ends as sequential does. */
static void as_sequential(const char *sets, const char *shares)
{
	static const char *const systems[] = {"1f1b", "gpipe", "zb_h1", "interleaved", "dapple", "zb_v", "hanayo"};
	rig_result alone = {0};
	char more[200];

	snprintf(more, sizeof(more), "%s system.name=sequential machine.workers=1", shares);
	train(sets, more, 4, &alone);
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i += RIG_SANITIZED ? 3 : 1) {
		rig_result piped = {0};

		snprintf(more, sizeof(more), "%s system.name=%s machine.workers=2", shares, systems[i]);
		train(sets, more, 4, &piped);
		CU_ASSERT(rig_equal(&alone, &piped, false, systems[i]));
		rig_result_fini(&piped);
	}
	rig_result_fini(&alone);
}

static void bits_of_sequential(void)
{
	as_sequential(F64 GPT, "machine.shares=2");
	as_sequential("backend=reference precision=f32 train.clip=0.3 " LLAMA, "machine.shares=2");
	if (mr_kernels_find("auto", MR_F32))
		as_sequential("backend=auto precision=f32 train.norm_every=1 " GPT,
			      "machine.shares=2 machine.threads=2");
	if (mr_kernels_find("auto", MR_BF16))
		as_sequential("backend=auto precision=bf16 " LLAMA, "machine.shares=2");
}

/* Of fewer heads of keys and values than shares: whose gradients several shares sum, in each micro-batch. */
static void bits_of_copied_heads(void)
{
	as_sequential(F64 LLAMA "model.bias=qkv train.clip=0.3", "machine.shares=4");
	as_sequential("backend=reference precision=f32 " LLAMA "model.kv_heads=1 train.gradients=merged", BY_ROWS);
	if (mr_kernels_find("auto", MR_F32))
		as_sequential("backend=auto precision=f32 train.norm_every=1 " LLAMA,
			      "machine.shares=4 machine.threads=2");
	if (mr_kernels_find("auto", MR_BF16))
		as_sequential("backend=auto precision=bf16_pure " LLAMA, "machine.shares=4");
}

#define WORDS "data.vocab=byte model.tied=true "

/* Of a table of words that embedding and head share each share has a part. */
static void bits_of_tied_words(void)
{
	as_sequential(F64 "model.layers=4 train.clip=0.3 " WORDS GPT, "machine.shares=2");
	as_sequential("backend=reference precision=f32 " LLAMA WORDS, BY_ROWS);
	if (mr_kernels_find("auto", MR_F32))
		as_sequential("backend=auto precision=f32 train.norm_every=1 " WORDS GPT,
			      "machine.shares=2 machine.threads=2");
	if (mr_kernels_find("auto", MR_BF16))
		as_sequential("backend=auto precision=bf16_pure " WORDS GPT, "machine.shares=2");
}

/* Systems of another order of sums have the same weights, too. */
static void bits_of_other_orders(void)
{
	static const char *const orders[][4] = {{"chimera", "gems", "weipipe", "bitpipe"},
						{"data_parallel", "dualpipe", "roundpipe"}};

	for (size_t i = 0; i < 2; i++) {
		rig_result first = {0};

		for (size_t k = 0; k < 4 && orders[i][k]; k += RIG_SANITIZED ? 2 : 1) {
			rig_result other = {0};
			char more[200];

			snprintf(more, sizeof(more), "machine.shares=2 machine.workers=2 system.name=%s", orders[i][k]);
			train(F64 "model.layers=4 train.clip=0.3 " GPT, more, 4, k ? &other : &first);
			CU_ASSERT(!k || rig_equal(&first, &other, false, more));
			rig_result_fini(&other);
		}
		rig_result_fini(&first);
	}
}

/* Norms, sums and dropout by rows. */
static void bits_by_rows(void)
{
	as_sequential(F64 "model.layers=4 model.dropout=0.2 " GPT, BY_ROWS);
	as_sequential("backend=reference precision=f32 train.clip=0.3 " LLAMA, BY_ROWS);
	as_sequential(F64 "model.layers=4 model.heads=4 " GPT, "machine.shares=4 machine.sequence_parallel=true");
	if (mr_kernels_find("auto", MR_F32))
		as_sequential("backend=auto precision=f32 train.norm_every=1 " GPT, BY_ROWS " machine.threads=2");
	if (mr_kernels_find("auto", MR_BF16))
		as_sequential("backend=auto precision=bf16 " LLAMA, BY_ROWS);
}

/* --- shares that share no memory --- */

static uint32_t n_together; /* workers of all shares that do, in their order */

static bool carries_between(const mr_link_kind *k, const mr_edge *e)
{
	return (k->first + e->from) / n_together != (k->first + e->to) / n_together;
}

static void train_over(rig *r, const mr_link_kind *const *kinds, rig_result *out)
{
	mr_run_config c = mr_session_run_config(&r->s, NULL);

	c.links = kinds;
	MR_CHECK_OK(mr_session_start_shares(&r->s, &c, NULL));
	rig_run(r, 2, out);
	rig_collect(r, true, out);
	rig_run(r, 4, out);
	rig_collect(r, true, out);
	mr_executor_fini(&r->s.executor);
}

/* Each worker of each share by itself, then the first @together of them, and so on: the bits of shared memory. */
static void check_over_links(const char *more, uint32_t together)
{
	mr_link_kind between = bounded_link;
	const mr_link_kind *const everywhere[] = {&bounded_link, NULL};
	const mr_link_kind *const groups[] = {&between, mr_link_kind_at(0), NULL};
	uint64_t before = atomic_load(&bounded_arrived[MR_EDGE_MEETING]);
	rig_result want = {0}, got = {0};
	rig r;

	between.carries = carries_between;
	n_together = together;
	open_rig(&r, "train.norm_every=0 " GPT, more);
	train_over(&r, NULL, &want);
	CU_ASSERT_EQUAL(atomic_load(&bounded_arrived[MR_EDGE_MEETING]), before);
	train_over(&r, everywhere, &got);
	CU_ASSERT(rig_equal(&got, &want, true, more));
	CU_ASSERT(atomic_load(&bounded_arrived[MR_EDGE_MEETING]) > before + 50);
	got.n_steps = 0;
	train_over(&r, groups, &got);
	CU_ASSERT(rig_equal(&got, &want, true, more));
	rig_result_fini(&want);
	rig_result_fini(&got);
	rig_fini(&r);
}

static void over_links(void)
{
	check_over_links(F64 "machine.shares=2 machine.workers=1", 1);
	check_over_links(F64 "machine.shares=2 machine.workers=2 system.name=1f1b train.clip=0.3", 2);
	check_over_links(F64 "machine.shares=4 model.heads=4 machine.workers=2 system.name=zb_h1", 4);
	check_over_links(F64 "machine.shares=4 model.heads=4 machine.workers=2 machine.sequence_parallel=true "
			 "system.name=data_parallel train.clip=0.1", 3);
	check_over_links("backend=reference precision=f32 model.layers=4 machine.shares=2 machine.workers=2 "
			 "machine.sequence_parallel=true model.dropout=0.2 system.name=pipedream "
			 "train.microbatches=1", 1);
	check_over_links(F64 LLAMA "machine.shares=4 machine.workers=2 system.name=1f1b train.clip=0.3", 2);
	check_over_links(F64 WORDS "machine.shares=2 machine.workers=2 system.name=1f1b train.clip=0.3", 1);
	if (mr_kernels_find("auto", MR_BF16))
		check_over_links("backend=auto precision=bf16 machine.threads=2 machine.shares=2 machine.workers=2 "
				 "machine.sequence_parallel=true system.name=interleaved", 2);
}

/* Largest difference of a number of @a from that of @b, by the largest of its tensor. */
static double distance(const mr_state_list *a, const mr_state_list *b)
{
	double most = 0;

	CU_ASSERT_EQUAL_FATAL(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		const double *x = a->at[i].data, *y = b->at[i].data;
		double far = 0, large = 1e-30;

		CU_ASSERT_STRING_EQUAL_FATAL(a->at[i].name, b->at[i].name);
		CU_ASSERT_EQUAL_FATAL(a->at[i].bytes, b->at[i].bytes);
		for (size_t j = 0; j < a->at[i].bytes / sizeof(double); j++) {
			far = fmax(far, fabs(x[j] - y[j]));
			large = fmax(large, fabs(y[j]));
		}
		most = fmax(most, far / large);
	}
	return most;
}

/* The whole model's numbers: weights, optimizer state, losses, norms, evaluation. */
static void near_whole(const char *sets, const char *system, unsigned shares)
{
	rig_result whole = {0}, cut = {0};
	char more[200];

	snprintf(more, sizeof(more), "%s machine.workers=2 train.norm_every=1 ", system);
	train(sets, more, 4, &whole);
	snprintf(more, sizeof(more), "%s machine.workers=2 train.norm_every=1 machine.shares=%u", system, shares);
	train(sets, more, 4, &cut);
	CU_ASSERT(distance(&cut.model, &whole.model) < 1e-10);
	CU_ASSERT(distance(&cut.optimizer, &whole.optimizer) < 1e-9);
	CU_ASSERT_EQUAL_FATAL(cut.n_steps, whole.n_steps);
	for (uint64_t i = 0; i < whole.n_steps; i++) {
		CU_ASSERT_DOUBLE_EQUAL(cut.step[i].loss, whole.step[i].loss, 1e-11);
		CU_ASSERT_DOUBLE_EQUAL(cut.step[i].norm, whole.step[i].norm, 1e-10 * fmax(1, whole.step[i].norm));
	}
	CU_ASSERT_DOUBLE_EQUAL(cut.eval, whole.eval, 1e-11);
	rig_result_fini(&whole);
	rig_result_fini(&cut);
}

/* Every system but those that are refused, on the gpt, and one on each other network. */
static void near_the_whole_model(void)
{
	const mr_sched_ops *ops;
	uint32_t n = 0;

	for (uint32_t i = 0; (ops = mr_schedule_at(i)); i++) {
		char system[120], sets[200];
		unsigned micro = 4;

		if (!strcmp(ops->name, "local_sgd") || !strcmp(ops->name, "avgpipe") || (RIG_SANITIZED && i % 5))
			continue;
		if (!strcmp(ops->name, "pipedream") || !strcmp(ops->name, "spectrain") ||
		    !strcmp(ops->name, "pipeoptim") || !strcmp(ops->name, "rpd") || !strcmp(ops->name, "asgd"))
			micro = 1;
		snprintf(system, sizeof(system), "system.name=%s%s", ops->name,
			 !strcmp(ops->name, "helixpipe") ? " model.layers=3" : "");
		snprintf(sets, sizeof(sets), F64 "train.batch=8 train.microbatches=%u optimizer.name=momentum "
						 "optimizer.lr=0.05", micro);
		near_whole(sets, system, 2);
		n++;
	}
	CU_ASSERT(n >= (RIG_SANITIZED ? 5 : 30));
	near_whole(F64 LLAMA "train.clip=0.3", "system.name=1f1b", 2);
	near_whole(F64 "model.layers=4 model.tied=true " GPT, "system.name=1f1b", 2);
	near_whole(F64 "train.frozen=h.0,h.1.attn " GPT, "system.name=zb_h1", 2);
	near_whole("mlp " F64 "train.batch=8 train.microbatches=4", "system.name=data_parallel", 4);
}

/* Where shares have copies of heads of keys and values: W apart, steps inside, late sums, frozen layers, by rows. */
static void near_the_whole_with_copies(void)
{
	static const char *const systems[] = {
		"1f1b model.bias=qkv", "zb_h1 train.frozen=model.layers.0", "data_parallel train.clip=0.3",
		"chimera train.gradients=merged", "pipedream train.microbatches=1",
		"pipedream_2bw mitigation.name=gap_aware", "interleaved machine.sequence_parallel=true",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		char system[120];

		snprintf(system, sizeof(system), "system.name=%s", systems[i]);
		near_whole(F64 LLAMA, system, 4);
		snprintf(system, sizeof(system), "model.kv_heads=1 system.name=%s", systems[i]);
		near_whole(F64 LLAMA "model.layers=4", system, 2);
	}
}

/* Are the keys and values of @a, of one share, those of @b, weights or states? Returns how many tensors there are. */
static uint32_t check_copies(const mr_state_list *a, const mr_state_list *b, bool same)
{
	uint32_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!strstr(a->at[i].name, ".k_proj.") && !strstr(a->at[i].name, ".v_proj."))
			continue;
		CU_ASSERT_EQUAL(memcmp(a->at[i].data, b->at[i].data, a->at[i].bytes) == 0, same);
		n++;
	}
	return n;
}

static void copies_stay_the_same(void)
{
	static const char *const types[] = {"f64", "f32", "bf16", "bf16_pure", "bf16 backend=auto"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		mr_state st[4];
		char more[60];
		rig r;

		if (strstr(types[i], "auto") && !mr_kernels_find("auto", MR_BF16))
			continue;
		snprintf(more, sizeof(more), "train.norm_every=0 precision=%s", types[i]);
		open_rig(&r, LLAMA "machine.shares=4 machine.workers=2", more);
		rig_start(&r);
		rig_run(&r, 6, NULL);
		for (uint32_t q = 0; q < 4; q++)
			MR_CHECK_OK(mr_state_of_run(r.s.executor.shares->run[q], &st[q]));
		for (uint32_t q = 0; q < 3; q++) {
			CU_ASSERT_EQUAL(check_copies(&st[q].model, &st[q + 1].model, q != 1), 3 * 2);
			CU_ASSERT(check_copies(&st[q].optimizer, &st[q + 1].optimizer, q != 1) >= 3 * 2 * 2);
		}
		for (uint32_t q = 0; q < 4; q++)
			mr_state_fini(&st[q]);
		rig_fini(&r);
	}
}

/* Of a table of words that embedding and head share: in one stage and in two, with a mask of words, and by rows. */
static void near_the_whole_with_tied_words(void)
{
	static const char *const systems[] = {
		"1f1b", "zb_h1 model.context=6", "data_parallel train.clip=0.3", "chimera train.gradients=merged",
		"gpipe train.microbatches=1", "interleaved machine.sequence_parallel=true",
	};
	char system[120];

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		snprintf(system, sizeof(system), "system.name=%s", systems[i]);
		near_whole(F64 "model.layers=4 " WORDS GPT, system, 2);
		if (strstr(system, "1f1b") || strstr(system, "parallel"))
			near_whole(F64 LLAMA WORDS, system, 4);
	}
	near_whole("model.name=awd_lm model.layers=3 model.embed=8 model.width=10 model.context=5 "
		   "model.word_dropout=0.3 " F64 WORDS GPT, "system.name=1f1b", 2);
}

/* The same by rows: systems of each kind, with and without a sum in W apart, also by masks. */
static void near_the_whole_by_rows(void)
{
	static const char *const systems[] = {
		"1f1b", "zb_h1", "pipedream_2bw", "chimera", "data_parallel", "interleaved", "pipemare", "helixpipe",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i += RIG_SANITIZED ? 3 : 1) {
		char system[120];

		snprintf(system, sizeof(system), "system.name=%s machine.sequence_parallel=true%s", systems[i],
			 !strcmp(systems[i], "helixpipe") ? " model.layers=3" : "");
		near_whole(F64 "model.dropout=0.2 train.batch=8 train.microbatches=4 optimizer.name=momentum "
			       "optimizer.lr=0.05", system, 2);
	}
	near_whole(F64 LLAMA "train.clip=0.3", "system.name=1f1b machine.sequence_parallel=true", 2);
	near_whole(F64 "model.layers=4 model.heads=4 model.tied=true " GPT,
		   "system.name=1f1b machine.sequence_parallel=true", 4);
	near_whole(F64 "train.frozen=h.0,h.1.attn,h.2.ln_1 " GPT,
		   "system.name=zb_h1 machine.sequence_parallel=true", 2);
}

/* Mitigations of staleness take each weight by itself: at a share those of its own. */
static void mitigated(void)
{
	static const char *const names[] = {
		"staleness_aware", "gap_aware", "dc_asgd", "dc_asgd mitigation.adaptive=true",
		"delayed_nesterov mitigation.t1_steps=9 optimizer.nesterov=true", "spike_compensation",
		"spike_compensation mitigation.predict=true", "weight_prediction", "error_feedback",
	};
	const char *sets = F64 "train.batch=8 train.microbatches=2 optimizer.name=momentum optimizer.lr=0.05";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i += RIG_SANITIZED ? 3 : 1) {
		char system[160];

		snprintf(system, sizeof(system), "system.name=pipedream_2bw mitigation.name=%s", names[i]);
		near_whole(sets, system, 2);
		snprintf(system, sizeof(system), "system.name=pipedream_2bw mitigation.name=%s "
						 "machine.sequence_parallel=true", names[i]);
		near_whole(sets, system, 2);
	}
}

/* --- replay --- */

typedef struct replayed {
	mr_replay *replay;
	mr_replay_order order;
	mr_status st;
} replayed;

static void *carry_out(void *arg)
{
	replayed *r = arg;

	r->st = mr_replay_run(r->replay, 5, r->order, 7);
	return NULL;
}

static void open_two(rig *r, mr_shares **out)
{
	mr_run_config c = mr_session_run_config(&r->s, NULL);

	MR_CHECK_OK(mr_shares_create(2, &c, out));
}

/* A replay of each share, on a thread of its own, in one order: the same as the engine's runs. */
static void replays(const char *sets, const char *more, mr_replay_order order)
{
	mr_shares *shares;
	replayed of[2];
	pthread_t thread[2];
	rig r;

	open_rig(&r, sets, more);
	rig_start(&r);
	rig_run(&r, 5, NULL);
	open_two(&r, &shares);
	shares->apart = true;
	for (uint32_t q = 0; q < 2; q++) {
		mr_run_config c = mr_session_run_config(&r.s, NULL);

		c.graph = r.s.share[q].graph;
		c.place = &r.s.share[q].place;
		c.shares = shares;
		c.share = q;
		of[q].order = order;
		MR_CHECK_OK(mr_replay_create(&c, &of[q].replay));
		shares->run[q] = mr_replay_run_of(of[q].replay);
	}
	shares->apart = false;
	for (uint32_t q = 0; q < 2; q++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[q], NULL, carry_out, &of[q]), 0);
	for (uint32_t q = 0; q < 2; q++) {
		rig_result engine = {0}, replay = {0};

		CU_ASSERT_EQUAL_FATAL(pthread_join(thread[q], NULL), 0);
		CU_ASSERT_EQUAL_FATAL(of[q].st, MR_OK);
		rig_collect_run(r.s.executor.shares->run[q], &engine);
		rig_collect_run(mr_replay_run_of(of[q].replay), &replay);
		CU_ASSERT(rig_equal(&engine, &replay, true, more));
		rig_result_fini(&engine);
		rig_result_fini(&replay);
	}
	for (uint32_t q = 0; q < 2; q++)
		mr_replay_destroy(of[q].replay);
	mr_shares_destroy(shares);
	rig_fini(&r);
}

static void bits_of_replays(void)
{
	replays(F64 GPT, "machine.shares=2 system.name=1f1b machine.workers=2", MR_REPLAY_ROUND_ROBIN);
	replays(F64 LLAMA "train.clip=0.3", "machine.shares=2 system.name=chimera machine.workers=2",
		MR_REPLAY_RANDOM);
	replays(F64 GPT, "machine.shares=2 system.name=pipedream_2bw machine.workers=2", MR_REPLAY_LAST_FIRST);
	replays(F64 LLAMA, BY_ROWS " system.name=zb_h1 machine.workers=2", MR_REPLAY_RANDOM);
	replays(F64 LLAMA "model.kv_heads=1", "machine.shares=2 system.name=zb_h1 machine.workers=2", MR_REPLAY_RANDOM);
	if (mr_kernels_find("auto", MR_BF16) && !RIG_SANITIZED)
		replays("backend=auto precision=bf16_pure " GPT,
			"machine.shares=2 system.name=zb_h1 machine.workers=2 machine.threads=2",
			MR_REPLAY_ROUND_ROBIN);
}

/* --- a state that is saved and loaded --- */

static void goes_on(const char *system)
{
	rig_result whole = {0}, half = {0}, rest = {0};
	mr_state st;
	rig r;

	train(F64 GPT, system, 6, &whole);
	open_rig(&r, F64 GPT, system);
	rig_train(&r, 3, false, &half);
	rig_fini(&r);
	open_rig(&r, F64 GPT, system);
	rig_start(&r);
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, 3));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, &half));
	mr_state_fini(&st);
	rig_run(&r, 6, &rest);
	rig_collect(&r, true, &rest);
	CU_ASSERT(rig_equal_weights(&whole, &rest, system));
	CU_ASSERT_EQUAL(whole.eval, rest.eval);
	rig_result_fini(&whole);
	rig_result_fini(&half);
	rig_result_fini(&rest);
	rig_fini(&r);
}

static void goes_on_from_its_state(void)
{
	goes_on("machine.shares=2 system.name=1f1b machine.workers=2");
	goes_on("machine.shares=2 system.name=pipedream_2bw machine.workers=2");
	goes_on("machine.shares=2 system.name=pipedream_2bw machine.workers=2 mitigation.name=gap_aware");
	goes_on("machine.shares=2 system.name=ampnet machine.workers=2");
	goes_on(BY_ROWS " system.name=1f1b machine.workers=2");
}

/* --- what they read of each other --- */

/* @want: bytes that a share reads in a step. */
static void read_as_planned(const char *more, uint64_t want)
{
	mr_memory_plan planned, laid_out;
	rig r;

	open_rig(&r, F64 LLAMA "system.name=1f1b machine.workers=2 ", more);
	MR_CHECK_OK(mr_memory_plan_of(&r.s, NULL, &planned));
	rig_start(&r);
	MR_CHECK_OK(mr_memory_plan_of(&r.s, r.s.executor.shares->run[0], &laid_out));
	CU_ASSERT_EQUAL(planned.bytes[MR_MEMORY_WORKERS], laid_out.bytes[MR_MEMORY_WORKERS]);
	for (uint16_t q = 0; q < 2; q++)
		for (uint16_t w = 0; w < 2; w++)
			r.s.executor.shares->run[q]->worker[w].met_bytes = 0;
	rig_run(&r, 3, NULL);
	for (uint32_t q = 0; q < 2; q++) {
		const mr_run *run = r.s.executor.shares->run[q];

		CU_ASSERT_EQUAL(run->worker[0].met_bytes + run->worker[1].met_bytes,
				3 * mr_session_shared_bytes(&r.s));
	}
	CU_ASSERT_EQUAL(mr_session_shared_bytes(&r.s), want);
	rig_fini(&r);
}

static void bytes_as_planned(void)
{
	enum { VALUE = 8 * 16 * 8 * sizeof(double), GAIN = 4 * 16 * sizeof(double) }; /* of a step */

	/* three blocks of two pairs, each of which sums a value and a gradient of 8 rows of 16 for 8 samples */
	read_as_planned("machine.shares=2", 3 * 2 * 2 * VALUE);
	/* by rows a block puts four values of half the rows together and sums four of them; then what the embedding and
	 * the head read, and the gradients of seven norms for each of four micro-batches */
	read_as_planned(BY_ROWS, (3 * 8 + 2) * VALUE / 2 + 7 * GAIN);
	/* and of three blocks the gradients of 4 columns of keys and of values, for each of four micro-batches */
	read_as_planned("machine.shares=2 model.kv_heads=1", 3 * 2 * 2 * VALUE + 3 * 2 * 4 * GAIN);
}

/* --- refusals --- */

static void check_refused_by(const char *key, const char *sets, const char *text)
{
	rig r;

	rig_init(&r);
	rig_tokens(&r, "");
	rig_sets(&r, sets);
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), key));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), text));
	if (!strstr(mr_error_text(), text))
		fprintf(stderr, "%s: %s\n", sets, mr_error_text());
	rig_fini(&r);
}

static void check_refused(const char *sets, const char *text)
{
	check_refused_by("machine.shares", sets, text);
}

static void refused_by_name(void)
{
	check_refused("machine.shares=3", "cut into 3 shares");
	check_refused_by("machine.sequence_parallel", "machine.shares=2 machine.sequence_parallel=true model.context=7",
			 "positions which 2 shares");
	check_refused("machine.shares=2 system.name=local_sgd", "local_sgd averages replicas");
	check_refused("machine.shares=2 optimizer.name=muon", "muon needs the whole matrix");
	check_refused("machine.shares=2 system.name=zb_h1 system.optimizer=validated train.clip=1", "repeats");
}

void mr_suite_shares(void); /* the runner declares it too */

void mr_suite_shares(void)
{
	MR_SUITE("shares");
	MR_TEST(bits_of_sequential);
	MR_TEST(bits_of_copied_heads);
	MR_TEST(bits_of_tied_words);
	MR_TEST(bits_of_other_orders);
	MR_TEST(over_links);
	MR_TEST(bits_by_rows);
	MR_TEST(near_the_whole_model);
	MR_TEST(near_the_whole_with_copies);
	MR_TEST(copies_stay_the_same);
	MR_TEST(near_the_whole_with_tied_words);
	MR_TEST(near_the_whole_by_rows);
	MR_TEST(mitigated);
	MR_TEST(bits_of_replays);
	MR_TEST(goes_on_from_its_state);
	MR_TEST(bytes_as_planned);
	MR_TEST(refused_by_name);
}
