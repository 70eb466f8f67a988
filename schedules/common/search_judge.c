#include "schedules/common/search_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timing/walk.h"
#include "schedules/common/cap.h"
#include "schedules/common/stage_costs.h"

/* Times this close are equal: sums of doubles in another order. */
#define SAME 1e-9

mr_status mr_search_judge_init(mr_search_judge *j, const mr_sched_args *args)
{
	const char *objective = mr_values_string(args->options, "objective"),
		   *cap = mr_values_string(args->options, "cap");

	*j = (mr_search_judge){.args = args, .own_costs = *mr_values_string(args->options, "costs")};
	j->model = args->judge && !args->judge->bare ? args->judge : NULL;
	j->objective = !strcmp(objective, "step")     ? MR_SEARCH_STEP
		       : !strcmp(objective, "period") ? MR_SEARCH_PERIOD
						      : MR_SEARCH_MAKESPAN;
	j->period = j->objective == MR_SEARCH_PERIOD;
	if (j->objective == MR_SEARCH_STEP)
		j->period = j->model && !j->model->barrier;
	if (!strcmp(cap, "memory")) {
		j->cap = j->model ? INFINITY : args->n_workers;
		return MR_OK;
	}
	return mr_cap_read(cap, args->n_workers, &j->cap);
}

bool mr_search_cuts(const mr_search_judge *j, uint32_t n_stages)
{
	const mr_sched_args *a = j->args;

	return j->model ? j->model->cuts(j->model->arg, n_stages)
			: j->own_costs || !a->costs || a->costs->n_stages == 1 || a->costs->n_stages == n_stages;
}

mr_status mr_search_costs(const mr_search_judge *j, const mr_plan *plan, mr_stage_cost *out)
{
	if (j->model && !j->own_costs)
		return j->model->costs(j->model->arg, plan, out);
	return mr_stage_costs(j->args, plan, out);
}

mr_status mr_search_sight(const mr_search_judge *j, const mr_plan *plan, double *value)
{
	mr_stage_cost *stage = malloc(plan->n_stages * sizeof(*stage));
	mr_walk_opts opts = {.unlimited = true, .no_period = !j->period};
	mr_walk *walk = NULL;
	mr_status st = stage ? mr_search_costs(j, plan, stage)
			     : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);

	if (st == MR_OK)
		st = mr_plan_walk(plan, &(mr_cost){plan->n_stages, stage}, 1, &opts, &walk);
	free(stage);
	MR_TRY(st);
	*value = j->period ? walk->period : walk->makespan;
	for (uint16_t w = 0; w < plan->n_workers; w++)
		if (walk->peak_until_w[w] > j->cap + SAME)
			*value = INFINITY;
	mr_walk_destroy(walk);
	return MR_OK;
}

mr_status mr_search_look(const mr_search_judge *j, const mr_plan *plan, double sight, mr_sched_verdict *out,
			 double *value)
{
	const mr_sched_judge *judge = j->args->judge;
	mr_status st;

	*out = (mr_sched_verdict){.fits = true};
	*value = sight;
	if (!judge)
		return MR_OK;
	st = judge->look(judge->arg, plan, out);
	if (st == MR_ECONFIG) {
		*out = (mr_sched_verdict){.bytes = UINT64_MAX};
		return MR_OK;
	}
	if (st == MR_OK && !j->own_costs) {
		double period = isnan(out->period) ? out->makespan : out->period;

		*value = j->objective == MR_SEARCH_STEP ? out->step : j->period ? period : out->makespan;
	}
	return st;
}
