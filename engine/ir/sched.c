#include "ir/sched.h"

#include "ir/op.h"

mr_status mr_sched_emit(mr_plan *plan, uint16_t worker, mr_section section, mr_op op, uint32_t micro, uint16_t stage,
			uint8_t pipe)
{
	mr_instr in = {.op = (uint8_t)op, .pipe = pipe, .span = 1, .stage = stage, .micro = micro};
	uint16_t host;

	if (!mr_op_is_compute(op))
		return mr_fail(MR_EINVAL, "%s is not for a system to emit: only F, R, B, I and W are (the lowering adds the rest)",
			       mr_op_name(op));
	if (worker >= plan->n_workers)
		return mr_fail(MR_EINVAL, "worker %u of %u", worker, plan->n_workers);
	if (stage >= plan->n_stages || pipe >= plan->n_pipes)
		return mr_fail(MR_EINVAL, "stage %u of %u, pipe %u of %u", stage, plan->n_stages, pipe, plan->n_pipes);
	if (section >= MR_N_SECTIONS)
		return mr_fail(MR_EINVAL, "section %d of %d", (int)section, MR_N_SECTIONS);
	host = mr_plan_worker(plan, pipe, stage);
	if (host != MR_WORKER_ANY && host != worker)
		return mr_fail(MR_EINVAL, "%s of stage %u, pipe %u belongs to worker %u, not to %u", mr_op_name(op), stage, pipe,
			       host, worker);
	return mr_plan_append(plan, worker, section, in);
}
