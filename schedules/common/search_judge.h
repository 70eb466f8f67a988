/*
 * search_judge.h - what plans are worth to `search`: at first sight, and in the run.
 *
 * At first sight is a walk of the bare plan with boundary buffers without limit: cheap, and never more than what the
 * run takes, where lowering adds steps, norms and finite buffers. In the run is what the caller's judge says
 * (ir/sched.h). Who looks at plans in the order of their first sights may stop at the first whose first sight is not
 * below the best run so far: no later one can be better. Without a caller's judge first sights are all there is.
 */
#ifndef MR_SCHEDULES_SEARCH_JUDGE_H
#define MR_SCHEDULES_SEARCH_JUDGE_H

#include "ir/sched.h"

typedef enum mr_search_objective { MR_SEARCH_STEP, MR_SEARCH_MAKESPAN, MR_SEARCH_PERIOD } mr_search_objective;

typedef struct mr_search_judge {
	const mr_sched_args *args;
	mr_search_objective objective;
	bool own_costs; /* the user's own costs rule: the run's are not asked for */
	bool period;    /* what first sights are: periods, not makespans */
	double cap;     /* most micro-batches of its share that a worker may keep */
} mr_search_judge;

/** For the options of `search` in @args. Errors: MR_ECONFIG an option that makes no sense. */
mr_status mr_search_judge_init(mr_search_judge *j, const mr_sched_args *args) MR_MUST_USE;

/** Can there be @n_stages stages? */
bool mr_search_cuts(const mr_search_judge *j, uint32_t n_stages);

/** Fill @out [plan->n_stages] with what the stages of @plan cost where it places them. */
mr_status mr_search_costs(const mr_search_judge *j, const mr_plan *plan, mr_stage_cost *out) MR_MUST_USE;

/** *@value is the first sight of @plan; INFINITY where a worker keeps more than the cap. */
mr_status mr_search_sight(const mr_search_judge *j, const mr_plan *plan, double *value) MR_MUST_USE;

/** What @plan takes in the run, and whether it fits; @sight is its first sight. A plan that cannot run does not fit. */
mr_status mr_search_look(const mr_search_judge *j, const mr_plan *plan, double sight, mr_sched_verdict *out,
			 double *value) MR_MUST_USE;

#endif
