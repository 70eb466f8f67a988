/*
 * test_make_plan.c - the author of plans: equal arguments give equal plans, for every system; what a training adds to
 * the contract; known costs reach the orders that depend on them, and none are invented.
 */
#include "planner/make_plan.h"

#include <string.h>

#include "base/str.h"
#include "check.h"
#include "ir/text.h"
#include "lower/check.h"
#include "planner/plan_identity.h"
#include "schedules/registry.h"

/* The text of a plan has all that is in it. */
static bool same(const mr_plan *a, const mr_plan *b)
{
	mr_strbuf x = {0}, y = {0};
	bool equal;

	MR_CHECK_OK(mr_text_print(a, &x));
	MR_CHECK_OK(mr_text_print(b, &y));
	equal = !strcmp(mr_strbuf_text(&x), mr_strbuf_text(&y));
	mr_strbuf_fini(&x);
	mr_strbuf_fini(&y);
	return equal;
}

static mr_plan_question ask(const char *system, uint16_t workers, uint32_t micro)
{
	return (mr_plan_question){
		.system = mr_schedule_find(system),
		.args = {.n_workers = workers, .n_micro = micro, .costs = &mr_plan_equal_costs},
	};
}

static mr_plan *made(const mr_plan_question *q)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_make(q, &p, NULL));
	return p;
}

/* The values of @system with @option set; the caller destroys them. */
static mr_values *with(const mr_plan_question *q, const char *option, const char *value)
{
	mr_values *v;

	MR_CHECK_OK(mr_values_create(q->system->options, &v));
	if (option)
		MR_CHECK_OK(mr_values_set_text(v, option, value));
	return v;
}

static uint32_t count(const mr_plan *p, int op, unsigned flag)
{
	uint32_t n = 0;

	for (size_t i = 0; i < (size_t)p->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < p->lists[i].n; k++)
			n += (op < 0 || p->lists[i].at[k].op == op) && (!flag || p->lists[i].at[k].flags & flag);
	return n;
}

/* --- one question, one plan --- */

static void ask_twice(const mr_plan_question *q)
{
	uint64_t first, second, again;
	mr_plan *a, *b, *order;
	mr_plan_question given = {.steps_inside = q->steps_inside};

	MR_CHECK_OK(mr_plan_make(q, &a, &first));
	MR_CHECK_OK(mr_plan_draft(q, &b));
	MR_CHECK_OK(mr_plan_finish(q, &b, &second));
	CU_ASSERT_TRUE_FATAL(same(a, b));
	CU_ASSERT_EQUAL_FATAL(first, second);
	CU_ASSERT_TRUE_FATAL(a->lowered);
	/* The order, taken from the plan as a file has it, under the same contract. */
	if (!a->endless) {
		MR_CHECK_OK(mr_plan_emitted(a, &order));
		CU_ASSERT_FALSE_FATAL(order->lowered);
		mr_plan_destroy(b);
		b = order;
		MR_CHECK_OK(mr_plan_finish(&given, &b, &again));
		CU_ASSERT_EQUAL_FATAL(first, again);
		CU_ASSERT_TRUE_FATAL(same(a, b));
	}
	mr_plan_destroy(a);
	mr_plan_destroy(b);
}

/* Those that predict weights themselves, step one stage at a time, or step whole stages for all pipes, take no further
 * prediction. */
static bool aims(const mr_plan_question *q)
{
	mr_plan *p;
	bool yes;

	MR_CHECK_OK(mr_plan_draft(q, &p));
	yes = p->contract.predict != MR_PREDICT_NONE || p->contract.coverage == MR_COVER_BLOCK ||
	      p->contract.whole_steps;
	mr_plan_destroy(p);
	return yes;
}

