#include "schedules/straight.h"

#include <stdio.h>

/* 800 MB of instructions: a slip of the keyboard is refused before it swaps. */
#define MAX_INSTRS (1u << 25)

mr_status mr_straight_create(const mr_sched_args *args, const char *name, uint32_t n_micro, mr_plan **out)
{
	mr_plan *plan;

	if ((uint64_t)args->n_workers * 2 * n_micro > MAX_INSTRS)
		return mr_fail(MR_ECONFIG, "%u micro-batches on %u workers are more than a plan may hold (%u instructions)", n_micro,
			       args->n_workers, MAX_INSTRS);
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
