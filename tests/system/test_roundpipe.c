/*
 * test_roundpipe.c - with its optimizer one step behind, roundpipe's weights are those of pipedream_2bw, whatever the
 * number of workers and of stages: both read version t - 1 for batch t, and no number depends on the cut.
 */
#include "check.h"
#include "rig.h"

#define STEPS 6

static void train(bool gpt, const char *sets, const char *system, unsigned workers, rig_result *out)
{
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_sets(&r, system);
	rig_set(&r, "machine.workers=%u", workers);
	rig_set(&r, "train.norm_every=0"); /* the norm on the record is the last stage's, and the two have other stages
	                                      */
	rig_open(&r);
	rig_train(&r, STEPS, true, out);
	rig_fini(&r);
}

static void compare(bool gpt, const char *sets)
{
	static const char *const systems[] = {
		"system.name=roundpipe system.optimizer=async",
		"system.name=roundpipe system.optimizer=async system.stages=5",
	};
	rig_result want = {0};

	train(gpt, sets, "system.name=pipedream_2bw", 2, &want);
	for (unsigned d = 1; d <= 3; d++)
		for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
			rig_result got = {0};
			char what[200];

			snprintf(what, sizeof(what), "%s on %u workers against pipedream_2bw, %s", systems[i], d, sets);
			train(gpt, sets, systems[i], d, &got);
			CU_ASSERT_TRUE(rig_equal(&got, &want, false, what));
			rig_result_fini(&got);
		}
	rig_result_fini(&want);
}

static void mlp(void)
{
	compare(false, "model.depth=9 train.batch=8 train.microbatches=4");
	compare(false, "model.depth=9 precision=f32 train.batch=3 train.microbatches=3 optimizer.name=momentum");
}

static void gpt(void)
{
	compare(true, "model.layers=6 precision=f32 model.dropout=0.1 train.batch=4 train.microbatches=4");
}

void mr_suite_roundpipe(void)
{
	MR_SUITE("roundpipe");
	MR_TEST(mlp);
	MR_TEST(gpt);
}
