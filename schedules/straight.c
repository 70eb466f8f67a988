#include "schedules/straight.h"

#include <stdio.h>

mr_status mr_straight_create(const mr_sched_args *args, const char *name, mr_plan **out)
{
	mr_plan *plan;

	if (args->chunks != 1)
		return mr_fail(MR_ECONFIG, "a worker hosts exactly one stage in this system, so chunks must be 1, got %u",
			       args->chunks);
	if (args->n_micro > INT32_MAX)
		return mr_fail(MR_ECONFIG, "%u micro-batches are more than a plan can number (%d)", args->n_micro, INT32_MAX);
	MR_TRY(mr_plan_create(args->n_workers, args->n_workers, 1, &plan));
	snprintf(plan->system, sizeof(plan->system), "%s", name);
	for (uint16_t s = 0; s < plan->n_stages; s++)
		plan->worker_of[mr_plan_at(plan, 0, s)] = s;
	*out = plan;
	return MR_OK;
}

mr_status mr_straight_emit_1f1b(mr_plan *plan, uint16_t worker, mr_section section, uint32_t warmup, uint32_t n_micro)
{
	uint32_t ahead = warmup < n_micro ? warmup : n_micro;

	for (uint32_t m = 0; m < n_micro + ahead; m++) {
		if (m < n_micro)
			MR_TRY(mr_sched_emit(plan, worker, section, MR_OP_F, m, worker, 0));
		if (m >= ahead)
			MR_TRY(mr_sched_emit(plan, worker, section, MR_OP_B, m - ahead, worker, 0));
	}
	return MR_OK;
}
