#include "schedules/common/stage_costs.h"

mr_status mr_stage_costs(const mr_sched_args *args, const mr_plan *plan, mr_stage_cost *out)
{
	const char *text = mr_values_string(args->options, "costs");
	mr_sched_args own = *args;
	mr_stage_cost share;
	mr_cost one = {1, &share};

	if (*text) {
		if (mr_cost_read(text, &share) != MR_OK)
			return mr_fail_in(MR_ECONFIG, "costs");
		own.costs = &one;
	}
	return mr_sched_costs(&own, plan->n_stages, out);
}
