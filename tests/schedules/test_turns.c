/* pipedream with replicated stages against the closed forms of 1F1B-RR, and what its instructions wait for. */
#include "check.h"
#include "ir/deps.h"
#include "timing/metrics.h"
#include "sched_help.h"

typedef struct layout {
	const char *sets;
	uint16_t n_stages;
	uint32_t r[4];
	uint32_t noam; /* ceil(workers / r[0]), or what is asked for */
	int32_t more;  /* micro-batches in flight beyond one a worker */
} layout;

static const layout layouts[] = {
	{"replicas=[2,1]", 2, {2, 1}, 2, 0},
	{"replicas=[1,2]", 2, {1, 2}, 3, 0},
	{"replicas=[3,2]", 2, {3, 2}, 2, 0},
	{"replicas=[1,2,2,1]", 4, {1, 2, 2, 1}, 6, 0},
	{"replicas=[2,3,1]", 3, {2, 3, 1}, 3, 0},
	{"replicas=[4]", 1, {4}, 1, 0},
	{"replicas=[2,1] noam=4", 2, {2, 1}, 4, 4},
	{"replicas=[1,2,1] noam=2", 3, {1, 2, 1}, 2, -2},
};

#define N_LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* floor((r_k + r_{k+1} + .. - 1) / r_k), and what noam adds to the flight. */
static uint32_t ahead(const layout *l, uint16_t k)
{
	int32_t flight = l->more;

	for (uint16_t s = k; s < l->n_stages; s++)
		flight += (int32_t)l->r[s];
	return flight > 0 ? (uint32_t)(flight - 1) / l->r[k] : 0;
}

static sched_case case_of(const layout *l)
{
	sched_case c = {.ops = mr_schedule_find("pipedream"), .n_micro = 48, .finite = true, .sets = l->sets};

	for (uint16_t s = 0; s < l->n_stages; s++)
		c.n_workers = (uint16_t)(c.n_workers + l->r[s]);
	return c;
}

static void check_list(const layout *l, const mr_plan *plan, uint16_t w)
{
	const mr_list *list = mr_plan_list(plan, w, MR_PROLOGUE);

	for (uint32_t i = 0; i < list->n; i++) {
		const mr_instr *in = &list->at[i];
		uint32_t r = l->r[in->stage], h = ahead(l, in->stage), round = in->micro / r;

		if (in->op != MR_OP_F && in->op != MR_OP_B)
			continue;
		CU_ASSERT_EQUAL(in->read, round > h ? (int32_t)(round - h) : 0);
		/* A round robin that is fixed: micro-batch m on the same replica forward and backward. */
		CU_ASSERT_EQUAL(mr_plan_worker(plan, in->pipe, in->stage),
				mr_plan_worker(plan, 0, in->stage) + in->micro % r);
	}
}

static void reads_follow_the_closed_form(void)
{
	for (size_t i = 0; i < N_LAYOUTS; i++) {
		const layout *l = &layouts[i];
		sched_case c = case_of(l);
		mr_plan *plan = sched_lowered(&c);
		uint32_t staleness[4], most = 0;

		for (uint16_t w = 0; w < plan->n_workers; w++)
			check_list(l, plan, w);
		mr_metrics_staleness(plan, staleness);
		for (uint16_t s = 0; s < l->n_stages; s++) {
			CU_ASSERT_EQUAL(staleness[s], ahead(l, s));
			CU_ASSERT_EQUAL(plan->n_versions[s], ahead(l, s) + 1);
			CU_ASSERT_EQUAL(mr_plan_staleness(plan, s), ahead(l, s));
			most = ahead(l, s) > most ? ahead(l, s) : most;
		}
		CU_ASSERT_EQUAL(plan->contract.max_staleness, most);
		/* NOAM a replica of the first stage. */
		CU_ASSERT_EQUAL(ahead(l, 0) + 1, l->noam);
		CU_ASSERT_EQUAL(sched_blame(&c, plan->n_micro == 48), true);
		mr_plan_destroy(plan);
	}
}

static bool waits_for(const mr_plan *plan, const mr_instr *in, mr_dep_kind kind, uint64_t number)
{
	mr_dep deps[MR_DEPS_MAX];
	uint32_t n = mr_deps_of(plan, in, 0, deps);

	for (uint32_t i = 0; i < n; i++)
		if (deps[i].kind == kind && deps[i].stage == in->stage && deps[i].number == number)
			return true;
	return false;
}

/* A sum is added to anew when all parts have stepped with it; a step may need the norm of all ranges. */
static void parts_wait_for_each_other(void)
{
	for (size_t i = 0; i < N_LAYOUTS; i++) {
		sched_case c = case_of(&layouts[i]);
		mr_plan *plan = sched_lowered(&c);

		for (uint16_t w = 0; w < plan->n_workers; w++) {
			const mr_list *list = mr_plan_list(plan, w, MR_PROLOGUE);

			for (uint32_t k = 0; k < list->n; k++) {
				const mr_instr *in = &list->at[k];
				uint32_t r = plan->stage_replicas[in->stage], count = in->micro / r;
				bool shared = r > 1;

				if (in->op == MR_OP_B)
					CU_ASSERT_EQUAL(waits_for(plan, in, MR_DEP_COMMIT, count), shared && count > 0);
				if (in->op == MR_OP_AR)
					CU_ASSERT_TRUE(shared && waits_for(plan, in, MR_DEP_SUM, count + 1));
				if (in->op == MR_OP_U)
					CU_ASSERT_EQUAL(waits_for(plan, in, MR_DEP_REDUCED, count + 1), shared);
			}
		}
		mr_plan_destroy(plan);
	}
}

/* Drained after E micro-batches, each stretch is the first one again, at later versions. */
static void drains_start_anew(void)
{
	sched_case c = {.ops = mr_schedule_find("pipedream"),
			.n_workers = 3,
			.n_micro = 12,
			.finite = true,
			.sets = "replicas=[2,1] drain=6"};
	mr_plan *plan = sched_lowered(&c);

	for (uint16_t w = 0; w < 3; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_PROLOGUE);

		CU_ASSERT_EQUAL_FATAL(l->n % 2, 0);
		for (uint32_t i = 0; i < l->n / 2; i++) {
			const mr_instr *a = &l->at[i], *b = &l->at[i + l->n / 2];
			int32_t versions = 6 / plan->stage_replicas[a->stage];

			CU_ASSERT_TRUE(a->op == b->op && a->micro + 6 == b->micro);
			CU_ASSERT_TRUE(a->op > MR_OP_B ? a->target + versions == b->target
						       : a->read + versions == b->read);
		}
	}
	mr_plan_destroy(plan);
}

void mr_suite_turns(void); /* the runner declares it too */

void mr_suite_turns(void)
{
	MR_SUITE("turns");
	MR_TEST(reads_follow_the_closed_form);
	MR_TEST(parts_wait_for_each_other);
	MR_TEST(drains_start_anew);
}
