/* asgd against what it says of arrivals: their order in time, what workers read, and how stale their gradients are. */
#include "check.h"
#include "ir/contract.h"
#include "timing/metrics.h"
#include "sched_help.h"

#define MOST 4

typedef struct fleet {
	const char *sets;
	uint16_t n;
	uint32_t time[MOST], of[MOST], all; /* gradients of each worker and of all in a cycle */
} fleet;

static const fleet fleets[] = {
	{"", 3, {1, 1, 1}, {1, 1, 1}, 3},
	{"times=[1,2,4]", 3, {1, 2, 4}, {4, 2, 1}, 7},
	{"times=[4,2,1]", 3, {4, 2, 1}, {1, 2, 4}, 7},
	{"times=[3,2]", 2, {3, 2}, {2, 3}, 5},
	{"times=[6,10,15]", 3, {6, 10, 15}, {5, 3, 2}, 10},
	{"times=[2,2,1,7]", 4, {2, 2, 1, 7}, {7, 7, 14, 2}, 30},
};

#define N_FLEETS (sizeof(fleets) / sizeof(fleets[0]))

static const mr_instr *next_f(const mr_list *l, uint32_t *at)
{
	while (*at < l->n && l->at[*at].op != MR_OP_F)
		++*at;
	return *at < l->n ? &l->at[(*at)++] : NULL;
}

/* The clock ticks, and whoever is done hands in the next number. */
static void arrivals_are_in_time(void)
{
	for (size_t k = 0; k < N_FLEETS; k++) {
		const fleet *x = &fleets[k];
		sched_case c = {.ops = mr_schedule_find("asgd"), .n_workers = x->n, .n_micro = 1, .sets = x->sets};
		mr_plan *plan = sched_lowered(&c);
		uint32_t at[MOST] = {0}, m = 0, read[MOST] = {0};

		CU_ASSERT_EQUAL_FATAL(plan->n_micro, x->all);
		for (uint32_t now = 1; m < x->all; now++)
			for (uint16_t i = 0; i < x->n; i++) {
				const mr_instr *f;

				if (now % x->time[i])
					continue;
				f = next_f(mr_plan_list(plan, i, MR_BODY), &at[i]);
				CU_ASSERT_PTR_NOT_NULL_FATAL(f);
				CU_ASSERT_EQUAL(f->micro, m);
				CU_ASSERT_EQUAL(f->pipe, i);
				CU_ASSERT_EQUAL(mr_instr_read(plan, f, 0), read[i]);
				read[i] = ++m; /* what its own step makes */
			}
		for (uint16_t i = 0; i < x->n; i++)
			CU_ASSERT_PTR_NULL(next_f(mr_plan_list(plan, i, MR_BODY), &at[i]));
		mr_plan_destroy(plan);
	}
}

/* Each commit of another worker falls between two of a worker's own: its ages add up to N - n_i in each later cycle. */
static void ages_add_up(void)
{
	for (size_t k = 0; k < N_FLEETS; k++) {
		const fleet *x = &fleets[k];
		sched_case c = {.ops = mr_schedule_find("asgd"), .n_workers = x->n, .n_micro = 1, .sets = x->sets};
		mr_plan *plan = sched_lowered(&c);
		uint64_t most = 0;
		uint32_t staleness;

		for (uint16_t i = 0; i < x->n; i++) {
			const mr_instr *f;
			uint64_t sum = 0;
			uint32_t at = 0;

			while ((f = next_f(mr_plan_list(plan, i, MR_BODY), &at))) {
				uint64_t age = mr_instr_micro(plan, f, 3) - mr_instr_read(plan, f, 3);

				sum += age;
				most = age > most ? age : most;
			}
			CU_ASSERT_EQUAL(sum, x->all - x->of[i]);
		}
		mr_metrics_staleness(plan, &staleness);
		CU_ASSERT_EQUAL(staleness, most);
		CU_ASSERT_EQUAL(plan->contract.max_staleness, most);
		CU_ASSERT_EQUAL(plan->n_versions[0], most + 1);
		mr_plan_destroy(plan);
	}
}

/* A step behind another waits for it, and an F for its own worker's step alone. */
static void steps_wait_for_each_other(void)
{
	sched_case c = {.ops = mr_schedule_find("asgd"),
			.n_workers = 3,
			.n_micro = 14,
			.finite = true,
			.sets = "times=[1,2,4]"};
	mr_plan *plan = sched_lowered(&c);

	for (uint16_t w = 0; w < 3; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_PROLOGUE);

		for (uint32_t i = 0; i < l->n; i++) {
			mr_dep deps[MR_DEPS_MAX];
			uint32_t n = mr_deps_of(plan, &l->at[i], 0, deps);
			bool waits = false;

			for (uint32_t k = 0; k < n; k++)
				waits |= deps[k].kind == MR_DEP_COMMIT &&
					 deps[k].number == (uint64_t)(l->at[i].op == MR_OP_U ? l->at[i].target - 1
											      : l->at[i].read);
			CU_ASSERT_EQUAL(waits, (l->at[i].op == MR_OP_U && l->at[i].target > 1) ||
						       (l->at[i].op == MR_OP_F && l->at[i].read > 0));
		}
	}
	mr_plan_destroy(plan);
}

static void refuse(void (*change)(mr_plan *), const char *why)
{
	sched_case c = {.ops = mr_schedule_find("asgd"), .n_workers = 2, .n_micro = 4, .finite = true};
	mr_plan *plan = sched_emit(&c);

	MR_CHECK_OK(mr_contract_check(plan));
	change(plan);
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, why);
	mr_plan_destroy(plan);
}

static void flush(mr_plan *p)
{
	p->contract.flush = MR_FLUSH_LOCAL;
	p->contract.read_f = MR_READ_BATCH;
}

static void sum_two(mr_plan *p)
{
	p->contract.need = 2;
	p->commits = 2;
}

static void halve(mr_plan *p)
{
	mr_plan_list(p, 0, MR_PROLOGUE)->at[1].op = MR_OP_I;
}

static void forget(mr_plan *p)
{
	p->contract.same_version_b = false;
}

static void no_whole_steps(mr_plan *p)
{
	p->contract.whole_steps = false;
}

static void own_data_alone(mr_plan *p)
{
	p->n_pipes = 1;
	p->contract.whole_steps = false;
	p->contract.own_data = true;
}

static void contracts_are_refused(void)
{
	refuse(flush, "whole steps are for several pipes that train without a flush");
	refuse(sum_two, "whole steps commit each micro-batch");
	refuse(forget, "whole steps commit each micro-batch");
	refuse(halve, "with whole steps there are F and B alone");
	refuse(no_whole_steps, "2 pipes without a flush");
	refuse(own_data_alone, "pipes have data and rates of their own where each makes whole steps");
}

void mr_suite_arrivals(void); /* the runner declares it too */

void mr_suite_arrivals(void)
{
	MR_SUITE("arrivals");
	MR_TEST(arrivals_are_in_time);
	MR_TEST(ages_add_up);
	MR_TEST(steps_wait_for_each_other);
	MR_TEST(contracts_are_refused);
}
