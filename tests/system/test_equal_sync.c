/* test_equal_sync.c - a few synchronous runs against sequential training; slow_equal_sync_all.c has the grid. */
#include "check.h"
#include "rig.h"
#include "sync_cases.h"

static void mlp(void)
{
	sync_case_check(&(sync_case){"backend=reference dtype=f64", false, "optimizer.name=momentum", 4,
				     1 << 1 | 1 << 3});
}

/* An optimizer of whole matrices, which never steps inside a backward pass. */
static void mlp_muon(void)
{
	sync_case_check(&(sync_case){"backend=reference dtype=f64", false, "optimizer.name=muon optimizer.weight_decay=0.1", 4,
				     1 << 1 | 1 << 3});
}

static void mlp_clipped(void)
{
	sync_case_check(&(sync_case){"backend=reference dtype=f32", false, "train.clip=0.1", 4, 1 << 2 | 1 << 4});
}

static void gpt_tied(void)
{
	sync_case_check(&(sync_case){"backend=reference dtype=f32", true,
				     "model.tied=true model.dropout=0.2 train.clip=0.5", 3, 1 << 1 | 1 << 3});
}

static void gpt_dnnl(void)
{
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), true, "model.dropout=0.1", 2, 1 << 2});
}

/* The comparison itself must be able to fail: another order of sums is another number. */
static void order_counts(void)
{
	rig_result got[2];

	for (int i = 0; i < 2; i++) {
		rig r;

		got[i] = (rig_result){0};
		rig_init(&r);
		rig_sets(&r, "dtype=f32 system.name=sequential");
		rig_open(&r);
		r.s.sum = i ? MR_SUM_DESCENDING : MR_SUM_ASCENDING;
		rig_train(&r, 3, true, &got[i]);
		rig_fini(&r);
	}
	CU_ASSERT_FALSE(rig_equal(&got[0], &got[1], false, "expected: two orders of summation"));
	CU_ASSERT(rig_equal(&got[0], &got[0], true, "itself"));
	rig_result_fini(&got[0]);
	rig_result_fini(&got[1]);
}

void mr_suite_equal_sync(void)
{
	MR_SUITE("equal_sync");
	MR_TEST(mlp);
	MR_TEST(mlp_muon);
	MR_TEST(mlp_clipped);
	MR_TEST(gpt_tied);
	MR_TEST(gpt_dnnl);
	MR_TEST(order_counts);
}
