/* Learning rates: the schedulers of PyTorch and transformers (tests/golden/torch/rates.json, to 1e-14: the same
 * formulas in f64, some of theirs step by step), and the rate of "Attention is all you need". */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "nn/optim.h"

static double number(const mr_json *table, const char *key)
{
	const mr_json *v = mr_json_get(table, key);

	return v ? mr_json_double(v) : 0;
}

static void follows(const mr_json *golden, const char *name, mr_lr_kind kind, mr_lr_curve curve)
{
	const mr_json *table = mr_json_get(mr_json_get(golden, "tables"), name);
	const mr_json *rates = mr_json_get(table, "rates"), *stones = mr_json_get(table, "milestones");
	mr_lr lr = {
		.kind = kind,
		.curve = curve,
		.base = number(golden, "lr"),
		.min_ratio = number(table, "min_ratio"),
		.start_ratio = number(table, "start_ratio"),
		.gamma = number(table, "gamma"),
		.warmup = (uint64_t)number(table, "warmup"),
		.total = (uint64_t)number(table, "total"),
		.every = (uint64_t)number(table, "step_every"),
		.cooldown = (uint64_t)number(table, "cooldown"),
		.n_milestones = (uint32_t)mr_json_size(stones),
	};

	for (uint32_t i = 0; i < lr.n_milestones; i++)
		lr.milestone[i] = (uint64_t)mr_json_int(mr_json_at(stones, i));
	CU_ASSERT_FATAL(mr_json_size(rates) > 10);
	for (size_t i = 0; i < mr_json_size(rates); i++)
		CU_ASSERT_DOUBLE_EQUAL(mr_lr_at(&lr, i + 1), mr_json_double(mr_json_at(rates, i)), 1e-14);
}

static void schedulers_of_others(void)
{
	char path[MR_GOLDEN_PATH];
	mr_json *golden = NULL;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/rates.json"), 1 << 20, &golden));
	CU_ASSERT_PTR_NOT_NULL_FATAL(golden);
	follows(golden, "multi_step", MR_LR_STEP, MR_LR_COOL_LINEAR);
	follows(golden, "step", MR_LR_STEP, MR_LR_COOL_LINEAR);
	follows(golden, "one_cycle", MR_LR_ONE_CYCLE, MR_LR_COOL_LINEAR);
	follows(golden, "one_cycle_short", MR_LR_ONE_CYCLE, MR_LR_COOL_LINEAR);
	follows(golden, "inverse_sqrt", MR_LR_INVERSE_SQRT, MR_LR_COOL_LINEAR);
	follows(golden, "wsd_linear", MR_LR_WSD, MR_LR_COOL_LINEAR);
	follows(golden, "wsd_cosine", MR_LR_WSD, MR_LR_COOL_COSINE);
	follows(golden, "wsd_sqrt", MR_LR_WSD, MR_LR_COOL_SQRT);
	mr_json_destroy(golden);
}

/* width^-0.5 min(t^-0.5, t warmup^-1.5) */
static void attention_is_all_you_need(void)
{
	mr_lr lr = {.kind = MR_LR_INVERSE_SQRT, .base = 1 / sqrt(512.0 * 4000), .warmup = 4000, .total = 100000};

	for (uint64_t t = 1; t <= 100000; t += 37) {
		double x = (double)t, want = fmin(1 / sqrt(x), x * pow(4000, -1.5)) / sqrt(512);

		CU_ASSERT_DOUBLE_EQUAL(mr_lr_at(&lr, t) / want, 1, 1e-14);
	}
}

/* Ends of ranges: short runs, steps behind the last, no warm-up. */
static void edges(void)
{
	mr_lr lr = {.kind = MR_LR_ONE_CYCLE, .base = 2, .start_ratio = 0.25, .min_ratio = 0.5, .total = 1};

	CU_ASSERT_EQUAL(mr_lr_at(&lr, 1), 1);
	lr.total = 3; /* a rise of 0.9 steps: it falls from the first on */
	CU_ASSERT(mr_lr_at(&lr, 1) < 2 && mr_lr_at(&lr, 1) > mr_lr_at(&lr, 2) && mr_lr_at(&lr, 3) == 1);
	lr.warmup = 1;
	CU_ASSERT_EQUAL(mr_lr_at(&lr, 1), 2);
	CU_ASSERT_EQUAL(mr_lr_at(&lr, UINT64_MAX), 1);
	lr = (mr_lr){.kind = MR_LR_WSD, .base = 2, .min_ratio = 0.5, .total = 4, .cooldown = 4};
	CU_ASSERT(mr_lr_at(&lr, 1) == 1.75 && mr_lr_at(&lr, 4) == 1 && mr_lr_at(&lr, 9) == 1);
	lr = (mr_lr){.kind = MR_LR_INVERSE_SQRT, .base = 2};
	CU_ASSERT(mr_lr_at(&lr, 1) == 2 && mr_lr_at(&lr, 4) == 1);
	lr = (mr_lr){.kind = MR_LR_STEP, .base = 2, .gamma = 0.5, .warmup = 4, .every = 4, .n_milestones = 1,
		     .milestone = {6}};
	CU_ASSERT(mr_lr_at(&lr, 2) == 1 && mr_lr_at(&lr, 4) == 2 && mr_lr_at(&lr, 5) == 1 && mr_lr_at(&lr, 7) == 0.5);
}

void mr_suite_rates(void);
void mr_suite_rates(void)
{
	MR_SUITE("rates");
	MR_TEST(schedulers_of_others);
	MR_TEST(attention_is_all_you_need);
	MR_TEST(edges);
}
