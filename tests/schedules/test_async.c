/*
 * The asynchronous systems against closed forms: the version that every F and B reads, how stale gradients are at most,
 * how many versions are kept, and that nothing idles in the steady state.
 */
#include <string.h>

#include "check.h"
#include "timing/metrics.h"
#include "sched_help.h"

typedef struct form {
	const char *system, *sets;
	uint32_t in_flight; /* 0: as many as workers */
	bool same;          /* B reads what F read */
} form;

static const form forms[] = {
	{"pipedream", NULL, 0, true},
	{"pipedream", "vertical_sync=true", 0, true},
	{"pipedream", "noam=2", 2, true},
	{"pipedream", "noam=7 vertical_sync=true", 7, true},
	{"pipedream", "stashing=false", 0, false},
	{"pipedream", "stashing=false noam=3", 3, false},
	{"pipedream_2bw", NULL, 0, true},
	{"ampnet", NULL, 0, false},
	{"ampnet", "in_flight=1", 1, false},
	{"ampnet", "in_flight=9", 9, false},
	{"paci", NULL, 0, false},
	{"wpipe", NULL, 0, true},
	{"pipemare", NULL, 0, false},
	{"pipemare", "t2=false t1_steps=9", 0, false},
	{"pipemare", "t3_steps=3", 0, false},
	{"pipemare", "t3_steps=2 recompute=always", 0, false},
	{"spectrain", NULL, 0, false},
	{"spectrain", "variant=v2", 0, true},
	{"pipeoptim", NULL, 0, false},
	{"xpipe", NULL, 0, false},
};

#define N_FORMS (sizeof(forms) / sizeof(forms[0]))

static int64_t not_negative(int64_t x)
{
	return x > 0 ? x : 0;
}

/* What F of micro-batch @m reads at @stage, from the papers' formulas. */
static int64_t forward_reads(const form *f, const sched_case *c, uint32_t need, uint16_t stage, int64_t m)
{
	int64_t in_flight = f->in_flight ? f->in_flight : c->n_workers, batch = m / need;

	if (!strcmp(f->system, "pipedream_2bw"))
		return not_negative(batch - 1);
	if (!strcmp(f->system, "xpipe")) {
		int64_t ahead = c->n_workers - 1 - stage;

		return not_negative(batch - (ahead + need - 1) / need);
	}
	if (!strcmp(f->system, "wpipe"))
		return stage < c->n_workers ? not_negative(batch - 1) : batch;
	if (f->sets && strstr(f->sets, "t3_steps=")) {
		int64_t sync = strtol(strstr(f->sets, "t3_steps=") + 9, NULL, 10),
			ahead = m - sync * need - (c->n_workers - 1 - stage);

		return batch < sync ? batch : sync + not_negative(ahead) / need;
	}
	if (f->sets && strstr(f->sets, "vertical_sync"))
		return not_negative(m - (in_flight - 1));
	return not_negative(m - not_negative(in_flight - 1 - stage)) / need;
}

static void check_reads(const form *f, const sched_case *c, const mr_plan *plan)
{
	uint32_t need = plan->contract.need;

	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(plan, w, MR_PROLOGUE)->n; i++) {
			const mr_instr *in = &mr_plan_list(plan, w, MR_PROLOGUE)->at[i];
			int64_t read = forward_reads(f, c, need, in->stage, in->micro);

			if ((in->op == MR_OP_B || in->op == MR_OP_R) && !f->same)
				read = in->micro / need;
			if (in->op == MR_OP_F || in->op == MR_OP_R || in->op == MR_OP_B)
				CU_ASSERT_TRUE_FATAL(sched_blame(c, in->read == read));
		}
}

/* Over a run that is long enough, the most that the forms give is reached, and is what metrics and contract say. */
static void check_bounds(const form *f, const sched_case *c, const mr_plan *plan)
{
	uint32_t staleness[64], most = 0, need = plan->contract.need;

	mr_metrics_staleness(plan, staleness);
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		uint32_t worst = 0;

		for (uint32_t m = 0; m < plan->n_micro; m++) {
			uint32_t age = (uint32_t)(m / need - forward_reads(f, c, need, s, m));

			worst = age > worst ? age : worst;
		}
		CU_ASSERT_TRUE_FATAL(sched_blame(c, staleness[s] == worst));
		/* One copy where B does not look back, or has what was made for its F; else what B reads, which is as
		 * old as what F read, and the latest. */
		CU_ASSERT_TRUE_FATAL(
			sched_blame(c, plan->n_versions[s] ==
					       (f->same && plan->contract.predict == MR_PREDICT_NONE ? worst + 1 : 1)));
		most = worst > most ? worst : most;
	}
	CU_ASSERT_TRUE_FATAL(sched_blame(c, plan->contract.max_staleness == most));
}