static void the_same_question_has_the_same_plan(void)
{
	unsigned n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++)
		for (unsigned way = 0; way < 5; way++) {
			const mr_sched_ops *ops = mr_schedule_at(i);
			bool alone = ops->asynchronous && !ops->accumulates;
			mr_plan_question q = ask(ops->name, ops->workers ? ops->workers : 2,
						 alone ? mr_schedule_step_micro(ops, NULL) : 4);
			mr_values *v = ops->options ? with(&q, NULL, NULL) : NULL;

			if (ops->options && mr_option_find(ops->options, "tries"))
				MR_CHECK_OK(mr_values_set_text(v, "tries", "10"));
			q.args.options = v;
			q.args.n_steps = 8;
			q.args.n_batches = 8;
			q.trains = way > 0;
			q.terms.clips = way == 2;
			q.steps_inside = way % 2;
			q.terms.predicts = way == 3 && !aims(&q);
			q.terms.corrects = way == 4;
			ask_twice(&q);
			mr_values_destroy(v);
			n++;
		}
	CU_ASSERT(n > 150);
}

/* --- what a training adds --- */

static void clipping_and_stealing_decide_the_flush(void)
{
	static const struct {
		const char *system, *option, *value;
		bool trains, clips;
		mr_flush flush;
		bool clip;
	} row[] = {
		{"gpipe", NULL, NULL, false, false, MR_FLUSH_BARRIER, false},
		{"gpipe", NULL, NULL, true, false, MR_FLUSH_LOCAL, false},
		{"gpipe", NULL, NULL, true, true, MR_FLUSH_BARRIER, true},
		{"zb_h2", NULL, NULL, true, true, MR_FLUSH_BARRIER, true},
		{"zb_h1", "steal", "true", true, false, MR_FLUSH_BARRIER, false},
		{"zb_h1", "steal", "true", true, true, MR_FLUSH_BARRIER, true},
		{"zb_h1", "optimizer", "validated", true, true, MR_FLUSH_VALIDATED, true},
		{"pipedream_2bw", NULL, NULL, true, true, MR_FLUSH_NONE, false},
		{"local_sgd", NULL, NULL, true, true, MR_FLUSH_LOCAL, false},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		mr_plan_question q = ask(row[i].system, 2, 4);
		mr_values *v = row[i].option ? with(&q, row[i].option, row[i].value) : NULL;
		mr_plan *p;

		q.args.options = v;
		q.trains = row[i].trains;
		q.terms.clips = row[i].clips;
		p = made(&q);
		CU_ASSERT_EQUAL(p->contract.flush, row[i].flush);
		CU_ASSERT_EQUAL(p->contract.clip, row[i].clip);
		CU_ASSERT_EQUAL(count(p, MR_OP_N, 0) > 0, row[i].clip);
		CU_ASSERT_EQUAL(p->contract.steal, row[i].option && !strcmp(row[i].option, "steal"));
		mr_plan_destroy(p);
		mr_values_destroy(v);
	}
}

static void a_shared_parameter_needs_a_flush_of_all_stages(void)
{
	mr_plan_question q = ask("gpipe", 2, 4);
	mr_plan *p;

	q.trains = q.terms.tied = true;
	p = made(&q);
	CU_ASSERT_TRUE(p->contract.tied);
	CU_ASSERT(count(p, MR_OP_AR, 0) > 0);
	mr_plan_destroy(p);
	q.system = mr_schedule_find("local_sgd");
	MR_CHECK_FAIL(mr_plan_make(&q, &p, NULL), MR_ECONFIG, "local_sgd reduces nothing between stages");
	CU_ASSERT_PTR_NULL(p);
	q.system = mr_schedule_find("pipedream_2bw");
	MR_CHECK_FAIL(mr_plan_make(&q, &p, NULL), MR_ECONFIG, "pipedream_2bw never flushes");
}

static void predictions_go_as_far_as_gradients_are_stale(void)
{
	for (int along = 0; along < 2; along++) {
		mr_plan_question q = ask("pipedream", 3, 1);
		mr_plan *p;

		q.trains = q.terms.predicts = true;
		q.terms.along = along;
		p = made(&q);
		CU_ASSERT_EQUAL(p->contract.predict, along ? MR_PREDICT_AHEAD : MR_PREDICT_STEPS);
		for (uint16_t s = 0; s < 3; s++)
			CU_ASSERT_EQUAL(mr_plan_horizon(p, s, true), 2 - s);
		mr_plan_destroy(p);
		q.system = mr_schedule_find("1f1b");
		q.args.n_micro = 4;
		p = made(&q);
		CU_ASSERT_EQUAL(p->contract.predict, MR_PREDICT_NONE);
		mr_plan_destroy(p);
	}
}

