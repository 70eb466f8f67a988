#include "ir/sched.h"

#include <stdio.h>
#include <string.h>

#include "ir/op.h"

/* Split backwards included: a plan of this size is lowered and checked in seconds. A mistyped number is refused before
 * it takes minutes. */
#define MAX_INSTRS (1u << 22)

uint32_t mr_sched_two_a_worker(uint16_t n_workers)
{
	return 2u * n_workers;
}

mr_status mr_sched_create(const mr_sched_args *args, const char *name, uint32_t n_stages, uint32_t n_pipes,
			  uint32_t per_micro, mr_plan **out)
{
	uint64_t row = (uint64_t)n_stages * per_micro;
	mr_plan *plan;

	*out = NULL;
	if (row > MAX_INSTRS || row * args->n_micro > MAX_INSTRS)
		return mr_fail(MR_ECONFIG,
			       "%u micro-batches on %u workers are more than a plan may hold (%u instructions)",
			       args->n_micro, args->n_workers, MAX_INSTRS);
	if (n_stages > UINT16_MAX)
		return mr_fail(MR_ECONFIG, "%u stages are more than a plan may have (%u)", n_stages, UINT16_MAX);
	if (n_pipes > UINT8_MAX)
		return mr_fail(MR_ECONFIG, "%u pipes are more than a plan may have (%u)", n_pipes, UINT8_MAX);
	MR_TRY(mr_plan_create((uint16_t)n_stages, args->n_workers, (uint8_t)n_pipes, &plan));
	snprintf(plan->system, sizeof(plan->system), "%s", name);
	*out = plan;
	return MR_OK;
}

void mr_sched_flushes(mr_plan *plan, uint32_t n_micro, mr_sum_order sum)
{
	plan->n_micro = n_micro;
	plan->commits = 1;
	plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_BARRIER,
		.read_f = MR_READ_BATCH,
		.sum = sum,
		.need = n_micro,
		.same_version_b = true,
	};
}

void mr_sched_aim(mr_plan *plan, const int32_t *forward, const int32_t *backward)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++) {
			mr_instr *in = &plan->lists[i].at[k];

			if (in->op <= MR_OP_I && !mr_instr_is_sync(plan, in))
				in->target = (in->op == MR_OP_F ? forward : backward)[in->stage];
		}
}

mr_status mr_sched_replicates(mr_plan *plan, uint32_t n_micro, const mr_average *average)
{
	uint64_t all = (uint64_t)n_micro * average->every, row = 2u * (uint64_t)plan->n_stages;

	if (n_micro % plan->n_pipes)
		return mr_fail(MR_ECONFIG,
			       "%u replicas cannot share %u micro-batch%s a step evenly: give a multiple of %u",
			       plan->n_pipes, n_micro, n_micro == 1 ? "" : "es", plan->n_pipes);
	if (all * row > MAX_INSTRS)
		return mr_fail(
			MR_ECONFIG,
			"%u steps of %u micro-batches between averages are more than a plan may hold (%u instructions)",
			average->every, n_micro, MAX_INSTRS);
	mr_sched_flushes(plan, (uint32_t)all, MR_SUM_ASCENDING);
	plan->commits = average->every + 1;
	plan->contract.flush = MR_FLUSH_LOCAL;
	plan->contract.need = n_micro;
	plan->contract.average = *average;
	return MR_OK;
}

mr_status mr_sched_finish(mr_plan *plan, mr_status filled, mr_plan **out)
{
	if (filled == MR_OK)
		*out = plan;
	else
		mr_plan_destroy(plan);
	return filled;
}

static bool has_weights(const mr_plan *plan)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			if (plan->lists[i].at[k].op == MR_OP_W)
				return true;
	return false;
}

