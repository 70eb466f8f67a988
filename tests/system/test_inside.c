/*
 * test_inside.c - optimizer steps inside the backward pass: which plans have them, that they give the bits of steps
 * after it, and what they save. A clip that no gradient reaches (BIG) makes the steps come after, and changes no
 * number.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "exec/exec_internal.h"
#include "rig.h"

#define BIG "train.clip=1e300"
#define PRODUCTS 40

static uint32_t draw(uint64_t seed, uint64_t of, uint32_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, 0, of) % n;
}

/* @after: stages with U, @inside: stages whose B carries the step; bit s. */
static void check_commits(const char *sets, bool gpt, unsigned after, unsigned inside)
{
	unsigned u = 0, flagged = 0;
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_open(&r);
	for (uint16_t w = 0; w < r.s.plan->n_workers; w++)
		for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
			const mr_list *l = mr_plan_list(r.s.plan, w, (mr_section)sec);

			for (uint32_t i = 0; i < l->n; i++) {
				u |= (unsigned)(l->at[i].op == MR_OP_U) << l->at[i].stage;
				flagged |= (unsigned)!!(l->at[i].flags & MR_INSTR_UPDATE) << l->at[i].stage;
			}
		}
	CU_ASSERT_EQUAL(u, after);
	CU_ASSERT_EQUAL(flagged, inside);
	rig_fini(&r);
}

static void plans_without_clipping_step_inside(void)
{
	static const char *const systems[] = {"system.name=gpipe system.backward=fifo",
					      "system.name=gpipe system.backward=lifo", "system.name=1f1b",
					      "system.name=pipedream train.microbatches=1"};
	char sets[200];

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		bool flushes = i < 3; /* there the stage in front waits for the gradient, and not for the step */

		check_commits(systems[i], false, flushes ? 2 : 0, flushes ? 1 : 3);
		check_commits(systems[i], true, flushes ? 2 : 0, flushes ? 1 : 3);
		snprintf(sets, sizeof(sets), "%s %s", systems[i], "machine.workers=1");
		check_commits(sets, false, 0, 1);
		snprintf(sets, sizeof(sets), "%s %s", systems[i], "train.clip=0.5");
		check_commits(sets, false, 3, 0);
	}
	check_commits("system.name=1f1b optimizer.name=muon", false, 3, 0);
	check_commits("system.name=1f1b model.tied=true", true, 3, 0);
	check_commits("system.name=1f1b model.tied=true machine.workers=1", true, 0, 1);
	check_commits("system.name=pipedream train.microbatches=1 model.tied=true machine.workers=1", true, 0, 1);
}

static void train(const char *sets, const char *more, bool gpt, rig_result *out)
{
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_sets(&r, more);
	rig_open(&r);
	rig_train(&r, 7, false, out);
	rig_fini(&r);
}

static void compare(const char *system, const char *backend, const char *optimizer, bool gpt)
{
	rig_result inside = {0}, after = {0};
	char sets[400];

	snprintf(sets, sizeof(sets), "%s %s %s", system, backend, optimizer);
	train(sets, "", gpt, &inside);
	train(sets, BIG, gpt, &after);
	CU_ASSERT_FATAL(rig_equal_weights(&inside, &after, sets));
	CU_ASSERT_EQUAL_FATAL(inside.n_steps, after.n_steps);
	for (uint64_t i = 0; i < inside.n_steps; i++) {
		CU_ASSERT_EQUAL(inside.step[i].step, after.step[i].step);
		CU_ASSERT_EQUAL(inside.step[i].loss, after.step[i].loss);
		CU_ASSERT_EQUAL(inside.step[i].lr, after.step[i].lr);
	}
	rig_result_fini(&inside);
	rig_result_fini(&after);
}

static void inside_equals_after(void)
{
	static const char *const systems[] = {
		"system.name=sequential", "system.name=sequential train.microbatches=1",
		"system.name=1f1b machine.workers=1 train.microbatches=1", "system.name=gpipe machine.workers=3",
		"system.name=pipedream train.microbatches=1 machine.workers=1",
		"system.name=pipedream train.microbatches=1 machine.workers=3",
		"system.name=pipedream system.vertical_sync=true train.microbatches=1 machine.workers=2"};
	static const char *const optimizers[] = {
		"optimizer.name=sgd optimizer.weight_decay=0.1", "optimizer.name=momentum",
		"optimizer.name=momentum optimizer.nesterov=true optimizer.weight_decay=0.1", "optimizer.name=adamw",
		"optimizer.name=nadam", "optimizer.name=ema optimizer.nesterov=true",
		"optimizer.name=momentum optimizer.weight_decay=0.1 optimizer.decay_kind=coupled",
		"optimizer.name=adam optimizer.weight_decay=0.1 optimizer.decay_kind=coupled optimizer.decay_scope=all",
		"optimizer.name=momentum mitigation.name=spike_compensation"};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (size_t o = 0; o < sizeof(optimizers) / sizeof(optimizers[0]); o++) {
			compare(systems[i], "precision=f64", optimizers[o], false);
			if (mr_kernels_find("auto", MR_F32))
				compare(systems[i], "backend=auto precision=f32", optimizers[o], o % 2);
		}
}

