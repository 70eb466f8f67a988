/* The registry finds systems by name, and refuses what no system can do with a message. */
#include "schedules/registry.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

static void registry_names_are_complete_and_unique(void)
{
	size_t n = 0;

	for (; mr_schedule_at(n); n++) {
		const mr_sched_ops *ops = mr_schedule_at(n);

		CU_ASSERT_PTR_EQUAL(mr_schedule_find(ops->name), ops);
		CU_ASSERT(strlen(ops->summary) > 10 && strlen(ops->source) > 10);
		CU_ASSERT_PTR_NOT_NULL_FATAL(ops->emit);
		CU_ASSERT_PTR_NOT_NULL_FATAL(ops->default_micro);
		CU_ASSERT(ops->default_micro(4) >= 1);
		if (ops->asynchronous && !ops->accumulates)
			CU_ASSERT_EQUAL(ops->default_micro(4), 1);
	}
	CU_ASSERT(n >= 3);
	CU_ASSERT_PTR_NULL(mr_schedule_at(n + 1));
}

static void registry_names(void)
{
	CU_ASSERT_PTR_NULL(mr_schedule_find(""));
	CU_ASSERT_STRING_EQUAL(mr_schedule_find("1f1b")->name, "1f1b");
	CU_ASSERT_STRING_EQUAL(mr_schedule_find("pipedream_flush")->name, "1f1b");
}

static void registry_odd_requests(void)
{
	static const struct {
		mr_sched_args args;
		const char *part;
	} odd[] = {
		{{.n_workers = 0, .n_micro = 1}, "at least 1 worker"},
		{{.n_workers = 2, .n_micro = 0}, "got 2 and 0"},
		{{.n_workers = 2, .n_micro = UINT32_MAX, .finite = true}, ""},
		{{.n_workers = 65535, .n_micro = 65535, .finite = true}, ""},
		{{.n_workers = 65535, .n_micro = 1, .finite = true}, ""},
	};
	mr_plan *plan = NULL;

	for (size_t s = 0; mr_schedule_at(s); s++)
		for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
			const mr_sched_ops *ops = mr_schedule_at(s);

			MR_CHECK_FAIL(mr_schedule_emit(ops, &odd[i].args, &plan), MR_ECONFIG, odd[i].part);
			CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), ops->name));
		}
	CU_ASSERT_PTR_NULL(plan);
	MR_CHECK_FAIL(mr_schedule_emit(mr_schedule_find("gpipe"),
				       &(mr_sched_args){.n_workers = 2, .chunks = 2, .n_micro = 4}, &plan),
		      MR_ECONFIG, "gpipe: a worker hosts exactly 1 stage in this system, so chunks must be 1, got 2");
	MR_CHECK_FAIL(mr_schedule_emit(mr_schedule_find("gpipe"),
				       &(mr_sched_args){.n_workers = 65535, .n_micro = 65535}, &plan),
		      MR_ECONFIG, "65535 micro-batches on 65535 workers are more than a plan may hold");
	MR_CHECK_FAIL(
		mr_schedule_emit(mr_schedule_find("1f1b"), &(mr_sched_args){.n_workers = 2, .n_micro = 1000000}, &plan),
		MR_ECONFIG, "more than a plan may hold (4194304 instructions)");
}

static void registry_options(void)
{
	mr_values *v = NULL;

	MR_CHECK_OK(mr_values_create(mr_schedule_find("gpipe")->options, &v));
	CU_ASSERT_STRING_EQUAL(mr_values_string(v, "backward"), "fifo");
	MR_CHECK_FAIL(mr_values_set_text(v, "backward", "filo"), MR_ECONFIG, "fifo|lifo");
	MR_CHECK_FAIL(mr_values_set_text(v, "foreward", "fifo"), MR_ECONFIG, "backward");
	mr_values_destroy(v);
	MR_CHECK_OK(mr_values_create(mr_schedule_find("pipedream")->options, &v));
	CU_ASSERT_FALSE(mr_values_bool(v, "vertical_sync"));
	mr_values_destroy(v);
}

static void set(mr_values *v, const char *key, const char *text)
{
	MR_CHECK_OK(mr_values_set_text(v, key, text));
}

