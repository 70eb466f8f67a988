#include "sync_cases.h"

#include <string.h>

#include "check.h"
#include "rig.h"

const char *sync_dnnl(void)
{
	return mr_kernels_find("dnnl", MR_F32) ? "backend=dnnl dtype=f32" : NULL;
}

static void open_case(rig *r, const sync_case *c, const char *system, unsigned workers)
{
	rig_init(r);
	if (c->gpt)
		rig_gpt(r);
	rig_sets(r, c->backend);
	rig_sets(r, c->sets);
	rig_sets(r, system);
	rig_set(r, "machine.workers=%u", workers);
	rig_open(r);
}

static void sequential(const sync_case *c, mr_sum_order sum, rig_result *out)
{
	rig r;

	open_case(&r, c, "system.name=sequential", 1);
	r.s.sum = sum;
	rig_train(&r, c->steps, true, out);
	rig_fini(&r);
}

static void pipeline(const sync_case *c, const char *system, unsigned workers, mr_sum_order sum, const rig_result *want)
{
	char what[300];
	rig_result got = {0};
	rig r;

	snprintf(what, sizeof(what), "%s %s %s %s, %u workers", c->gpt ? "gpt" : "mlp", c->backend, c->sets, system,
		 workers);
	open_case(&r, c, system, workers);
	CU_ASSERT_EQUAL(r.s.partition.n_stages, workers);
	CU_ASSERT_EQUAL_FATAL(r.s.plan->contract.sum, sum);
	rig_train(&r, c->steps, true, &got);
	CU_ASSERT_FATAL(rig_equal(&got, want, false, what));
	CU_ASSERT_EQUAL(got.inflight.n, 0);
	rig_result_fini(&got);
	rig_fini(&r);
}

void sync_case_check(const sync_case *c)
{
	rig_result up = {0}, down = {0};

	sequential(c, MR_SUM_ASCENDING, &up);
	sequential(c, MR_SUM_DESCENDING, &down);
	CU_ASSERT_FATAL(up.n_steps == c->steps && up.step[0].loss != up.step[c->steps - 1].loss); /* it does train */
	for (unsigned d = 1; d <= 4; d++) {
		if (!(c->workers >> d & 1))
			continue;
		pipeline(c, "system.name=gpipe system.backward=fifo", d, MR_SUM_ASCENDING, &up);
		pipeline(c, "system.name=gpipe system.backward=lifo", d, MR_SUM_DESCENDING, &down);
		pipeline(c, "system.name=gpipe system.recompute=except_last", d, MR_SUM_ASCENDING, &up);
		pipeline(c, "system.name=gpipe system.backward=lifo system.recompute=always", d, MR_SUM_DESCENDING, &down);
		pipeline(c, "system.name=1f1b", d, MR_SUM_ASCENDING, &up);
		pipeline(c, "system.name=1f1b system.recompute=always", d, MR_SUM_ASCENDING, &up);
		pipeline(c, "system.name=1f1b system.merge_w=2", d, MR_SUM_ASCENDING, &up);
		pipeline(c, "system.name=1f1b system.merge_w=3 system.recompute=always", d, MR_SUM_ASCENDING, &up);
	}
	rig_result_fini(&up);
	rig_result_fini(&down);
}