static void weights_are_kept_for_corrections_alone(void)
{
	mr_plan_question q = ask("pipedream", 2, 1);
	mr_plan *p;

	q.trains = q.steps_inside = true;
	p = made(&q);
	CU_ASSERT_FALSE(p->contract.keep_read);
	CU_ASSERT(count(p, -1, MR_INSTR_UPDATE) > 0);
	mr_plan_destroy(p);
	q.terms.corrects = true;
	p = made(&q);
	CU_ASSERT_TRUE(p->contract.keep_read);
	CU_ASSERT_EQUAL(count(p, -1, MR_INSTR_UPDATE), 0); /* which looks at the weights of before */
	mr_plan_destroy(p);
	q.system = mr_schedule_find("1f1b");
	q.args.n_micro = 4;
	p = made(&q);
	CU_ASSERT_FALSE(p->contract.keep_read);
	CU_ASSERT(count(p, -1, MR_INSTR_UPDATE) > 0);
	mr_plan_destroy(p);
	q.steps_inside = false;
	p = made(&q);
	CU_ASSERT_EQUAL(count(p, -1, MR_INSTR_UPDATE), 0);
	mr_plan_destroy(p);
}

/* --- costs --- */

typedef struct known {
	const mr_stage_cost *row; /* [2] */
	mr_plan *const *plan;     /* the one in hand */
	unsigned n_calls;
	mr_status st;
} known;

static mr_status costs_of(void *arg, const mr_plan *plan, mr_stage_cost *out)
{
	known *k = arg;

	k->n_calls++;
	CU_ASSERT(!k->plan || *k->plan == plan);
	if (k->st != MR_OK)
		return mr_fail(k->st, "nothing is known of %u stages", plan->n_stages);
	memcpy(out, k->row, plan->n_stages * sizeof(*out));
	return MR_OK;
}

static const mr_stage_cost uneven[2] = {{.f = 1, .i = 1, .w = 3}, {.f = 4, .i = 5, .w = 1}};

static void an_order_that_follows_from_costs_is_made_for_those_known(void)
{
	for (int nominal = 0; nominal < 2; nominal++) {
		known k = {.row = uneven};
		mr_plan_question q = ask("zb_auto", 2, 6), by_hand = q;
		mr_plan *equal = made(&q), *p, *want;

		q.args.costs = NULL;
		q.costs = (mr_plan_costs){.of = costs_of, .arg = &k, .nominal = nominal};
		MR_CHECK_OK(mr_plan_draft(&q, &p));
		k.plan = &p;
		MR_CHECK_OK(mr_plan_finish(&q, &p, NULL));
		CU_ASSERT_EQUAL(k.n_calls, 2); /* of the draft, and of the plan, which may place its stages otherwise */
		by_hand.args.costs = &(mr_cost){2, uneven};
		by_hand.costs = (mr_plan_costs){.of = costs_of, .arg = &(known){.row = uneven}};
		want = made(&by_hand);
		CU_ASSERT_TRUE(same(p, want));
		CU_ASSERT_FALSE(same(p, equal));
		mr_plan_destroy(equal);
		mr_plan_destroy(want);
		mr_plan_destroy(p);
	}
}

static void equal_costs_are_never_taken_for_granted(void)
{
	unsigned n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);
		mr_plan_question q = ask(ops->name, 2, 4);
		mr_plan *p;

		if (ops->asynchronous || !mr_schedule_orders_by_costs(ops, &q.args))
			continue;
		q.args.costs = NULL;
		MR_CHECK_FAIL(mr_plan_make(&q, &p, NULL), MR_EINVAL,
			      "the order follows from costs, and none are given");
		CU_ASSERT_PTR_NULL(p);
		n++;
	}
	CU_ASSERT(n >= 3);
}