static mr_status let_steal(mr_plan *plan)
{
	size_t n = strlen(plan->system);

	if (plan->contract.flush == MR_FLUSH_VALIDATED)
		return mr_fail(MR_ECONFIG, "steal: a worker has time for others where it waits at a barrier, and "
					   "optimizer = validated has none");
	if (!has_weights(plan))
		return mr_fail(MR_ECONFIG, "steal: with these options no weight gradient is apart from its backward, "
					   "so there is none to take");
	plan->contract.steal = true;
	plan->contract.flush = MR_FLUSH_BARRIER;
	snprintf(plan->system + n, sizeof(plan->system) - n, "+steal");
	return MR_OK;
}

mr_status mr_sched_finish_steal(const mr_sched_args *args, mr_plan *plan, mr_status filled, mr_plan **out)
{
	if (filled == MR_OK && mr_values_bool(args->options, "steal"))
		filled = let_steal(plan);
	return mr_sched_finish(plan, filled, out);
}

mr_status mr_sched_costs(const mr_sched_args *args, uint16_t n_stages, mr_stage_cost *out)
{
	const mr_stage_cost unit = {.f = 1, .i = 1, .w = 1};
	const mr_stage_cost *all = args->costs ? args->costs->stage : &unit;
	double share = (double)args->n_workers / n_stages;

	if (args->costs && args->costs->n_stages != 1 && args->costs->n_stages != n_stages)
		return mr_fail(MR_ECONFIG, "the cost table has %u stages, the plan %u", args->costs->n_stages,
			       n_stages);
	for (uint16_t s = 0; s < n_stages; s++) {
		if (args->costs && args->costs->n_stages == n_stages && n_stages > 1)
			out[s] = args->costs->stage[s];
		else
			out[s] = (mr_stage_cost){.f = all->f * share,
						 .i = all->i * share,
						 .w = all->w * share,
						 .u = all->u * share,
						 .c = all->c,
						 .r = all->r * share,
						 .n = all->n * share,
						 .g = all->g * share,
						 .s = all->s * share,
						 .a = all->a * share,
						 .v = all->v * share};
	}
	return MR_OK;
}

mr_status mr_sched_emit_span(mr_plan *plan, uint16_t worker, mr_section section, mr_op op, uint32_t micro,
			     uint32_t span, uint16_t stage, uint8_t pipe)
{
	mr_instr in = {.op = (uint8_t)op, .pipe = pipe, .span = (uint8_t)span, .stage = stage, .micro = micro};
	uint16_t host;

	if (!mr_op_is_compute(op))
		return mr_fail(MR_EINVAL,
			       "%s is not for a system to emit: only F, R, B, I and W are (the lowering adds the rest)",
			       mr_op_name(op));
	if (span < 1 || span > (op == MR_OP_W ? UINT8_MAX : 1))
		return mr_fail(MR_EINVAL, "%s of %u micro-batches at once: only a W handles several, up to %d",
			       mr_op_name(op), span, UINT8_MAX);
	if (worker >= plan->n_workers)
		return mr_fail(MR_EINVAL, "worker %u of %u", worker, plan->n_workers);
	if (stage >= plan->n_stages || pipe >= plan->n_pipes)
		return mr_fail(MR_EINVAL, "stage %u of %u, pipe %u of %u", stage, plan->n_stages, pipe, plan->n_pipes);
	if (section >= MR_N_SECTIONS)
		return mr_fail(MR_EINVAL, "section %d of %d", (int)section, MR_N_SECTIONS);
	host = mr_plan_worker(plan, pipe, stage);
	if (host != MR_WORKER_ANY && host != worker)
		return mr_fail(MR_EINVAL, "%s of stage %u, pipe %u belongs to worker %u, not to %u", mr_op_name(op),
			       stage, pipe, host, worker);
	return mr_plan_append(plan, worker, section, in);
}

mr_status mr_sched_emit(mr_plan *plan, uint16_t worker, mr_section section, mr_op op, uint32_t micro, uint16_t stage,
			uint8_t pipe)
{
	return mr_sched_emit_span(plan, worker, section, op, micro, 1, stage, pipe);
}
