/*
 * What every registered system must keep over a grid of workers, micro-batches and options: it can be lowered and
 * passes the checker, and its claims about time, memory and staleness are true. A new line in schedules.def is tested
 * here by itself.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "ir/unroll.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "timing/metrics.h"
#include "ir/plan_json.h"
#include "ir/text.h"
#include "laws.h"

/* The address sanitizer takes four times as long, and there are no other lines to reach beyond twice as many
 * micro-batches as workers. */
#ifdef __SANITIZE_ADDRESS__
#define MOST_MICRO 6
#else
#define MOST_MICRO 10
#endif

static mr_metrics *metrics_at(const mr_plan *plan, const double *cost, uint32_t n_bodies)
{
	mr_metrics *m = NULL;
	mr_walk *walk = NULL;

	MR_CHECK_OK(mr_metrics_walk(plan, cost[0], cost[1], cost[2], 0, n_bodies, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	mr_walk_destroy(walk);
	return m;
}

static mr_metrics *metrics_of(const mr_plan *plan, uint32_t n_bodies)
{
	return metrics_at(plan, sched_costs[0], n_bodies);
}

static double longest_busy(const mr_metrics *m)
{
	double most = 0;

	for (unsigned w = 0; w < m->n_workers; w++)
		most = fmax(most, m->busy[w]);
	return most;
}

static bool near(const sched_case *c, const char *what, const double *cost, double got, double want)
{
	if (fabs(got - want) < 1e-9)
		return true;
	fprintf(stderr, "\n%s at f=%g i=%g w=%g: %.12g, claimed %.12g\n", what, cost[0], cost[1], cost[2], got, want);
	return sched_blame(c, false);
}

static void keeps_its_times(const sched_case *c, const mr_plan *plan, const double *cost)
{
	mr_sched_claims claims = sched_claims(c, cost[0], cost[1], cost[2]);
	mr_metrics *m;

	if (claims.bubble_time < 0 && claims.bubble_period < 0)
		return;
	m = metrics_at(plan, cost, 1);
	if (claims.bubble_time >= 0)
		CU_ASSERT_TRUE_FATAL(near(c, "bubble", cost, m->makespan - longest_busy(m), claims.bubble_time));
	if (claims.bubble_period >= 0)
		CU_ASSERT_TRUE_FATAL(
			near(c, "bubble of the period", cost, m->period - longest_busy(m), claims.bubble_period));
	mr_metrics_destroy(m);
}

static void keeps_its_storage(const sched_case *c, const mr_plan *plan)
{
	mr_sched_claims claims = sched_claims(c, 1, 1, 1);
	mr_metrics *m = metrics_of(plan, 1);
	unsigned last = plan->n_stages - 1u;

	if (claims.peak_first >= 0)
		CU_ASSERT_TRUE_FATAL(
			near(c, "peak of worker 0", sched_costs[0], m->peak_until_w[0], claims.peak_first));
	if (claims.peak_last >= 0)
		CU_ASSERT_TRUE_FATAL(near(c, "peak of the last worker", sched_costs[0],
					  m->peak_until_w[plan->n_workers - 1], claims.peak_last));
	if (claims.peak_slots_first)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, m->slots[0] == claims.peak_slots_first));
	if (claims.peak_slots_last)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, m->slots[last] == claims.peak_slots_last));
	if (claims.versions_first)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, m->versions[0] == claims.versions_first));
	if (claims.versions_last)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, m->versions[last] == claims.versions_last));
	for (unsigned s = 0; s <= last; s++)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, m->staleness[s] <= plan->contract.max_staleness));
	mr_metrics_destroy(m);
}

/*
 * Each stage commits as often as the header says, `need` micro-batches a time; each pipe has its range of every step,
 * or where pipes are replicas steps of its own and its range of every average. Turns: each part of a stage its range of
 * that stage's steps.
 */
