#include "schedules/unflushed.h"

#include "schedules/straight.h"

static mr_status fill_endless(mr_plan *plan, uint32_t in_flight, bool recompute)
{
	uint32_t need = plan->contract.need;

	plan->n_micro = need;
	plan->commits = 1;
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint32_t ahead = mr_unflushed_ahead(in_flight, w);

		for (uint32_t m = 0; m < ahead; m++)
			MR_TRY(mr_sched_emit(plan, w, MR_PROLOGUE, MR_OP_F, m, w, 0));
		for (uint32_t m = 0; m < need; m++) {
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m + ahead, w, 0));
			if (recompute && ahead)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_R, m, w, 0));
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, w, 0));
		}
	}
	return MR_OK;
}

static mr_status fill_finite(mr_plan *plan, uint32_t in_flight, uint32_t n_micro, bool recompute)
{
	plan->n_micro = n_micro;
	plan->commits = n_micro / plan->contract.need;
	for (uint16_t w = 0; w < plan->n_workers; w++)
		MR_TRY(mr_straight_emit_1f1b(plan, w, MR_PROLOGUE, mr_unflushed_ahead(in_flight, w), n_micro, recompute));
	return MR_OK;
}

mr_status mr_unflushed_emit(const mr_sched_args *args, const char *name, uint32_t in_flight, const mr_contract *contract,
			    uint64_t n_micro, bool recompute, mr_plan **out)
{
	uint64_t each = args->finite ? n_micro : (uint64_t)in_flight + contract->need; /* micro-batches in a worker's lists */
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_straight_create(args, name, each < UINT32_MAX ? (uint32_t)each : UINT32_MAX, &plan));
	plan->contract = *contract;
	st = args->finite ? fill_finite(plan, in_flight, (uint32_t)n_micro, recompute) : fill_endless(plan, in_flight, recompute);
	return mr_sched_finish(plan, st, out);
}
