#include "schedules/common/straight.h"

mr_status mr_straight_create(const mr_sched_args *args, const char *name, uint32_t n_micro, mr_plan **out)
{
	mr_sched_args own = *args;
	mr_plan *plan;

	own.n_micro = n_micro;
	MR_TRY(mr_sched_create(&own, name, args->n_workers, 1, 4, &plan));
	for (uint16_t s = 0; s < plan->n_stages; s++)
		plan->worker_of[mr_plan_at(plan, 0, s)] = s;
	*out = plan;
	return MR_OK;
}

mr_status mr_straight_emit_1f1b(mr_plan *plan, uint16_t worker, mr_section section, uint32_t warmup, uint32_t first,
				 uint32_t n_micro, bool recompute)
{
	uint32_t ahead = warmup < n_micro ? warmup : n_micro;

	recompute = recompute && ahead > 0 && n_micro > 1; /* else B directly follows F, and nothing can be saved */
	for (uint32_t m = 0; m < n_micro + ahead; m++) {
		if (m < n_micro)
			MR_TRY(mr_sched_emit(plan, worker, section, MR_OP_F, first + m, worker, 0));
		if (m >= ahead && recompute)
			MR_TRY(mr_sched_emit(plan, worker, section, MR_OP_R, first + m - ahead, worker, 0));
		if (m >= ahead)
			MR_TRY(mr_sched_emit(plan, worker, section, MR_OP_B, first + m - ahead, worker, 0));
	}
	return MR_OK;
}