static void commits_as_stated(const sched_case *c, const mr_plan *plan)
{
	bool whole = plan->contract.whole_steps;
	mr_section section = c->finite ? MR_PROLOGUE : MR_BODY;
	size_t places = (size_t)plan->n_pipes * plan->n_stages;
	uint32_t *updates = calloc(2 * places, sizeof(*updates)), *averages = updates + places,
		 steps = mr_plan_steps(plan);

	CU_ASSERT_PTR_NOT_NULL_FATAL(updates);
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *list = mr_plan_list(plan, w, section);

		for (uint32_t i = 0; i < list->n; i++) {
			uint8_t by = whole ? 0 : list->at[i].pipe; /* whichever pipe makes a whole step */

			updates[mr_plan_at(plan, by, list->at[i].stage)] += list->at[i].op == MR_OP_U;
			averages[mr_plan_at(plan, list->at[i].pipe, list->at[i].stage)] += list->at[i].op == MR_OP_AVG;
		}
	}
	for (size_t at = 0; at < places; at++) {
		uint16_t stage = (uint16_t)(at % plan->n_stages);
		bool has = at / plan->n_stages < mr_plan_partial_sums(plan, stage);

		CU_ASSERT_TRUE_FATAL(
			sched_blame(c, updates[at] == (!has ? 0
						       : mr_plan_has_stage_replicas(plan)
							       ? plan->n_micro / plan->stage_replicas[stage]
							       : steps)));
		CU_ASSERT_TRUE_FATAL(sched_blame(c, averages[at] == plan->commits - steps));
	}
	CU_ASSERT_TRUE_FATAL(sched_blame(c, plan->n_micro == steps * plan->contract.need));
	CU_ASSERT_TRUE_FATAL(sched_blame(c, mr_contract_replicates(&plan->contract) || plan->commits == steps));
	free(updates);
}

/* Stages are cut evenly but where the user gave them unlike workers. */
static void loads_are_alike(const sched_case *c, const mr_plan *plan)
{
	uint32_t *load = calloc(plan->n_stages, sizeof(*load));
	bool asked = c->sets && strstr(c->sets, "replicas=[");

	CU_ASSERT_PTR_NOT_NULL_FATAL(load);
	CU_ASSERT_TRUE_FATAL(sched_blame(c, !mr_plan_load(plan, load) || asked));
	for (uint16_t s = 0; s < plan->n_stages; s++)
		CU_ASSERT_TRUE_FATAL(sched_blame(c, load[s] >= 1 && load[s] <= plan->n_pipes));
	free(load);
}

/* A pipe that has no micro-batch at a stage needs no memory there: nor slots, nor buffers on either side. */
static void storage_where_work_is(const sched_case *c, const mr_plan *plan)
{
	bool *works = calloc((size_t)plan->n_pipes * plan->n_stages, sizeof(*works));

	CU_ASSERT_PTR_NOT_NULL_FATAL(works);
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			if (plan->lists[i].at[k].op == MR_OP_F)
				works[mr_plan_at(plan, plan->lists[i].at[k].pipe, plan->lists[i].at[k].stage)] = true;
	for (size_t at = 0; at < (size_t)plan->n_pipes * plan->n_stages; at++) {
		bool first = at % plan->n_stages == 0;

		CU_ASSERT_TRUE_FATAL(sched_blame(c, (plan->n_slots[at] > 0) == works[at]));
		CU_ASSERT_TRUE_FATAL(sched_blame(c, (plan->n_fwd[at] > 0) == (works[at] && !first)));
		CU_ASSERT_TRUE_FATAL(sched_blame(c, (plan->n_bwd[at] > 0) == (works[at] && !first)));
	}
	free(works);
}

