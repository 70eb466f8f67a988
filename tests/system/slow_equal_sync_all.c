/*
 * slow_equal_sync_all.c - every synchronous system at 1 to 4 stages equals sequential training to the bit, on all
 * backends.
 */
#include "check.h"
#include "sync_cases.h"

#define ALL_WORKERS (1 << 1 | 1 << 2 | 1 << 3 | 1 << 4)

static const char *const optimizers[] = {"optimizer.name=momentum", "optimizer.name=adamw",
					 "optimizer.name=sgd train.clip=0.05",
					 "optimizer.name=adamw train.clip=0.05 train.schedule=cosine train.warmup=2"};

static void grid(const char *backend, bool gpt, const char *model)
{
	for (int i = 0; backend && i < 4; i++) {
		char sets[300];

		snprintf(sets, sizeof(sets), "%s %s", model, optimizers[i]);
		sync_case_check(&(sync_case){backend, gpt, sets, 4, ALL_WORKERS});
	}
}

static void models(const char *backend)
{
	grid(backend, false, "model.activation=relu");
	grid(backend, false, "model.activation=gelu train.microbatches=2");
	grid(backend, true, "model.tied=false");
	grid(backend, true, "model.tied=true");
	grid(backend, true, "model.tied=false model.dropout=0.2 train.microbatches=8");
	grid(backend, true, "model.tied=true model.dropout=0.1 train.batch=9 train.microbatches=3");
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
