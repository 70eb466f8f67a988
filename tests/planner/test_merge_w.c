/*
 * test_merge_w.c - W that come late and together: every system that flushes keeps a plan that the checker accepts,
 * with the identity that it had; what may not be changed is not.
 */
#include "planner/merge_w.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ir/unroll.h"
#include "planner/make_plan.h"
#include "planner/plan_identity.h"
#include "schedules/registry.h"
#include "timing/walk.h"

#define MOST_STAGES 64

static const bool *all(void)
{
	static bool merges[MOST_STAGES];

	memset(merges, true, sizeof(merges));
	return merges;
}

/* The values of @ops with @sets, "key=value ..."; the caller destroys them. */
static mr_values *values_of(const mr_sched_ops *ops, const char *sets)
{
	char text[100], *save = NULL;
	mr_values *v = NULL;

	if (!ops->options)
		return NULL;
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	if (mr_option_find(ops->options, "tries"))
		MR_CHECK_OK(mr_values_set_text(v, "tries", "10"));
	snprintf(text, sizeof(text), "%s", sets);
	for (char *at = strtok_r(text, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
		char *value = strchr(at, '=');

		*value = '\0';
		MR_CHECK_OK(mr_values_set_text(v, at, value + 1));
	}
	return v;
}

/* The plan of @system, merged or not, and its identity; NULL: it does not take these numbers. */
static mr_plan *plan_of(const char *system, const char *sets, unsigned workers, uint32_t micro, bool merges,
			uint64_t *identity)
{
	const mr_sched_ops *ops = mr_schedule_find(system);
	mr_values *v = values_of(ops, sets);
	mr_plan_question q = {.system = ops,
			      .args = {.n_workers = (uint16_t)workers, .n_micro = micro, .options = v,
				       .costs = &mr_plan_equal_costs},
			      .trains = true,
			      .merges = merges ? all() : NULL,
			      .steps_inside = micro % 2};
	mr_plan *p = NULL;

	if (mr_plan_make(&q, &p, identity) != MR_OK)
		p = NULL;
	mr_values_destroy(v);
	return p;
}

static uint32_t count_w(const mr_plan *p)
{
	uint32_t n = 0;

	for (uint16_t w = 0; w < p->n_workers; w++)
		for (uint32_t k = 0; k < mr_plan_list(p, w, MR_BODY)->n; k++) {
			uint8_t op = mr_plan_list(p, w, MR_BODY)->at[k].op;

			n += op == MR_OP_B || op == MR_OP_W;
		}
	return n;
}

/* Behind the first span of a list there is nothing but W and what follows from them. */
static bool is_late(const mr_plan *p)
{
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);
		bool late = false;

		for (uint32_t k = 0; k < l->n; k++) {
			late |= l->at[k].span > 1;
			if (late && (l->at[k].op == MR_OP_F || l->at[k].op == MR_OP_I || l->at[k].op == MR_OP_B))
				return false;
		}
	}
	return true;
}

static void every_flushing_system_merges(void)
{
	unsigned merged = 0, systems = 0;

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);
		unsigned before = merged;

		if (ops->asynchronous || ops->replicates || ops->judged)
			continue;
		for (unsigned workers = ops->workers ? ops->workers : 1; workers <= (ops->workers ? ops->workers : 5);
		     workers++)
			for (uint32_t micro = 1; micro <= 12; micro += workers > 1 ? 1 : 5) {
				uint64_t was, is;
				mr_plan *a = plan_of(ops->name, "", workers, micro, false, &was), *b;

				if (!a)
					continue;
				b = plan_of(ops->name, "", workers, micro, true, &is);
				CU_ASSERT_PTR_NOT_NULL_FATAL(b);
				CU_ASSERT_EQUAL(was, is);
				CU_ASSERT(count_w(b) <= count_w(a));
				CU_ASSERT_TRUE(is_late(b));
				merged += count_w(b) < count_w(a);
				mr_plan_destroy(a);
				mr_plan_destroy(b);
			}
		systems += merged > before;
	}
	CU_ASSERT(systems >= 18); /* those with recompute by nature, and those whose pipes take turns, do not */
}