/* 64 tokens a micro-batch of 256 that there are, and 8 of 256; the characters of the text are too few. */
#define FEW "system.name=sequential model.tied=true train.microbatches=1 data.vocab=byte "
#define FEW_64 FEW "train.batch=8"
#define FEW_8 FEW "train.batch=1"

static void tied_inside_equals_after(void)
{
	static const char *const optimizers[] = {
		"optimizer.name=sgd optimizer.weight_decay=0.1", "optimizer.name=momentum optimizer.weight_decay=0.1",
		"optimizer.name=momentum optimizer.nesterov=true", "optimizer.name=adamw optimizer.weight_decay=0.1",
		"optimizer.name=nadam", "optimizer.name=ema",
		"optimizer.name=momentum optimizer.weight_decay=0.1 optimizer.decay_kind=coupled"};
	static const char *const systems[] = {FEW_64, FEW_8,
					      "system.name=sequential model.tied=true train.microbatches=1",
					      "system.name=sequential model.tied=true train.microbatches=2"};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (size_t o = 0; o < sizeof(optimizers) / sizeof(optimizers[0]); o++) {
			compare(systems[i], "precision=f64", optimizers[o], true);
			if (mr_kernels_find("auto", MR_F32))
				compare(systems[i], "backend=auto precision=f32", optimizers[o], true);
		}
}

/* Random products of what a tied table's step depends on. */
static void tied_products_equal_after(void)
{
	static const char *const systems[] = {"sequential", "1f1b machine.workers=1", "gpipe machine.workers=1",
					      "pipedream machine.workers=1"};
	static const char *const optimizers[] = {"sgd", "momentum", "adamw", "nadam", "adamw optimizer.state=bf16",
						 "momentum optimizer.state=int8"};
	static const char *const kernels[] = {"f32 backend=fused machine.threads=2", "f32 backend=fused",
					      "f32 backend=onednn", "bf16 backend=fused machine.threads=2",
					      "bf16_pure backend=fused", "f32 backend=reference"};
	static const char *const batches[] = {"1 train.microbatches=1", "4 train.microbatches=1",
					      "8 train.microbatches=1", "8 train.microbatches=2"};

	for (uint64_t seed = 1; seed <= PRODUCTS; seed++) {
		uint32_t k = draw(seed, 0, 6), system = draw(seed, 1, 4);
		char sets[400];

		if (!mr_kernels_find(k == 2 ? "onednn" : k == 5 ? "reference" : "fused", k == 3 ? MR_BF16 : MR_F32))
			continue;
		snprintf(sets, sizeof(sets),
			 "system.name=%s model.tied=true data.vocab=%s optimizer.name=%s precision=%s train.batch=%s "
			 "train.norm_every=%u optimizer.weight_decay=0.1 train.seed=%u", systems[system],
			 draw(seed, 2, 3) ? "byte" : "char", optimizers[draw(seed, 3, 6)], kernels[k],
			 batches[draw(seed, 4, system == 3 ? 3 : 4)], draw(seed, 5, 3), (unsigned)seed);
		compare(sets, "", "", true);
	}
}

/* Against the engine, where the two uses have a gradient each; with an evaluation at the end, and a team of two
 * threads. */
static void few_equal_the_engine(const char *backend, const char *engine)
{
	rig_result few = {0}, both = {0};
	rig a, b;

	rig_init(&a), rig_init(&b);
	rig_gpt(&a), rig_gpt(&b);
	rig_sets(&a, FEW_64), rig_sets(&b, FEW_64);
	rig_sets(&a, backend), rig_sets(&b, backend);
	rig_sets(&b, engine);
	rig_open(&a), rig_open(&b);
	rig_train(&a, 6, true, &few);
	rig_train(&b, 6, true, &both);
	CU_ASSERT(rig_equal(&few, &both, false, engine));
	rig_result_fini(&few), rig_result_fini(&both);
	rig_fini(&a), rig_fini(&b);
}

static void few_equal_two_gradients(void)
{
	static const char *const engines[] = {"system.name=1f1b machine.workers=1",
					      "system.name=gpipe machine.workers=2",
					      "system.name=pipedream machine.workers=1"};

	for (int i = 0; i < 3; i++) {
		few_equal_the_engine("precision=f64", engines[i]);
		if (mr_kernels_find("auto", MR_F32))
			few_equal_the_engine("backend=auto precision=f32 optimizer.name=adamw model.dropout=0.1",
					     engines[i]);
	}
}

