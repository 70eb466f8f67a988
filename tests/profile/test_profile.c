/* test_profile.c - times of layers on a small run: each half that there is has one, and a spread is a share. */
#include "profile/profile.h"

#include <math.h>

#include "check.h"
#include "exec/small_run.h"
#include "lower/small_plans.h"

static void measure(mr_profile_method method, uint16_t workers)
{
	mr_profile p;
	small_run r;

	small_run_init(&r, small_1f1b(workers, 2));
	MR_CHECK_OK(mr_profile_measure(&r.c, 2, 0.001, method, &p));
	CU_ASSERT(p.repeats >= (method == MR_PROFILE_BRIEF ? MR_PROFILE_FEW_REPEATS : MR_PROFILE_MIN_REPEATS));
	for (uint32_t i = 0; i < r.c.graph->n_nodes; i++) {
		const mr_layer_profile *l = &p.layer[i];
		bool linear = i + 1 < r.c.graph->n_nodes;

		CU_ASSERT(l->f > 0 && l->f < 1 && l->spread >= 0);
		CU_ASSERT((l->w > 0) == linear); /* the loss has no weights */
		CU_ASSERT((l->flops_f > 0) == linear);
		CU_ASSERT((l->flops_i > 0) == (linear && i > 0)); /* the model's input has no gradient */
		CU_ASSERT_EQUAL(l->flops_w, l->flops_f);
		CU_ASSERT_EQUAL(l->g, 0); /* no W is merged */
	}
	for (uint16_t s = 0; s < r.c.plan->n_stages; s++)
		CU_ASSERT(p.sum_s[s] > 0 && p.norm_s[s] > 0 && p.spread[s] >= 0);
	mr_profile_fini(&p);
	small_run_fini(&r);
}

static void each_half_has_a_time(void)
{
	measure(MR_PROFILE_ALONE, 1);
	measure(MR_PROFILE_ALONE, 3);
	measure(MR_PROFILE_BRIEF, 3);
	measure(MR_PROFILE_TOGETHER, 2);
}

/* The plan itself: a time for each instruction of its bodies, and a step that is no shorter than the busiest list. */
static void a_running_plan_is_measured(void)
{
	mr_profile p;
	small_run r;
	size_t n = 0;

	small_run_init(&r, small_1f1b(2, 2));
	CU_ASSERT_TRUE_FATAL(mr_profile_is_live(&r.c));
	MR_CHECK_OK(mr_profile_measure(&r.c, 2, 0.001, MR_PROFILE_LIVE, &p));
	CU_ASSERT_PTR_NOT_NULL_FATAL(p.live.instr);
	CU_ASSERT(p.live.step_s > 0 && p.live.spread >= 0 && p.live.hop_s >= 0);
	for (uint16_t w = 0; w < r.c.plan->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(r.c.plan, w, MR_BODY)->n; i++, n++)
			CU_ASSERT(p.live.instr[n] > 0 && p.live.instr[n] < 1);
	CU_ASSERT(n > 0);
	mr_profile_fini(&p);
	small_run_fini(&r);
}

static void spreads_are_shares(void)
{
	CU_ASSERT_DOUBLE_EQUAL(mr_profile_spread(1.25, 1), 0.25, 1e-15);
	CU_ASSERT_EQUAL(mr_profile_spread(1, 1), 0);
	CU_ASSERT_EQUAL(mr_profile_spread(2e-9, 1e-9), 0); /* so short that it says nothing */
}

void mr_suite_profile(void)
{
	MR_SUITE("profile");
	MR_TEST(each_half_has_a_time);
	MR_TEST(a_running_plan_is_measured);
	MR_TEST(spreads_are_shares);
}
