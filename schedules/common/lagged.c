#include "schedules/common/lagged.h"

#include <math.h>

#include "schedules/common/looped.h"

mr_status mr_lagged_emit(const mr_sched_args *args, const char *name, uint32_t reach, mr_flush flush, mr_plan **out)
{
	mr_plan *plan;
	mr_status st = MR_OK;

	MR_TRY(mr_looped_create(args, name, 3, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	plan->contract.clip = mr_looped_validates(args);
	plan->contract.flush = plan->contract.clip ? MR_FLUSH_VALIDATED : flush;
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = mr_looped_emit_split(plan, w, args->n_micro, reach * (plan->n_workers - w) - (reach - 1),
					  reach * w);
	return mr_sched_finish_steal(args, plan, st, out);
}

void mr_lagged_claims(const mr_sched_args *args, uint32_t reach, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers, most = reach * (d - 1) + 1, kept = args->n_micro < most ? args->n_micro : most;
	double late = fmax(i - (reach - 1) * f, f + i - reach * w);

	if (args->n_micro >= most) {
		out->bubble_time = (d - 1) * fmax(f, late);
		out->bubble_period = (d - 1) * fmax(0, late);
	}
	out->peak_first = out->peak_last = kept;
	out->peak_slots_first = out->peak_slots_last = kept;
	out->versions_first = out->versions_last = mr_looped_validates(args) ? 2 : 1;
}
