/* The versions that the lowering gives to pipedream are those of an independent simulation (tests/golden/async). */
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "timing/metrics.h"
#include "sched_help.h"

static int64_t at(const mr_json *system, const char *key, uint16_t stage, uint32_t micro)
{
	const mr_json *x = mr_json_at(mr_json_at(mr_json_get(system, key), stage), micro);

	CU_ASSERT_TRUE_FATAL(mr_json_is_int(x));
	return mr_json_int(x);
}

static void compare_instr(const mr_plan *plan, const mr_list *list, uint32_t i, const mr_json *system)
{
	const mr_instr *in = &list->at[i];

	if (in->op == MR_OP_F)
		CU_ASSERT_EQUAL(in->read, at(system, "F_ver", in->stage, in->micro));
	if (in->op == MR_OP_B) {
		CU_ASSERT_EQUAL(in->read, at(system, "B_ver", in->stage, in->micro));
		/* need is 1, so the commit follows at once: its version counts the commits before it. */
		CU_ASSERT_TRUE_FATAL(i + 1 < list->n && list->at[i + 1].op == MR_OP_U &&
				     list->at[i + 1].micro == in->micro);
		CU_ASSERT_EQUAL(list->at[i + 1].target - 1, at(system, "applied_on", in->stage, in->micro));
		CU_ASSERT_EQUAL(list->at[i + 1].target - 1 - in->read, at(system, "staleness", in->stage, in->micro));
	}
	CU_ASSERT_EQUAL(plan->contract.need, 1);
}

static void compare_system(const mr_json *inputs, const mr_json *system, bool vertical)
{
	sched_case c = {
		.ops = mr_schedule_find("pipedream"),
		.n_workers = (uint16_t)mr_json_int(mr_json_get(inputs, "D")),
		.n_micro = (uint32_t)mr_json_int(mr_json_get(inputs, "N")),
		.finite = true,
		.option = "vertical_sync",
		.value = vertical ? "true" : "false",
	};
	mr_plan *plan = sched_lowered(&c);
	uint32_t seen = 0;

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *list = mr_plan_list(plan, w, MR_PROLOGUE);

		for (uint32_t i = 0; i < list->n; i++, seen++)
			compare_instr(plan, list, i, system);
		CU_ASSERT_EQUAL(plan->n_versions[w], mr_json_int(mr_json_at(mr_json_get(system, "peak_live"), w)));
	}
	CU_ASSERT_EQUAL(seen, 3 * c.n_workers * c.n_micro);
	mr_plan_destroy(plan);
}

static void versions_of_every_recorded_run(void)
{
	const char *set = NULL, *name;
	const mr_json *sets, *systems;
	unsigned stash = 0, vsync = 0;
	mr_json *file = NULL;
	char path[MR_GOLDEN_PATH];

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "async/chain.json"), (size_t)64 << 20, &file));
	sets = mr_json_get(file, "sets");
	while ((set = mr_json_next_key(sets, set))) {
		systems = mr_json_get(mr_json_get(sets, set), "systems");
		name = NULL;
		while ((name = mr_json_next_key(systems, name))) {
			bool is_stash = !strncmp(name, "pipedream_stash_", 16),
			     is_vsync = !strncmp(name, "pipedream_vsync_", 16);

			stash += is_stash;
			vsync += is_vsync;
			if (is_stash || is_vsync)
				compare_system(mr_json_get(mr_json_get(sets, set), "inputs"),
					       mr_json_get(systems, name), is_vsync);
		}
	}
	CU_ASSERT(stash >= 3 && vsync >= 1);
	mr_json_destroy(file);
}

/* The closed forms: F(m) at stage k reads max(0, m - (D-1-k)), with vertical sync max(0, m - (D-1)). */
static void versions_follow_the_closed_forms(void)
{
	for (uint16_t d = 1; d <= 6; d++)
		for (unsigned sync = 0; sync < 2; sync++) {
			sched_case c = {.ops = mr_schedule_find("pipedream"),
					.n_workers = d,
					.n_micro = 3u * d,
					.finite = true,
					.option = "vertical_sync",
					.value = sync ? "true" : "false"};
			mr_plan *plan = sched_lowered(&c);

			for (uint16_t w = 0; w < d; w++)
				for (uint32_t i = 0; i < mr_plan_list(plan, w, MR_PROLOGUE)->n; i++) {
					const mr_instr *in = &mr_plan_list(plan, w, MR_PROLOGUE)->at[i];
					int64_t read = (int64_t)in->micro - (d - 1) + (sync ? 0 : in->stage);

					if (in->op == MR_OP_F || in->op == MR_OP_B)
						CU_ASSERT_EQUAL(in->read, read > 0 ? read : 0);
				}
			mr_plan_destroy(plan);
		}
}

void mr_suite_versions(void); /* the runner declares it too */

void mr_suite_versions(void)
{
	MR_SUITE("versions");
	MR_TEST(versions_of_every_recorded_run);
	MR_TEST(versions_follow_the_closed_forms);
}