/* A key that another one makes meaningless is refused by its name, not ignored; at its own place it is taken. */
static void registry_keys_without_effect(void)
{
	static const struct {
		const char *system, *key, *value, *other, *without, *with;
	} cases[] = {
		{"local_sgd", "outer_lr", "0.5", "outer", "none", "nesterov"},
		{"local_sgd", "outer_momentum", "0.5", "outer", "none", "nesterov"},
		{"pipemare", "t2_memory", "0.5", "t2", "false", "true"},
		{"pipedream", "costs", "1,1,1", "order", "static", "greedy"},
		{"zb_v", "costs", "1,1,1", "order", "hand", "greedy"},
		{"rpd", "delta", "3", "delays", "zero", "max"},
		{"rpd", "delta", "3", "delays", "exact", "uniform"},
		{"rpd", "ringmaster", "30", "delays", "zero", "exact"},
		{"rpd", "stage", "timeline", "record", "x", ""},
		{"rpd", "batch", "cyclic", "record", "x", ""},
		{"rpd", "delays", "zero", "record", "x", ""},
		{"rpd", "delta", "3", "record", "x", ""},
		{"rpd", "seed", "3", "record", "x", ""},
		{"rpd", "ringmaster", "30", "record", "x", ""},
	};
	mr_plan *plan = NULL;
	size_t n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++)
		for (const mr_option_need *need = mr_schedule_at(i)->needs; need && need->key; need++, n++)
			CU_ASSERT_TRUE(mr_option_find(mr_schedule_at(i)->options, need->key) &&
				       mr_option_find(mr_schedule_at(i)->options, need->other));
	CU_ASSERT_TRUE(n >= 13);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const mr_sched_ops *ops = mr_schedule_find(cases[i].system);
		mr_sched_args args = {.n_workers = 2, .n_micro = 4, .finite = ops->asynchronous};
		char text[96];
		mr_values *v;

		snprintf(text, sizeof(text), "%s: %s: has no effect with %s = ", ops->name, cases[i].key,
			 cases[i].other);
		MR_CHECK_OK(mr_values_create(ops->options, &v));
		args.options = v;
		set(v, cases[i].key, cases[i].value);
		set(v, cases[i].other, cases[i].without);
		MR_CHECK_FAIL(mr_schedule_emit(ops, &args, &plan), MR_ECONFIG, text);
		set(v, cases[i].other, cases[i].with);
		MR_CHECK_OK(mr_schedule_emit(ops, &args, &plan));
		mr_plan_destroy(plan);
		mr_values_destroy(v);
	}
}

/* Nothing is drawn where stages, minibatches and delays are all given. */
static void registry_seed_without_draws(void)
{
	const mr_sched_ops *rpd = mr_schedule_find("rpd");
	mr_sched_args args = {.n_workers = 2, .n_micro = 4, .finite = true};
	mr_plan *plan = NULL;
	mr_values *v;

	MR_CHECK_OK(mr_values_create(rpd->options, &v));
	args.options = v;
	set(v, "seed", "3");
	set(v, "stage", "timeline");
	set(v, "batch", "cyclic");
	set(v, "delays", "exact");
	MR_CHECK_FAIL(mr_schedule_emit(rpd, &args, &plan), MR_ECONFIG, "rpd: seed: has no effect where neither");
	set(v, "delays", "uniform");
	MR_CHECK_OK(mr_schedule_emit(rpd, &args, &plan));
	mr_plan_destroy(plan);
	mr_values_destroy(v);
}

/* The door through which systems emit lets nothing through that a plan could not hold. */
static void registry_emit_guards(void)
{
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_plan_create(2, 2, 1, &plan));
	plan->worker_of[1] = 1;
	MR_CHECK_OK(mr_sched_emit(plan, 0, MR_BODY, MR_OP_F, 3, 0, 0));
	MR_CHECK_FAIL(mr_sched_emit(plan, 0, MR_BODY, MR_OP_U, 0, 0, 0), MR_EINVAL, "U is not for a system to emit");
	MR_CHECK_FAIL(mr_sched_emit(plan, 2, MR_BODY, MR_OP_F, 0, 0, 0), MR_EINVAL, "worker 2 of 2");
	MR_CHECK_FAIL(mr_sched_emit(plan, 0, MR_BODY, MR_OP_F, 0, 2, 0), MR_EINVAL, "stage 2 of 2");
	MR_CHECK_FAIL(mr_sched_emit(plan, 0, MR_BODY, MR_OP_F, 0, 0, 1), MR_EINVAL, "pipe 1 of 1");
	MR_CHECK_FAIL(mr_sched_emit(plan, 0, MR_N_SECTIONS, MR_OP_F, 0, 0, 0), MR_EINVAL, "section 3");
	MR_CHECK_FAIL(mr_sched_emit(plan, 0, MR_BODY, MR_OP_W, 0, 1, 0), MR_EINVAL, "belongs to worker 1, not to 0");
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_BODY)->n, 1);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_BODY)->at[0].micro, 3);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_BODY)->at[0].span, 1);
	mr_plan_destroy(plan);
}

void mr_suite_registry(void); /* the runner declares it too */

void mr_suite_registry(void)
{
	MR_SUITE("registry");
	MR_TEST(registry_names_are_complete_and_unique);
	MR_TEST(registry_names);
	MR_TEST(registry_odd_requests);
	MR_TEST(registry_options);
	MR_TEST(registry_keys_without_effect);
	MR_TEST(registry_seed_without_draws);
	MR_TEST(registry_emit_guards);
}
