/* search: figures as in the literature, with the number of tries that they need. */
#include "check.h"
#include "search_help.h"

/* Four workers with four stages each: two waves with split backwards beat all that has a name, or tie with it. */
static void search_finds_waves_with_split_backwards(void)
{
	static const struct {
		mr_stage_cost share;
		double bubble, by_name;
		const char *sets;
	} known[] = {
		{{.f = 1, .i = 1, .w = 1}, 0.75, 0.75, "tries=10"},
		{{.f = 2, .i = 1, .w = 2}, 1.5, 1.5, "tries=10"},
		{{.f = 2, .i = 3, .w = 1}, 2.25, 3, "tries=4000"},
		{{.f = 5, .i = 6, .w = 4}, 4.5, 5.25, "tries=4000"},
	};

	for (unsigned k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		mr_cost costs = {1, &known[k].share};
		mr_plan *plan = search_plan(4, 8, 4, known[k].sets, &costs);
		search_figures f = search_walk(plan, &costs), named = search_by_name(4, 8, 4, 4, &costs);

		CU_ASSERT_DOUBLE_EQUAL(named.makespan - f.busy, known[k].by_name, 1e-9);
		CU_ASSERT(f.makespan - f.busy <= known[k].bubble + 1e-9);
		CU_ASSERT(f.peak <= 4);
		mr_plan_destroy(plan);
	}
}

void mr_suite_search_figures(void); /* the runner declares it too */

void mr_suite_search_figures(void)
{
	MR_SUITE("search_figures");
	MR_TEST(search_finds_waves_with_split_backwards);
}