static void comes_back_from_text(const sched_case *c, const mr_plan *plan)
{
	mr_plan *read = NULL;
	mr_strbuf text = {0};

	MR_CHECK_OK(mr_text_print(plan, &text));
	MR_CHECK_OK(mr_text_read(mr_strbuf_text(&text), text.len, &read));
	CU_ASSERT_TRUE_FATAL(sched_blame(c, mr_plan_hash(read) == mr_plan_hash(plan)));
	mr_strbuf_fini(&text);
	mr_plan_destroy(read);
}

/* JSON keeps order and contract; lowered again, the plan is the same. Only a warm-up with a repeating body has no such
 * form. */
static void comes_back_from_json(const sched_case *c, const mr_plan *plan)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	mr_json_writer w;
	mr_plan *read = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	w = mr_json_begin(f, false);
	MR_CHECK_OK(mr_plan_json_put(&w, plan));
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	MR_CHECK_OK(mr_plan_json_read_text(text, len, &read));
	MR_CHECK_OK(mr_plan_lower(read, NULL));
	MR_CHECK_OK(mr_plan_check(read));
	CU_ASSERT_TRUE_FATAL(sched_blame(c, mr_plan_hash(read) == mr_plan_hash(plan)));
	free(text);
	mr_plan_destroy(read);
}

void laws_of_plan(const sched_case *c, const mr_plan *plan)
{
	keeps_its_storage(c, plan);
	for (int k = 0; k < SCHED_COSTS; k++)
		keeps_its_times(c, plan, sched_costs[k]);
	commits_as_stated(c, plan);
	loads_are_alike(c, plan);
	storage_where_work_is(c, plan);
}

static void one_case(const sched_case *c)
{
	mr_plan *plan = sched_try_emit(c);

	if (!plan)
		return; /* with a message */
	mr_plan_destroy(plan);
	plan = sched_lowered(c);
	laws_of_plan(c, plan);
	if (c->n_workers <= 4 && c->n_micro <= 8) {
		comes_back_from_text(c, plan);
		if (c->finite || plan->contract.flush != MR_FLUSH_NONE)
			comes_back_from_json(c, plan);
	}
	mr_plan_destroy(plan);
}

static void laws_hold_over_the_grid(void)
{
	sched_grid(4, MOST_MICRO, one_case); /* laws_wide.c goes further */
}

/* Options that the grid does not reach: numbers, lists, and several at once. */
static void laws_hold_for_further_options(void)
{
	static const struct {
		const char *system, *sets;
	} further[] = {
		{"asgd", "times=[1,2,4]"},
		{"asgd", "times=[3,2]"},
		{"asgd", "times=[5,5,2,3] data=own rescaled=true"},
		{"1f1b", "merge_w=1"},
		{"1f1b", "merge_w=2"},
		{"1f1b", "merge_w=3"},
		{"1f1b", "merge_w=5"},
		{"1f1b", "merge_w=255"},
		{"1f1b", "merge_w=1 recompute=always"},
		{"1f1b", "merge_w=3 recompute=always"},
		{"1f1b", "recompute=always recompute_stages=[0]"},
		{"1f1b", "merge_w=2 recompute=always recompute_stages=[0]"},
		{"chimera", "pipes=4"},
		{"chimera", "pipes=6 ref_tail=true weights=private"},
		{"chimera", "variant=doubling ref_tail=true"},
		{"dapple", "memory=2"},
		{"dapple", "memory=3 policy=pb recompute=always"},
		{"dapple", "replicas=[2,2]"},
		{"dapple", "replicas=[2,2,2] recompute=always"},
		{"dapple", "replicas=[1,3,2] policy=pb"},
		{"local_sgd", "replicas=2 every=1"},
		{"local_sgd", "replicas=3 every=5"},
		{"local_sgd", "replicas=12 every=2 outer=nesterov state=averaged"},
		{"local_sgd", "replicas=6 every=3 placement=rotated"},
		{"avgpipe", "replicas=3"},
		{"pipedream", "replicas=[2,1]"},
		{"pipedream", "replicas=[1,2,1] noam=2"},
		{"pipedream", "replicas=[1,2,2,1]"},
		{"pipedream", "replicas=[3,2] stashing=false"},
		{"pipedream", "replicas=[2,1] drain=4 noam=3"},
		{"pipedream", "drain=3"},
		{"pipedream", "drain=1 stashing=false"},
		{"pipedream", "drain=5 vertical_sync=true"},
		{"avgpipe", "replicas=4 advance=2 alpha=0.1"},
	};

	for (size_t k = 0; k < sizeof(further) / sizeof(*further); k++) {
		sched_case c = {.ops = mr_schedule_find(further[k].system), .sets = further[k].sets};

		CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
		sched_sizes(6, MOST_MICRO + 2, &c, one_case);
	}
}