static void versions_follow_the_papers(void)
{
	for (size_t i = 0; i < N_FORMS; i++)
		for (uint16_t d = 1; d <= 6; d++) {
			sched_case c = {.ops = mr_schedule_find(forms[i].system),
					.n_workers = d,
					.finite = true,
					.sets = forms[i].sets};
			uint32_t least = c.ops->accumulates ? 1 : 30, end = c.ops->accumulates ? d + 3u : 30;

			c.n_commits = 14;
			for (c.n_micro = least; c.n_micro <= end; c.n_micro++) {
				mr_plan *plan = sched_try_emit(&c);

				if (!plan)
					continue; /* with a message */
				mr_plan_destroy(plan);
				plan = sched_lowered(&c);
				check_reads(&forms[i], &c, plan);
				check_bounds(&forms[i], &c, plan);
				mr_plan_destroy(plan);
			}
		}
}

static double period_of(const mr_plan *plan)
{
	mr_metrics *m = NULL;
	mr_walk *walk = NULL;
	double period;

	MR_CHECK_OK(mr_metrics_walk(plan, 1, 1, 1, 0, 4u * plan->n_workers + 4, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	period = m->period;
	mr_walk_destroy(walk);
	mr_metrics_destroy(m);
	return period;
}

/* f = i = w = 1 for a worker's whole share: an iteration of T micro-batches takes 3 T, wpipe's two seams on top. */
static void nothing_idles(void)
{
	static const char *const systems[] = {"pipedream", "pipedream_2bw", "ampnet", "paci", "wpipe"};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (uint16_t d = 1; d <= 6; d++) {
			sched_case c = {.ops = mr_schedule_find(systems[i]), .n_workers = d};
			double seam = strcmp(systems[i], "wpipe") ? 0 : 2 * (d - 1) * 1.5;

			for (c.n_micro = c.ops->accumulates ? d : 1u; c.n_micro <= (c.ops->accumulates ? 2u * d : 1u);
			     c.n_micro++) {
				mr_plan *plan = sched_lowered(&c);
				double period = period_of(plan);

				if (!sched_blame(&c, period == 3 * c.n_micro + seam))
					fprintf(stderr, "period %g, wanted %g\n", period, 3 * c.n_micro + seam);
				CU_ASSERT_DOUBLE_EQUAL(period, 3 * c.n_micro + seam, 1e-9);
				mr_plan_destroy(plan);
			}
		}
}

/* Most stages' activations kept at once by n replicas of n stages each that begin two passes after each other (cyclic
 * data parallelism, rule 1): replica j passes stage i forward at 2 n t + 2 j + i and backward at
 * 2 n t + 2 j + 2 n - 1 - i. Also looks whether what batch t + 2 reads there, the commit of batch t, is always
 * complete. */
static uint32_t kept_by_cycle(uint32_t n, bool *complete)
{
	uint32_t most = 0;

	*complete = true;
	for (uint32_t now = 4 * n; now < 8 * n; now++) {
		uint32_t kept = 0;

		for (uint32_t j = 0; j < n; j++)
			for (uint32_t t = 0; t < 4; t++)
				for (uint32_t i = 0; i < n; i++) {
					uint32_t begin = 2 * n * t + 2 * j + i;
					uint32_t end = begin + 2 * n - 2 * i;

					kept += begin <= now && now < end;
					*complete &= end <= 2 * n * (t + 2) + i;
				}
		most = kept > most ? kept : most;
	}
	return most;
}

/* n (n + 1) / 2, and every pass reads the weights before the last commit: so does pipedream_2bw, where stages stay and
 * micro-batches move, with as many micro-batches a commit as workers. */
static void a_cycle_of_replicas_is_double_buffered(void)
{
	for (uint16_t n = 1; n <= 8; n++) {
		sched_case c = {.ops = mr_schedule_find("pipedream_2bw"), .n_workers = n, .n_micro = n};
		mr_plan *plan = sched_lowered(&c);
		uint32_t slots = 0;
		bool complete;

		for (uint16_t s = 0; s < n; s++) {
			slots += plan->n_slots[s];
			CU_ASSERT_EQUAL(plan->n_versions[s], 2);
		}
		CU_ASSERT_EQUAL(kept_by_cycle(n, &complete), n * (n + 1u) / 2);
		CU_ASSERT_EQUAL(slots, n * (n + 1u) / 2);
		CU_ASSERT_TRUE(complete);
		CU_ASSERT_TRUE(plan->contract.need == n && plan->contract.delay == 1 && plan->contract.delayed == n);
		mr_plan_destroy(plan);
	}
}

/* A racing plan is the static one with room for all that is under way before any stage but the last; it has no finite
 * list. */
static void racing_has_room(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t n = 1; n <= 7; n++) {
			char sets[64];
			sched_case c = {.ops = mr_schedule_find("ampnet"), .n_workers = d, .n_micro = 2, .sets = sets};
			mr_plan *fixed, *race;

			snprintf(sets, sizeof(sets), "in_flight=%u", n);
			fixed = sched_lowered(&c);
			snprintf(sets, sizeof(sets), "in_flight=%u order=racing", n);
			race = sched_lowered(&c);
			CU_ASSERT_TRUE(race->contract.racing && !fixed->contract.racing);
			for (uint16_t s = 0; s < d; s++) {
				const mr_list *x = mr_plan_list(race, s, MR_BODY), *y = mr_plan_list(fixed, s, MR_BODY);

				CU_ASSERT_EQUAL(race->n_slots[s], s + 1u < d ? n : fixed->n_slots[s]);
				CU_ASSERT_TRUE(s == 0 || (race->n_fwd[s] >= n && race->n_fwd[s] >= fixed->n_fwd[s]));
				CU_ASSERT_EQUAL(race->n_versions[s], 1);
				CU_ASSERT_EQUAL_FATAL(x->n, y->n);
				for (uint32_t i = 0; i < x->n; i++)
					CU_ASSERT_TRUE(x->at[i].op == y->at[i].op && x->at[i].micro == y->at[i].micro);
			}
			mr_plan_destroy(fixed);
			mr_plan_destroy(race);
			c.finite = true;
			CU_ASSERT_PTR_NULL(sched_try_emit(&c));
			CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(),
						      "ampnet: order: which order a race takes shows when it is run"));
		}
}

