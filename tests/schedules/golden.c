#include "golden.h"

#include <string.h>

#include "check.h"
#include "golden_files.h"
#include "ir/plan_json.h"
#include "ir/text.h"
#include "sched_help.h"

mr_plan *golden_read(const char *file)
{
	char path[MR_GOLDEN_PATH];
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_plan_json_read(mr_golden_path(path, "sync/%s", file), &plan));
	return plan;
}

static bool same_lists(const mr_plan *a, const mr_plan *b)
{
	for (uint16_t w = 0; w < a->n_workers; w++) {
		const mr_list *x = mr_plan_list(a, w, MR_BODY), *y = mr_plan_list(b, w, MR_BODY);

		if (x->n != y->n)
			return false;
		for (uint32_t i = 0; i < x->n; i++)
			if (x->at[i].op != y->at[i].op || x->at[i].micro != y->at[i].micro ||
			    x->at[i].stage != y->at[i].stage || x->at[i].pipe != y->at[i].pipe ||
			    x->at[i].span != y->at[i].span)
				return false;
	}
	return true;
}

void golden_compare(const char *system, const char *sets, const char *file)
{
	mr_plan *want = golden_read(file), *got;
	sched_case c = {.ops = mr_schedule_find(system), .sets = sets};
	bool same;

	CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
	c.n_workers = want->n_workers;
	c.n_micro = want->n_micro;
	c.chunks = (uint16_t)(want->n_stages % want->n_workers ? 0 : want->n_stages / want->n_workers);
	got = sched_emit(&c);
	CU_ASSERT_EQUAL_FATAL(got->n_workers, want->n_workers);
	CU_ASSERT_EQUAL_FATAL(got->n_stages, want->n_stages);
	CU_ASSERT_EQUAL_FATAL(got->n_pipes, want->n_pipes);
	CU_ASSERT_EQUAL(got->n_micro, want->n_micro);
	CU_ASSERT_FALSE(memcmp(got->worker_of, want->worker_of,
			       (size_t)want->n_pipes * want->n_stages * sizeof(*want->worker_of)));
	same = same_lists(got, want);
	if (!same) {
		fprintf(stderr, "\n%s differs; emitted:\n", file);
		MR_CHECK_OK(mr_text_write(got, stderr));
	}
	CU_ASSERT_TRUE(same);
	mr_plan_destroy(got);
	mr_plan_destroy(want);
}
