/* search_help.h - what the suites of the system `search` share: its plans, what they take, and what it competes with.
 */
#ifndef MR_TESTS_SCHEDULES_SEARCH_HELP_H
#define MR_TESTS_SCHEDULES_SEARCH_HELP_H

#include "ir/cost.h"
#include "ir/plan.h"
#include "ir/sched.h"

typedef struct search_figures {
	double makespan, period, peak, busy;
} search_figures;

/** Walk @plan with @share, one row for a worker's whole share or a row a stage. */
search_figures search_walk(const mr_plan *plan, const mr_cost *share);

/** What `search` with the options @sets finds. The caller destroys it. */
mr_plan *search_plan(uint16_t d, uint32_t t, uint16_t v, const char *sets, const mr_cost *costs);

/** The same with a clock. @n_tries may be NULL. */
mr_plan *search_plan_by(double (*now)(void), uint64_t *n_tries, uint16_t d, uint32_t t, uint16_t v, const char *sets,
			const mr_cost *costs);

/** The same, with what it proves in @proof. */
mr_plan *search_proved(uint16_t d, uint32_t t, uint16_t v, const char *sets, const mr_cost *costs,
		       mr_sched_proof *proof);

/** The best by name: makespan and period, each of its own, of the systems with one pipe that keep at most @cap. */
search_figures search_by_name(uint16_t d, uint32_t t, uint16_t v, double cap, const mr_cost *costs);

#endif