/* They say how stages compare, not how long anything takes: buffers are not made for them. */
static void nominal_costs_are_for_orders_alone(void)
{
	known k = {.row = uneven};
	mr_plan_question q = ask("gpipe", 2, 4);
	mr_plan *p;

	q.args.costs = NULL;
	q.costs = (mr_plan_costs){.of = costs_of, .arg = &k, .nominal = true};
	p = made(&q);
	CU_ASSERT_EQUAL(k.n_calls, 0);
	mr_plan_destroy(p);
	q.costs.nominal = false;
	p = made(&q);
	CU_ASSERT(k.n_calls > 0);
	mr_plan_destroy(p);
	k.st = MR_ERESOURCE;
	MR_CHECK_FAIL(mr_plan_make(&q, &p, NULL), MR_ERESOURCE, "nothing is known of 2 stages");
}

static void slow_handoffs_between_nodes_get_buffers(void)
{
	static const mr_stage_cost one[2] = {{.f = 1, .i = 1, .w = 1}, {.f = 1, .i = 1, .w = 1}};
	static const uint16_t node[2] = {0, 1}, together[2] = {0, 0};
	known k = {.row = one};
	mr_plan_question q = ask("gpipe", 2, 8);
	mr_plan *near, *p;

	q.costs = (mr_plan_costs){.of = costs_of, .arg = &k, .node = together, .far = 20};
	near = made(&q);
	q.costs.node = node;
	p = made(&q);
	CU_ASSERT(p->n_bwd[1] > near->n_bwd[1]);
	mr_plan_destroy(near);
	mr_plan_destroy(p);
}

/* --- orders that are given --- */

static void a_lowered_plan_keeps_its_numbers_and_is_checked(void)
{
	mr_plan_question q = ask("pipedream", 2, 1), given = {.trains = true, .steps_inside = true};
	mr_plan *p = made(&q), *copy = made(&q);

	MR_CHECK_OK(mr_plan_finish(&given, &copy, NULL));
	CU_ASSERT_TRUE(same(p, copy));
	/* What the training would add, and what it has no use for, is refused by name. */
	given.terms.corrects = true;
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "lacks \"keep_read\"");
	given.terms = (mr_plan_terms){.predicts = true};
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "lacks \"aim\"");
	given.terms = (mr_plan_terms){0};
	mr_plan_list(copy, 0, MR_BODY)->at[0].read--;
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "w0 F");
	mr_plan_destroy(copy);
	mr_plan_destroy(p);
	q = ask("1f1b", 2, 4);
	p = made(&q);
	copy = made(&q);
	given.terms.clips = true;
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "lacks \"clip\"");
	given.terms = (mr_plan_terms){.tied = true};
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "lacks \"tied\"");
	given.terms = (mr_plan_terms){0};
	CU_ASSERT_TRUE(same(p, copy));
	copy->contract.tied = true;
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "this model has none");
	copy->contract.tied = false;
	copy->contract.clip = true;
	MR_CHECK_FAIL(mr_plan_finish(&given, &copy, NULL), MR_ECONFIG, "train.clip is 0");
	mr_plan_destroy(copy);
	mr_plan_destroy(p);
}

void mr_suite_make_plan(void);

void mr_suite_make_plan(void)
{
	MR_SUITE("make_plan");
	MR_TEST(the_same_question_has_the_same_plan);
	MR_TEST(clipping_and_stealing_decide_the_flush);
	MR_TEST(a_shared_parameter_needs_a_flush_of_all_stages);
	MR_TEST(predictions_go_as_far_as_gradients_are_stale);
	MR_TEST(weights_are_kept_for_corrections_alone);
	MR_TEST(an_order_that_follows_from_costs_is_made_for_those_known);
	MR_TEST(equal_costs_are_never_taken_for_granted);
	MR_TEST(nominal_costs_are_for_orders_alone);
	MR_TEST(slow_handoffs_between_nodes_get_buffers);
	MR_TEST(a_lowered_plan_keeps_its_numbers_and_is_checked);
}
