/*
 * test_layer_states.c - models with batch normalisation: the states of layers belong to the stage, are updated by
 * commits, and are read by evaluation only.
 *
 * Systems that flush are compared with sequential in system.equal_sync, random models in system.random_graphs,
 * resumption in slow_restored.c.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "replay_cases.h"
#include "rig.h"

#define MLP "model.depth=3 model.width=6 model.norm=batch precision=f64 backend=reference "

/* A run of the engine with a pause and an evaluation equals its replay. */
static void replays(void)
{
	replay_batch_norm(2);
}

static const mr_saved_tensor *tensor(const rig_result *r, const char *name)
{
	for (size_t i = 0; i < r->model.n; i++)
		if (!strcmp(r->model.at[i].name, name))
			return &r->model.at[i];
	CU_FAIL_FATAL("no such tensor");
	return NULL;
}

static void train(const char *sets, uint64_t steps, rig_result *out)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP);
	rig_sets(&r, sets);
	rig_open(&r);
	rig_train(&r, steps, true, out);
	rig_fini(&r);
}

/*
 * With a learning rate of 0 every step sees the same weights: then the statistics are those of the data, whatever the
 * system, as long as micro-batches are folded once each, in their order.
 */
static void each_micro_batch_counts_once(void)
{
	static const char *const systems[] = {
		"system.name=sequential train.microbatches=4",
		"system.name=gpipe system.backward=lifo train.microbatches=4",
		"system.name=gpipe system.recompute=always train.microbatches=4",
		"system.name=data_parallel train.microbatches=4",
		"system.name=chimera train.microbatches=4",
		"system.name=zb_h1 train.microbatches=4",
		"system.name=pipedream_2bw train.microbatches=4",
		"system.name=pipedream_2bw system.recompute=always train.microbatches=4",
	};
	rig_result want = {0};
	double mean;

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		rig_result got = {0};
		char sets[200];

		snprintf(sets, sizeof(sets), "%s optimizer.lr=0.0 train.batch=12 machine.workers=2 optimizer.name=sgd",
			 systems[i]);
		train(sets, 5, &got);
		if (i == 0) {
			want = got;
			mean = ((const double *)tensor(&want, "bn.1.running_mean")->data)[0];
			CU_ASSERT(mean != 0 && isfinite(mean));
			CU_ASSERT(((const double *)tensor(&want, "bn.2.running_var")->data)[5] != 1);
			continue;
		}
		CU_ASSERT_FATAL(rig_equal_weights(&got, &want, sets));
		CU_ASSERT_EQUAL(got.eval, want.eval);
		rig_result_fini(&got);
	}
	rig_result_fini(&want);
}

/* Weights and losses of training do not depend on the states; evaluation does. */
static void evaluation_reads_them(void)
{
	rig_result with = {0}, without = {0};
	double loss;
	mr_state st;
	rig r;

	train("system.name=1f1b train.batch=12", 6, &with);
	rig_init(&r);
	rig_sets(&r, MLP "system.name=1f1b train.batch=12");
	rig_open(&r);
	rig_train(&r, 6, true, &without);
	CU_ASSERT(rig_equal(&with, &without, false, "two runs"));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	for (size_t i = 0; i < st.model.n; i++)
		if (!strcmp(st.model.at[i].name, "bn.0.running_var"))
			((double *)st.model.at[i].data)[0] *= 1.5;
	mr_state_fini(&st);
	MR_CHECK_OK(mr_executor_eval(&r.s.executor, NULL, NULL, &loss));
	CU_ASSERT(loss != with.eval && isfinite(loss));
	rig_fini(&r);
	rig_result_fini(&with);
	rig_result_fini(&without);
}

/* One number has no sample variance. */
static void one_row_is_refused(void)
{
	static const char *const systems[] = {"sequential", "gpipe"};

	for (size_t i = 0; i < 2; i++) {
		rig r;

		rig_init(&r);
		rig_sets(&r, MLP "train.batch=4 train.microbatches=4");
		rig_set(&r, "system.name=%s", systems[i]);
		MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG,
			      "bn.0 is a batch_norm, which in training needs at least 2 rows in a micro-batch: a "
			      "micro-batch of 1 sample has 1");
		rig_fini(&r);
	}
}

void mr_suite_layer_states(void);

void mr_suite_layer_states(void)
{
	MR_SUITE("layer_states");
	MR_TEST(replays);
	MR_TEST(each_micro_batch_counts_once);
	MR_TEST(evaluation_reads_them);
	MR_TEST(one_row_is_refused);
}
