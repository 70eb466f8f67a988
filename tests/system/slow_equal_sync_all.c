/*
 * slow_equal_sync_all.c - every synchronous system at 1 to 4 stages equals sequential training to the bit, on all
 * backends.
 */
#include "check.h"
#include "sync_cases.h"

#define ALL_WORKERS (1 << 1 | 1 << 2 | 1 << 3 | 1 << 4)
#define SOME_WORKERS (1 << 2 | 1 << 3 | 1 << 4)

/* Deep enough for several stages on each of four workers. */
#define MLP "model.depth=16 model.width=8 "
#define GPT "model.layers=12 model.width=8 model.heads=1 model.context=4 "

/* Every @every-th case from @first on. */
static void models(const char *backend, size_t first, size_t every)
{
	const sync_case cases[] = {
		{backend, false, MLP "model.activation=relu optimizer.name=adamw train.microbatches=8", 4, ALL_WORKERS,
		 false},
		{backend, false,
		 MLP "model.activation=gelu optimizer.name=sgd train.clip=0.05 train.batch=9 train.microbatches=3", 4,
		 SOME_WORKERS, true},
		{backend, false, MLP "optimizer.name=momentum train.batch=11 train.microbatches=11", 3, SOME_WORKERS,
		 false},
		{backend, true, GPT "model.tied=false optimizer.name=momentum train.microbatches=8", 3, SOME_WORKERS,
		 false},
		{backend, true,
		 GPT "model.tied=true model.dropout=0.2 train.clip=0.05 train.schedule=cosine train.warmup=2 "
		     "train.microbatches=8",
		 3, SOME_WORKERS, false},
		{backend, true, GPT "model.tied=true model.dropout=0.1 train.batch=5 train.microbatches=5", 3,
		 SOME_WORKERS, true},
	};

	for (size_t i = first; backend && i < sizeof(cases) / sizeof(cases[0]); i += every)
		sync_case_check(&cases[i]);
}

/* One to seven workers, and as few micro-batches as leave pipes and workers without any. */
static void odd_sizes(void)
{
	static const unsigned micro[] = {1, 2, 3, 5, 7, 12};

	for (size_t i = 0; i < sizeof(micro) / sizeof(micro[0]); i++) {
		char sets[200];

		snprintf(sets, sizeof(sets),
			 "model.depth=24 model.width=4 train.clip=%s train.batch=%u train.microbatches=%u",
			 i % 2 ? "0.1" : "0.0", micro[i], micro[i]);
		sync_case_check(&(sync_case){"backend=reference dtype=f32", false, sets, 3, 0xfe, true});
	}
}

/* The two types of the reference differ in nothing but the size of a number: they share the cases. */
static void reference_f64(void)
{
	models("backend=reference dtype=f64", 0, 2);
}

static void reference_f32(void)
{
	models("backend=reference dtype=f32", 1, 2);
}

static void dnnl(void)
{
	models(sync_dnnl(), 0, 1);
}

void mr_suite_equal_sync_all(void)
{
	MR_SUITE("equal_sync_all");
	MR_TEST(odd_sizes);
	MR_TEST(reference_f64);
	MR_TEST(reference_f32);
	MR_TEST(dnnl);
}
