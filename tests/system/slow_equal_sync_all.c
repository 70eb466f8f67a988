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

static void models(const char *backend)
{
	const sync_case cases[] = {
		{backend, false, MLP "model.activation=relu optimizer.name=adamw train.microbatches=8", 4, ALL_WORKERS, false},
		{backend, false, MLP "model.activation=gelu optimizer.name=sgd train.clip=0.05 train.batch=9 train.microbatches=3",
		 4, SOME_WORKERS, true},
		{backend, false, MLP "optimizer.name=momentum train.batch=11 train.microbatches=11", 3, SOME_WORKERS, false},
		{backend, true, GPT "model.tied=false optimizer.name=momentum train.microbatches=8", 3, SOME_WORKERS, false},
		{backend, true,
		 GPT "model.tied=true model.dropout=0.2 train.clip=0.05 train.schedule=cosine train.warmup=2 train.microbatches=8",
		 3, SOME_WORKERS, false},
		{backend, true, GPT "model.tied=true model.dropout=0.1 train.batch=5 train.microbatches=5", 3, SOME_WORKERS, true},
	};

	for (size_t i = 0; backend && i < sizeof(cases) / sizeof(cases[0]); i++)
		sync_case_check(&cases[i]);
}

static void reference_f64(void)
{
	models("backend=reference dtype=f64");
}

static void reference_f32(void)
{
	models("backend=reference dtype=f32");
}

static void dnnl(void)
{
	models(sync_dnnl());
}

void mr_suite_equal_sync_all(void)
{
	MR_SUITE("equal_sync_all");
	MR_TEST(reference_f64);
	MR_TEST(reference_f32);
	MR_TEST(dnnl);
}
