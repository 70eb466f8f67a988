/* The orders that the systems emit equal the recorded orders of the published implementations, instruction by instruction. */
#include <string.h>

#include "check.h"
#include "ir/plan_json.h"
#include "ir/text.h"
#include "sched_help.h"

static mr_plan *golden(const char *file)
{
	const char *root = getenv("MR_GOLDEN");
	char path[1024];
	mr_plan *plan = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	snprintf(path, sizeof(path), "%s/sync/%s", root, file);
	MR_CHECK_OK(mr_plan_json_read(path, &plan));
	return plan;
}

static bool same_lists(const mr_plan *a, const mr_plan *b)
{
	for (uint16_t w = 0; w < a->n_workers; w++) {
		const mr_list *x = mr_plan_list(a, w, MR_BODY), *y = mr_plan_list(b, w, MR_BODY);

		if (x->n != y->n)
			return false;
		for (uint32_t i = 0; i < x->n; i++)
			if (x->at[i].op != y->at[i].op || x->at[i].micro != y->at[i].micro || x->at[i].stage != y->at[i].stage ||
			    x->at[i].pipe != y->at[i].pipe || x->at[i].span != y->at[i].span)
				return false;
	}
	return true;
}

static void compare(const char *system, const char *option, const char *value, const char *file)
{
	mr_plan *want = golden(file), *got;
	sched_case c = {.ops = mr_schedule_find(system), .option = option, .value = value};
	bool same;

	CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
	c.n_workers = want->n_workers;
	c.n_micro = want->n_micro;
	got = sched_emit(&c);
	CU_ASSERT_EQUAL_FATAL(got->n_workers, want->n_workers);
	CU_ASSERT_EQUAL_FATAL(got->n_stages, want->n_stages);
	CU_ASSERT_EQUAL_FATAL(got->n_pipes, want->n_pipes);
	CU_ASSERT_EQUAL(got->n_micro, want->n_micro);
	CU_ASSERT_FALSE(memcmp(got->worker_of, want->worker_of, want->n_stages * sizeof(*want->worker_of)));
	same = same_lists(got, want);
	if (!same) {
		fprintf(stderr, "\n%s differs; emitted:\n", file);
		MR_CHECK_OK(mr_text_write(got, stderr));
	}
	CU_ASSERT_TRUE(same);
	mr_plan_destroy(got);
	mr_plan_destroy(want);
}

static void orders_of_gpipe(void)
{
	compare("gpipe", NULL, NULL, "gpipe_fifo_D2_T4.json");
	compare("gpipe", "backward", "fifo", "gpipe_fifo_D3_T5.json");
	compare("gpipe", "backward", "fifo", "gpipe_fifo_D4_T8.json");
	compare("gpipe", "backward", "lifo", "gpipe_lifo_D2_T4.json");
	compare("gpipe", "backward", "lifo", "gpipe_lifo_D3_T5.json");
	compare("gpipe", "backward", "lifo", "gpipe_lifo_D4_T8.json");
}

static void orders_of_1f1b(void)
{
	compare("1f1b", NULL, NULL, "1f1b_D2_T4.json");
	compare("1f1b", NULL, NULL, "1f1b_D3_T5.json");
	compare("1f1b", NULL, NULL, "1f1b_D4_T2.json");
	compare("1f1b", NULL, NULL, "1f1b_D4_T8.json");
}

void mr_suite_orders(void); /* the runner declares it too */

void mr_suite_orders(void)
{
	MR_SUITE("orders");
	MR_TEST(orders_of_gpipe);
	MR_TEST(orders_of_1f1b);
}
