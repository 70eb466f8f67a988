#include "schedules/common/vee.h"

mr_status mr_vee_create(const mr_sched_args *args, const char *name, uint32_t per_micro, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_sched_create(args, name, 2u * args->n_workers, 1, per_micro, &plan));
	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (unsigned leg = 0; leg < 2; leg++)
			plan->worker_of[mr_plan_at(plan, 0, mr_vee_stage(plan, w, leg))] = w;
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	*out = plan;
	return MR_OK;
}

uint16_t mr_vee_stage(const mr_plan *plan, uint16_t worker, unsigned leg)
{
	return (uint16_t)(leg ? plan->n_stages - 1 - worker : worker);
}

mr_status mr_vee_emit(mr_plan *plan, uint16_t worker, mr_op op, unsigned leg, uint32_t micro)
{
	return mr_sched_emit(plan, worker, MR_BODY, op, micro, mr_vee_stage(plan, worker, leg), 0);
}

mr_status mr_vee_emit_steps(mr_plan *plan, uint16_t worker, const uint8_t *steps, size_t n, bool fused)
{
	static const struct {
		mr_op op;
		unsigned leg;
	} of[MR_VEE_N] = {{MR_OP_F, 0}, {MR_OP_F, 1}, {MR_OP_I, 1}, {MR_OP_I, 0}, {MR_OP_W, 0}, {MR_OP_W, 1}};
	uint32_t micro[MR_VEE_N] = {0};

	for (size_t k = 0; k < n; k++) {
		mr_op op = of[steps[k]].op;

		if (fused && op == MR_OP_W)
			continue;
		op = fused && op == MR_OP_I ? MR_OP_B : op;
		MR_TRY(mr_vee_emit(plan, worker, op, of[steps[k]].leg, micro[steps[k]]++));
	}
	return MR_OK;
}