static void refusals(void)
{
	static const struct {
		const char *system, *sets, *part;
		uint32_t n_micro;
		uint16_t n_workers;
	} cases[] = {
		{"pipedream", "vertical_sync=true stashing=false", "needs stashing = true", 1, 4},
		{"pipedream", "order=greedy noam=7", "does not settle into one forward and one backward", 1, 8},
		{"pipedream", "order=greedy costs=1,2", "costs", 1, 8},
		{"pipedream", "costs=1,1,1", "costs: has no effect with order = static; it is for order = greedy", 1,
		 8},
		{"pipedream_2bw", NULL, "at least as many micro-batches a commit as workers: 4, got 3", 3, 4},
		{"paci", NULL, "from 3 micro-batches a commit on, got 2", 2, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sched_case c = {.ops = mr_schedule_find(cases[i].system),
				.n_workers = cases[i].n_workers,
				.n_micro = cases[i].n_micro,
				.sets = cases[i].sets};

		CU_ASSERT_PTR_NULL_FATAL(sched_try_emit(&c));
		CU_ASSERT_TRUE(sched_blame(&c, strstr(mr_error_text(), cases[i].part) != NULL));
	}
}

void mr_suite_async(void); /* the runner declares it too */

void mr_suite_async(void)
{
	MR_SUITE("async");
	MR_TEST(versions_follow_the_papers);
	MR_TEST(nothing_idles);
	MR_TEST(a_cycle_of_replicas_is_double_buffered);
	MR_TEST(racing_has_room);
	MR_TEST(refusals);
}
