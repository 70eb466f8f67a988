/*
 * test_refresh.c - how often the stages of a run refresh the bases of rotated_adam (exec/features/refresh.c). That such
 * runs are resumed and replayed to the same bits mitigation_laws sees, and over links that share no memory links.
 */
#include <math.h>

#include "check.h"
#include "nn/optim/rotation.h"
#include "rig.h"

#define ROTATED "model.depth=8 precision=f64 backend=reference optimizer.name=rotated_adam optimizer.frequency=3 "

static void train(const char *system, const char *more, rig_result *out)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, ROTATED);
	rig_sets(&r, system);
	rig_sets(&r, more);
	rig_open(&r);
	rig_train(&r, 7, false, out);
	rig_fini(&r);
}

/* Does it matter in @system that refreshes follow the delay? */
static bool matters(const char *system)
{
	rig_result uniform = {0}, delay = {0};
	bool same;

	train(system, "", &uniform);
	train(system, "optimizer.refresh=delay", &delay);
	same = uniform.step[6].loss == delay.step[6].loss;
	CU_ASSERT_EQUAL(same, rig_equal_weights(&uniform, &delay, same ? system : "two that differ"));
	rig_result_fini(&uniform);
	rig_result_fini(&delay);
	return !same;
}

/* Where all stages are as late as each other, the refreshes are the same. */
static void equal_delays(void)
{
	CU_ASSERT_FALSE(matters("system.name=1f1b machine.workers=3 train.microbatches=4"));
	CU_ASSERT_FALSE(matters("system.name=data_parallel machine.workers=2 train.microbatches=4"));
	CU_ASSERT_FALSE(matters("system.name=pipedream_2bw machine.workers=3 train.microbatches=4"));
	CU_ASSERT(matters("system.name=pipedream machine.workers=3 train.microbatches=1"));
}

/* Work of the hidden matrices of stage @s. */
static double work_of(const rig *r, const mr_run *run, uint16_t s)
{
	double work = 0;

	for (uint32_t p = 0; p < r->s.graph->n_params; p++) {
		mr_optim_matrix m = mr_graph_matrix(r->s.graph, p);

		if (m.rows && mr_stage_weight_at(run->stage[s], p) != SIZE_MAX)
			work += mr_rotation_work(&r->s.optim, &m);
	}
	return work;
}

static void in_proportion(void)
{
	double first = 0, whole = 0, given = 0;
	mr_replay *replay;
	mr_run_config c;
	mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, ROTATED "optimizer.refresh=delay system.name=pipedream train.microbatches=1 machine.workers=4");
	rig_open(&r);
	c = mr_session_run_config(&r.s, NULL);
	MR_CHECK_OK(mr_replay_create(&c, &replay));
	run = mr_replay_run_of(replay);
	first = run->weights[0].optim.interval;
	for (uint16_t s = 0; s < 4; s++) {
		double work = work_of(&r, run, s), interval = run->weights[s].optim.interval;

		CU_ASSERT(work > 0);
		if (s < 3)
			CU_ASSERT_DOUBLE_EQUAL(interval * (3 - s), first * 3, 1e-9);
		whole += work / 3;
		given += work / interval;
	}
	CU_ASSERT(isinf(run->weights[3].optim.interval));
	CU_ASSERT_DOUBLE_EQUAL(given, whole, 1e-9 * whole);
	mr_replay_destroy(replay);
	rig_fini(&r);
}

void mr_suite_refresh(void);
void mr_suite_refresh(void)
{
	MR_SUITE("refresh");
	MR_TEST(equal_delays);
	MR_TEST(in_proportion);
}