/* Bytes of gradients that stage 0 and 1 hold. */
static void grads(const char *sets, uint64_t of[2])
{
	mr_run_memory m;
	mr_run_config c;
	mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, sets);
	rig_open(&r);
	c = mr_session_run_config(&r.s, NULL);
	MR_CHECK_OK(mr_run_create(&c, &run));
	for (uint16_t s = 0; s < 2; s++) {
		mr_run_memory_of_stage(run, 0, s, &m);
		of[s] = m.grads;
	}
	mr_run_destroy(run);
	rig_fini(&r);
}

/* 10 -> 64 -> 64 | 64 -> 64 -> 3 in f64, tensors on cache lines. */
static void gradients_share_one_place(void)
{
	const uint64_t layer = 8 * (64 * 64 + 64), ends[2] = {8 * (10 * 64 + 64), 8 * (64 * 3) + 64};
	const char *common = "model.width=64 model.depth=3 partition=fc.2 optimizer.name=sgd ";
	char sets[300];
	uint64_t of[2];

	snprintf(sets, sizeof(sets), "%s system.name=pipedream train.microbatches=1", common);
	grads(sets, of);
	CU_ASSERT(of[0] == layer && of[1] == layer);
	snprintf(sets, sizeof(sets), "%s system.name=pipedream train.microbatches=1 %s", common, BIG);
	grads(sets, of);
	CU_ASSERT(of[0] == ends[0] + layer && of[1] == layer + ends[1]);
	snprintf(sets, sizeof(sets), "%s system.name=1f1b train.microbatches=2", common); /* sums outlive their layer */
	grads(sets, of);
	CU_ASSERT(of[0] == ends[0] + layer && of[1] == layer + ends[1]);
}

/* Does a step of @sets take the rows that occur apart? */
static bool steps_rows(const char *sets)
{
	mr_run_config c;
	uint32_t user;
	mr_run *run;
	bool few;
	rig r;

	rig_init(&r);
	rig_gpt(&r);
	rig_sets(&r, sets);
	rig_open(&r);
	c = mr_session_run_config(&r.s, NULL);
	MR_CHECK_OK(mr_run_create(&c, &run));
	few = mr_stage_steps_rows(run->stage[0], mr_graph_find_param(c.graph, "wte.weight"), &user);
	mr_run_destroy(run);
	rig_fini(&r);
	return few;
}

/* Two gradients, their sum and a step of it: with tokens too many, with a sum of two micro-batches, behind all. */
static void few_rows_are_stepped_apart(void)
{
	CU_ASSERT(steps_rows(FEW_64) && steps_rows(FEW_8));
	CU_ASSERT(steps_rows(FEW_64 " system.name=pipedream machine.workers=1"));
	CU_ASSERT_FALSE(steps_rows(FEW "train.batch=9"));
	CU_ASSERT_FALSE(steps_rows(FEW_64 " model.tied=false"));
	CU_ASSERT_FALSE(steps_rows(FEW_64 " data.vocab=char"));
	CU_ASSERT_FALSE(steps_rows(FEW_64 " train.microbatches=2"));
	CU_ASSERT_FALSE(steps_rows(FEW_64 " " BIG));
	CU_ASSERT_FALSE(steps_rows(FEW_64 " optimizer.name=muon"));
	CU_ASSERT_FALSE(steps_rows(FEW_64 " precision=f32 optimizer.state=bf16"));
}

static void refuse(const char *sets, bool gpt, double clip, const char *word)
{
	mr_run_config c;
	mr_run *run;
	mr_plan *plan;
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_open(&r);
	plan = r.s.plan;
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		mr_list *l = mr_plan_list(plan, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].op == MR_OP_B)
				l->at[i].flags |= MR_INSTR_UPDATE;
	}
	c = mr_session_run_config(&r.s, NULL);
	c.clip = clip;
	MR_CHECK_FAIL(mr_run_create(&c, &run), MR_ECONFIG, word);
	rig_fini(&r);
}

static void what_needs_whole_gradients_is_refused(void)
{
	refuse("system.name=pipedream train.microbatches=1", false, 0.5, "clipping");
	refuse("system.name=1f1b train.microbatches=1 model.tied=true", true, 0, "tied");
	refuse("system.name=pipedream train.microbatches=1 optimizer.name=muon", false, 0,
	       "muon needs whole gradients");
}

void mr_suite_inside(void);

void mr_suite_inside(void)
{
	MR_SUITE("inside");
	MR_TEST(plans_without_clipping_step_inside);
	MR_TEST(inside_equals_after);
	MR_TEST(tied_inside_equals_after);
	MR_TEST(tied_products_equal_after);
	MR_TEST(few_equal_two_gradients);
	MR_TEST(gradients_share_one_place);
	MR_TEST(few_rows_are_stepped_apart);
	MR_TEST(what_needs_whole_gradients_is_refused);
}
