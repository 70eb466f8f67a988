/*
 * test_panels.c - weights that are packed once a version (exec/features/panels.c): the bits are those of weights that
 * every micro-batch packs, for random systems and shapes.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "check.h"
#include "rig.h"

enum { CASES = RIG_SANITIZED ? 8 : 24 };

static uint32_t draw(uint64_t seed, uint64_t of, uint32_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, 0, of) % n;
}

/* Returns the bytes of panels in all stages. */
static uint64_t train(const char *sets, bool keep, rig_result *out)
{
	uint64_t bytes = 0;
	const mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, sets);
	rig_open(&r);
	if (!keep)
		r.s.own_kernels.panel_bytes = NULL;
	rig_start(&r);
	rig_run(&r, 3, out); /* a pause, behind which nothing is kept */
	rig_run(&r, 6, out);
	rig_collect(&r, true, out);
	run = mr_executor_run_of(&r.s.executor);
	for (uint16_t s = 0; run->panels && s < run->n_stages; s++)
		bytes += mr_stage_size(run->stage[s])->panel_bytes;
	rig_fini(&r);
	return bytes;
}

static void have_the_bits_of_weights_packed_anew(void)
{
	static const char *const systems[] = {"1f1b", "gpipe", "sequential", "zb_h1", "dapple", "data_parallel",
					      "chimera", "gpipe system.recompute=always"};
	static const char *const precisions[] = {"bf16", "bf16_pure"};
	uint32_t kept = 0;

	if (!mr_kernels_find("fused", MR_BF16))
		return;
	setenv("MR_BF16_ENGINE", "model", 1);
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		rig_result with = {0}, without = {0};
		char sets[300];

		snprintf(sets, sizeof(sets),
			 "model.depth=4 model.activation=%s system.name=%s machine.workers=%u backend=%s "
			 "precision=%s train.batch=%u train.microbatches=8 optimizer.name=%s",
			 draw(seed, 0, 2) ? "relu" : "gelu",
			 systems[draw(seed, 1, 8)], 2 * (1 + draw(seed, 2, 2)),
			 draw(seed, 3, 2) ? "auto" : "fused",
			 precisions[draw(seed, 4, 2)], 16u << draw(seed, 5, 2),
			 draw(seed, 6, 2) ? "momentum" : "adamw");
		kept += train(sets, true, &with) > 0;
		CU_ASSERT_EQUAL(train(sets, false, &without), 0);
		CU_ASSERT(rig_equal(&with, &without, true, sets));
		rig_result_fini(&with);
		rig_result_fini(&without);
	}
	unsetenv("MR_BF16_ENGINE");
	CU_ASSERT(kept >= CASES / 4);
}

void mr_suite_panels(void);

void mr_suite_panels(void)
{
	MR_SUITE("panels");
	MR_TEST(have_the_bits_of_weights_packed_anew);
}