/* f = i = w = 1: with one stage a worker the bubble is that of F and I alone. */
static void the_bubble_is_that_of_the_passes(void)
{
	static const char *const straight[] = {"1f1b", "gpipe", "dapple"};

	for (size_t i = 0; i < sizeof(straight) / sizeof(*straight); i++)
		for (unsigned d = 1; d <= 6; d++)
			for (uint32_t t = 2; t <= 12; t++) {
				mr_plan *p = plan_of(straight[i], "", d, t, true, NULL);
				mr_stage_cost row[6];
				mr_walk *walk;

				CU_ASSERT_PTR_NOT_NULL_FATAL(p);
				for (unsigned s = 0; s < d; s++)
					row[s] = (mr_stage_cost){.f = 1, .i = 1, .w = 1};
				MR_CHECK_OK(mr_plan_walk(p, &(mr_cost){(uint16_t)d, row}, 1, NULL, &walk));
				CU_ASSERT_DOUBLE_EQUAL(walk->makespan, 3.0 * t + 2.0 * (d - 1), 1e-9);
				CU_ASSERT_EQUAL(count_w(p), d);
				mr_walk_destroy(walk);
				mr_plan_destroy(p);
			}
}

/* What the user has arranged otherwise, or what keeps little on purpose, stays. */
static void other_plans_stay(void)
{
	static const struct {
		const char *system, *sets;
	} stay[] = {
		{"1f1b", "merge_w=2"},       {"1f1b", "recompute=always"}, {"gpipe", "recompute=always"},
		{"zb_h1", "steal=true"},     {"pipedream", ""},            {"pipedream_2bw", ""},
		{"local_sgd", ""},           {"gpipe", "backward=lifo"},   {"data_parallel", "gradients=joint"},
		{"dapple", "replicas=[1,2]"}, {"data_parallel", "gradients=released chunks=3"},
	};

	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++) {
		unsigned workers = strstr(stay[i].sets, "replicas") ? 3 : 2;
		uint32_t micro = strcmp(stay[i].system, "pipedream") ? 6 : 1;
		mr_plan *a = plan_of(stay[i].system, stay[i].sets, workers, micro, false, NULL);
		mr_plan *b = plan_of(stay[i].system, stay[i].sets, workers, micro, true, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(a);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		if (strcmp(stay[i].system, "1f1b") || !strstr(stay[i].sets, "recompute")) {
			CU_ASSERT_EQUAL(mr_plan_hash(a), mr_plan_hash(b));
		} else { /* the last worker of 1f1b never recomputes, so its stage merges */
			CU_ASSERT_EQUAL(mr_plan_list(a, 0, MR_BODY)->n, mr_plan_list(b, 0, MR_BODY)->n);
		}
		mr_plan_destroy(a);
		mr_plan_destroy(b);
	}
}

/* One stage merges, another does not. */
static void stages_are_chosen(void)
{
	bool merges[2] = {false, true};
	mr_plan_question q = {.system = mr_schedule_find("gpipe"),
			      .args = {.n_workers = 2, .n_micro = 4, .costs = &mr_plan_equal_costs},
			      .merges = merges};
	mr_values *v = values_of(q.system, "");
	unsigned b = 0, w = 0;
	mr_plan *p;

	q.args.options = v;
	MR_CHECK_OK(mr_plan_make(&q, &p, NULL));
	for (uint32_t k = 0; k < mr_plan_list(p, 0, MR_BODY)->n; k++)
		b += mr_plan_list(p, 0, MR_BODY)->at[k].op == MR_OP_B;
	for (uint32_t k = 0; k < mr_plan_list(p, 1, MR_BODY)->n; k++)
		w += mr_plan_list(p, 1, MR_BODY)->at[k].op == MR_OP_W && mr_plan_list(p, 1, MR_BODY)->at[k].span == 4;
	CU_ASSERT_EQUAL(b, 4);
	CU_ASSERT_EQUAL(w, 1);
	mr_plan_destroy(p);
	mr_values_destroy(v);
}

/* More than a W can take are several. */
static void long_commits_have_several(void)
{
	mr_plan *p = plan_of("sequential", "", 1, 600, true, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_EQUAL(count_w(p), 3);
	mr_plan_destroy(p);
}

void mr_suite_merge_w(void);

void mr_suite_merge_w(void)
{
	MR_SUITE("merge_w");
	MR_TEST(every_flushing_system_merges);
	MR_TEST(the_bubble_is_that_of_the_passes);
	MR_TEST(other_plans_stay);
	MR_TEST(stages_are_chosen);
	MR_TEST(long_commits_have_several);
}
