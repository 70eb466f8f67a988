/* How many versions are live by a plan's lists: closed forms, and never more than there are buffers. */
#include "ir/liveness.h"

#include "check.h"
#include "lower/lower.h"
#include "small_plans.h"

#define MOST_STAGES 64

static void live_of(mr_plan *plan, uint16_t *live)
{
	if (!plan->lowered)
		MR_CHECK_OK(mr_plan_lower(plan, NULL));
	CU_ASSERT_FATAL(plan->n_stages <= MOST_STAGES);
	MR_CHECK_OK(mr_plan_liveness(plan, live));
}

static void at_most_the_buffers(void)
{
	const char *name;
	mr_plan *plan;
	int i;

	for (i = 0; (plan = small_plan(i, &name)); i++) {
		uint16_t live[MOST_STAGES];

		live_of(plan, live);
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			if (live[s] < 1 || live[s] > plan->n_versions[s])
				fprintf(stderr, "\n%s: stage %u has %u live of %u\n", name, s, live[s],
					plan->n_versions[s]);
			CU_ASSERT(live[s] >= 1 && live[s] <= plan->n_versions[s]);
			if (plan->contract.flush == MR_FLUSH_BARRIER || plan->contract.flush == MR_FLUSH_LOCAL)
				CU_ASSERT_EQUAL(live[s], 1);
		}
		mr_plan_destroy(plan);
	}
	CU_ASSERT(i > 10);
}

/* Of @n micro-batches that read max(0, m - behind) and commit one by one: after v commits the latest, and what the rest
 * has to read. */
static uint32_t of_a_list(uint32_t n, uint32_t behind)
{
	uint32_t most = 1;

	for (uint32_t v = 1; v <= n; v++) {
		uint32_t live = 1;

		for (uint32_t m = v; m < n; m++) {
			uint32_t read = m > behind ? m - behind : 0, before = m - 1 > behind ? m - 1 - behind : 0;

			live += read < v && (m == v || read != before);
		}
		most = live > most ? live : most;
	}
	return most;
}

/* Pipedream keeps D - k at stage k, everywhere D with vertical sync. */
static void pipedream(void)
{
	for (uint16_t d = 1; d <= 6; d++) {
		mr_plan *plan[3] = {small_pipedream(d, false, d % 2), small_pipedream(d, true, false),
				    small_pipedream_finite(d, 7)};

		for (int i = 0; i < 3; i++) {
			uint16_t live[MOST_STAGES];

			live_of(plan[i], live);
			for (uint16_t s = 0; s < d; s++)
				CU_ASSERT_EQUAL(live[s],
						i == 2 ? of_a_list(7, d - s - 1u) : (unsigned)(i == 1 ? d : d - s));
			mr_plan_destroy(plan[i]);
		}
	}
	CU_ASSERT_EQUAL(of_a_list(7, 2), 3);
	CU_ASSERT_EQUAL(of_a_list(3, 2), 2);
}

/* As many more as the reads are commits behind their batch; one copy where they are not, and where all read the latest.
 */
static void delayed(void)
{
	static const uint16_t want[3][3] = {{2, 2, 2}, {3, 3, 1}, {1, 1, 1}};
	mr_plan *plan[3] = {small_delayed(3, 3, 1, 3), small_delayed(3, 2, 2, 2), small_accumulate(3, 2)};

	for (int i = 0; i < 3; i++) {
		uint16_t live[MOST_STAGES];

		live_of(plan[i], live);
		for (uint16_t s = 0; s < 3; s++)
			CU_ASSERT_EQUAL(live[s], want[i][s]);
		mr_plan_destroy(plan[i]);
	}
}

/* A step that looks back at what its forwards read keeps it until then, whatever the backwards read; every buffer is
 * needed for it. */
static void looked_back_at(void)
{
	for (uint32_t need = 1; need <= 3; need++) {
		mr_plan *plan = small_accumulate(4, need);
		uint16_t live[MOST_STAGES];

		plan->contract.keep_read = true;
		live_of(plan, live);
		for (uint16_t s = 0; s < 4; s++)
			CU_ASSERT_EQUAL(live[s], plan->n_versions[s]);
		CU_ASSERT(live[0] > 1);
		CU_ASSERT_EQUAL(live[3], 1);
		mr_plan_destroy(plan);
	}
}

/* A step on trust is taken back to the version before it: that one lives on behind the commit. */
static void taken_back(void)
{
	mr_plan *plan = small_1f1b(3, 4);
	uint16_t live[MOST_STAGES];

	plan->contract.clip = true;
	plan->contract.flush = MR_FLUSH_VALIDATED;
	live_of(plan, live);
	for (uint16_t s = 0; s < 3; s++)
		CU_ASSERT_EQUAL(live[s], 2);
	mr_plan_destroy(plan);
}

/* What a backward reads and steps on by itself ends with it. */
static void inside(void)
{
	for (uint16_t d = 1; d <= 4; d++) {
		mr_plan *plan = small_pipedream(d, false, false);
		uint16_t live[MOST_STAGES];

		MR_CHECK_OK(mr_plan_lower(plan, &(mr_lower_opts){.update_inside = true}));
		live_of(plan, live);
		for (uint16_t s = 0; s < d; s++)
			CU_ASSERT_EQUAL(live[s], d - s);
		mr_plan_destroy(plan);
	}
}

static void not_lowered(void)
{
	mr_plan *plan = small_gpipe(2, 2, false);
	uint16_t live[2];

	MR_CHECK_FAIL(mr_plan_liveness(plan, live), MR_EINVAL, "only when it is lowered");
	mr_plan_destroy(plan);
}

void mr_suite_liveness(void)
{
	MR_SUITE("liveness");
	MR_TEST(at_most_the_buffers);
	MR_TEST(pipedream);
	MR_TEST(delayed);
	MR_TEST(looked_back_at);
	MR_TEST(taken_back);
	MR_TEST(inside);
	MR_TEST(not_lowered);
}