/* Everybody takes the ordinary: a refusal is for what cannot be done. */
static sched_case ordinary(const mr_sched_ops *ops)
{
	return (sched_case){.ops = ops, .n_workers = ops->workers ? ops->workers : 4, .n_micro = 8};
}

static void laws_ordinary_sizes_are_taken(void)
{
	for (size_t i = 0; mr_schedule_at(i); i++) {
		sched_case c = ordinary(mr_schedule_at(i));

		c.finite = c.ops->asynchronous;
		mr_plan_destroy(sched_lowered(&c));
	}
}

static void laws_same_plan_each_time(void)
{
	for (size_t i = 0; mr_schedule_at(i); i++) {
		sched_case c = ordinary(mr_schedule_at(i));
		mr_plan *a, *b;

		c.finite = c.ops->ends;
		a = sched_lowered(&c);
		b = sched_lowered(&c);
		CU_ASSERT_TRUE(sched_blame(&c, mr_plan_hash(a) == mr_plan_hash(b)));
		mr_plan_destroy(a);
		mr_plan_destroy(b);
	}
}

/* A repeating plan means what the finite one says: its unrolled bodies are the beginning of the finite list. */
static void compare_unrolled(const sched_case *c, uint32_t n_bodies)
{
	sched_case flat_case = *c;
	mr_plan *endless = sched_lowered(c), *unrolled = NULL, *flat;

	flat_case.finite = true;
	if (c->ops->accumulates)
		flat_case.n_commits = n_bodies + c->n_workers + 8u;
	else
		flat_case.n_micro = n_bodies + 8u * c->n_workers + 8u; /* more than what is in flight */
	flat = sched_lowered(&flat_case);
	MR_CHECK_OK(mr_plan_unroll(endless, n_bodies, &unrolled));
	for (uint16_t w = 0; w < c->n_workers; w++) {
		const mr_list *x = mr_plan_list(unrolled, w, MR_PROLOGUE), *y = mr_plan_list(flat, w, MR_PROLOGUE);

		CU_ASSERT_TRUE_FATAL(sched_blame(c, x->n <= y->n && x->n > n_bodies));
		for (uint32_t i = 0; i < x->n; i++) {
			const mr_instr *p = &x->at[i], *q = &y->at[i];
			bool same = p->op == q->op && p->micro == q->micro && p->stage == q->stage &&
				    p->pipe == q->pipe && p->flags == q->flags && p->span == q->span &&
				    p->read == q->read && p->target == q->target;

			CU_ASSERT_TRUE_FATAL(sched_blame(c, same));
		}
	}
	mr_plan_destroy(unrolled);
	mr_plan_destroy(endless);
	mr_plan_destroy(flat);
}

