/*
 * search_judge.h - the time that `search` predicts for a plan: at first sight, and in the run.
 *
 * The first sight is a walk of the bare plan with boundary buffers without limit: it is cheap, and never longer than
 * the run, for which lowering adds steps, norms and finite buffers. The time in the run comes from the caller's judge
 * (ir/sched.h). A search that takes plans in the order of their first sights may stop at the first plan whose first
 * sight is not below the best run so far: no later plan can be better. Without a caller's judge only first sights are
 * used.
 */
#ifndef MR_SCHEDULES_SEARCH_JUDGE_H
#define MR_SCHEDULES_SEARCH_JUDGE_H

#include "ir/sched.h"

typedef enum mr_search_objective { MR_SEARCH_STEP, MR_SEARCH_MAKESPAN, MR_SEARCH_PERIOD } mr_search_objective;

typedef struct mr_search_judge {
	const mr_sched_args *args;
	const mr_sched_judge *model; /* that of @args if there is a model; NULL: there are only costs */
	mr_search_objective objective;
	bool own_costs; /* the option costs is given: the run's costs are not used */
	bool period;    /* first sights are periods, not makespans */
	double cap;     /* most micro-batches of its share that a worker may keep */
} mr_search_judge;

/** Set up @j for the options of `search` in @args. Errors: MR_ECONFIG for an option with an invalid value. */
mr_status mr_search_judge_init(mr_search_judge *j, const mr_sched_args *args) MR_MUST_USE;

/** Can there be @n_stages stages? */
bool mr_search_cuts(const mr_search_judge *j, uint32_t n_stages);

/** Fill @out [plan->n_stages] with the costs of the stages of @plan on their workers. */
mr_status mr_search_costs(const mr_search_judge *j, const mr_plan *plan, mr_stage_cost *out) MR_MUST_USE;

/** *@value is the first sight of @plan; INFINITY where a worker keeps more than the cap. */
mr_status mr_search_sight(const mr_search_judge *j, const mr_plan *plan, double *value) MR_MUST_USE;

/** *@value is the time of @plan in the run; *@out says whether it fits into memory. @sight is its first sight. A plan
 * that cannot run does not fit. */
mr_status mr_search_look(const mr_search_judge *j, const mr_plan *plan, double sight, mr_sched_verdict *out,
			 double *value) MR_MUST_USE;

#endif
