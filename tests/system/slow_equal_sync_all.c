/*
 * slow_equal_sync_all.c - every synchronous system at 1 to 4 stages equals sequential training to the bit, on all
 * backends. long_equal_sync_long.c has all models on each backend.
 */
#include <stdio.h>

#include "check.h"
#include "sync_cases.h"

#define MLP "model.depth=16 model.width=8 train.batch=8 train.microbatches=8 "
#define GPT "model.layers=12 model.width=8 model.heads=1 model.context=4 train.batch=8 train.microbatches=8 "

static void odd_sizes(void)
{
	sync_case_odd_sizes(false);
}

/* The two types of the reference differ in nothing but the size of a number: they share the models. */
static void reference_f64(void)
{
	sync_case_models("backend=reference precision=f64", 0, 2);
}

static void reference_f32(void)
{
	sync_case_models("backend=reference precision=f32", 1, 2);
}

/* What differs from f32 here is whether products step and add on the way: with a clip and without, tied and not. */
static void dnnl(void)
{
	sync_case_models(sync_dnnl(), 1, 2);
}

/* What test_equal_sync.c has in bf16, with other optimizers and models. */
static void bf16(void)
{
	static const char *const types[] = {"backend=reference precision=bf16",
					    "backend=reference precision=bf16_pure"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		sync_case_check(&(sync_case){types[i], false,
					     MLP "optimizer.name=muon optimizer.weight_decay=0.1", 2, 1 << 4, false});
	sync_case_check(&(sync_case){types[1], true, GPT "model.tied=true model.dropout=0.2 train.clip=0.5", 2,
				     1 << 2, false});
}

/* Wide enough for blocks of 256 that ranges, nodes of tables and biases do not divide evenly. */
static void stored_states(void)
{
	static const char *const states[] = {"int8", "bf16"};
	char sets[300];

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		snprintf(sets, sizeof(sets), "model.depth=16 model.width=23 train.batch=8 train.microbatches=8 "
					     "optimizer.name=nadamw optimizer.state=%s", states[i]);
		sync_case_check(&(sync_case){"backend=reference precision=f32", false, sets, 2, 1 << 2 | 1 << 3,
					     false});
		if (!sync_dnnl())
			continue;
		sync_case_check(&(sync_case){"backend=auto precision=bf16", false, sets, 2, 1 << 4, false});
		sync_case_check(&(sync_case){sync_dnnl(), false, sets, 2, 1 << 2, false});
	}
}

void mr_suite_equal_sync_all(void)
{
	MR_SUITE("equal_sync_all");
	MR_TEST(odd_sizes);
	MR_TEST(reference_f64);
	MR_TEST(reference_f32);
	MR_TEST(dnnl);
	MR_TEST(bf16);
	MR_TEST(stored_states);
}
