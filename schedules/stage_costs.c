#include "schedules/stage_costs.h"

mr_status mr_stage_costs(const mr_sched_args *args, const mr_plan *plan, mr_stage_cost *out)
{
	const char *text = mr_values_string(args->options, "costs");
	double part = (double)plan->n_workers / plan->n_stages;
	mr_stage_cost share = {.f = 1, .i = 1, .w = 1};

	if (*text) {
		if (mr_cost_read(text, &share) != MR_OK)
			return mr_fail_in(MR_ECONFIG, "costs");
	} else if (args->costs && args->costs->n_stages == 1) {
		share = args->costs->stage[0];
	} else if (args->costs) {
		if (args->costs->n_stages != plan->n_stages)
			return mr_fail(MR_ECONFIG, "the cost table has %u stages, the plan %u", args->costs->n_stages,
				       plan->n_stages);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			out[s] = args->costs->stage[s];
		return MR_OK;
	}
	for (uint16_t s = 0; s < plan->n_stages; s++)
		out[s] = (mr_stage_cost){
			.f = share.f * part, .i = share.i * part, .w = share.w * part, .u = share.u * part, .c = share.c};
	return MR_OK;
}