static void laws_bodies_equal_the_flat_list(void)
{
	static const struct {
		const char *system, *sets;
	} cases[] = {
		{"pipedream", NULL},
		{"pipedream", "vertical_sync=true"},
		{"pipedream", "stashing=false"},
		{"pipedream", "noam=2"},
		{"pipedream", "noam=7"},
		{"pipedream_2bw", NULL},
		{"pipedream_2bw", "recompute=always"},
		{"xpipe", NULL},
		{"spectrain", "variant=v2"},
		{"pipemare", NULL},
		{"pipemare", "t3_steps=3"},
		{"pipemare", "t3_steps=2 recompute=always"},
		{"ampnet", NULL},
		{"ampnet", "in_flight=3"},
		{"paci", NULL},
		{"wpipe", NULL},
		{"pipedream", "order=greedy"},
		{"pipedream", "order=greedy costs=1,0.5,0.5"},
		{"pipedream", "order=greedy noam=9 vertical_sync=true"},
		{"pipedream", "order=greedy stashing=false costs=3,1,1,0.5"},
	};

	for (uint16_t d = 1; d <= 8; d++)
		for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
			sched_case c = {
				.ops = mr_schedule_find(cases[k].system), .n_workers = d, .sets = cases[k].sets};

			CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
			for (c.n_micro = c.ops->default_micro(d); c.n_micro <= (c.ops->accumulates ? d + 2u : 1u);
			     c.n_micro++) {
				compare_unrolled(&c, 3);
				compare_unrolled(&c, 2u * d + 3);
			}
		}
}

/* In the steady state nothing idles: one iteration of the endless body takes as long as its work. */
static void laws_pipedream_has_no_bubble(void)
{
	for (uint16_t d = 1; d <= 8; d++) {
		sched_case c = {.ops = mr_schedule_find("pipedream"), .n_workers = d, .n_micro = 1};
		mr_plan *plan = sched_lowered(&c);
		mr_metrics *m = metrics_of(plan, 4u * d);

		CU_ASSERT_DOUBLE_EQUAL(m->period, 3, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(m->bubble_period, 0, 1e-9);
		for (uint16_t s = 0; s < d; s++) {
			CU_ASSERT_EQUAL(m->slots[s], d - s);
			CU_ASSERT_EQUAL(m->versions[s], d - s);
			CU_ASSERT_EQUAL(m->staleness[s], d - 1 - s);
		}
		mr_metrics_destroy(m);
		mr_plan_destroy(plan);
	}
}

/* The reason for 1f1b: the time of gpipe with min(T, D - w) micro-batches in memory instead of T. */
static void laws_1f1b_against_gpipe(void)
{
	for (uint16_t d = 1; d <= 8; d++)
		for (uint32_t t = 1; t <= 3u * d; t += d) {
			sched_case one = {.ops = mr_schedule_find("1f1b"), .n_workers = d, .n_micro = t};
			sched_case two = {.ops = mr_schedule_find("gpipe"), .n_workers = d, .n_micro = t};
			mr_plan *a = sched_lowered(&one), *b = sched_lowered(&two);
			mr_metrics *m = metrics_of(a, 1), *n = metrics_of(b, 1);

			CU_ASSERT_DOUBLE_EQUAL(m->makespan, n->makespan, 1e-9);
			for (uint16_t w = 0; w < d; w++) {
				CU_ASSERT_EQUAL(m->slots[w], t < (uint32_t)(d - w) ? t : (uint32_t)(d - w));
				CU_ASSERT_EQUAL(m->peak_until_w[w], m->slots[w]);
				CU_ASSERT_EQUAL(n->peak_until_w[w], t);
			}
			mr_metrics_destroy(m);
			mr_metrics_destroy(n);
			mr_plan_destroy(a);
			mr_plan_destroy(b);
		}
}

void mr_suite_laws(void); /* the runner declares it too */

void mr_suite_laws(void)
{
	MR_SUITE("laws");
	MR_TEST(laws_hold_over_the_grid);
	MR_TEST(laws_hold_for_further_options);
	MR_TEST(laws_ordinary_sizes_are_taken);
	MR_TEST(laws_same_plan_each_time);
	MR_TEST(laws_bodies_equal_the_flat_list);
	MR_TEST(laws_pipedream_has_no_bubble);
	MR_TEST(laws_1f1b_against_gpipe);
}
