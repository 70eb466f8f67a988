#include "schedules/common/unflushed.h"

#include <stdlib.h>

#include "schedules/common/straight.h"

/* The commits of a synchronous start, each with its drain. */
static mr_status fill_sync(mr_plan *plan, uint16_t w, uint32_t in_flight, uint32_t n_commits, bool recompute)
{
	uint32_t need = plan->contract.need;

	for (uint32_t c = 0; c < n_commits; c++)
		MR_TRY(mr_straight_emit_1f1b(plan, w, MR_PROLOGUE, mr_unflushed_ahead(in_flight, w), c * need, need,
					     recompute));
	return MR_OK;
}

static mr_status fill_endless(mr_plan *plan, uint32_t in_flight, bool recompute)
{
	uint32_t need = plan->contract.need, first = plan->contract.sync_steps * need;

	plan->n_micro = need;
	plan->commits = 1;
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint32_t ahead = mr_unflushed_ahead(in_flight, w);

		MR_TRY(fill_sync(plan, w, in_flight, plan->contract.sync_steps, recompute));
		for (uint32_t m = first; m < first + ahead; m++)
			MR_TRY(mr_sched_emit(plan, w, MR_PROLOGUE, MR_OP_F, m, w, 0));
		for (uint32_t m = first; m < first + need; m++) {
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
	uint32_t need = plan->contract.need, sync = plan->contract.sync_steps;

	plan->n_micro = n_micro;
	plan->commits = n_micro / need;
	sync = sync < plan->commits ? sync : plan->commits;
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		MR_TRY(fill_sync(plan, w, in_flight, sync, recompute));
		MR_TRY(mr_straight_emit_1f1b(plan, w, MR_PROLOGUE, mr_unflushed_ahead(in_flight, w), sync * need,
					     n_micro - sync * need, recompute));
	}
	return MR_OK;
}

mr_status mr_unflushed_emit(const mr_sched_args *args, const char *name, uint32_t in_flight,
			    const mr_contract *contract, uint64_t n_micro, bool recompute, mr_plan **out)
{
	/* micro-batches in a worker's lists: of the start, all */
	uint64_t sync = (uint64_t)contract->sync_steps * contract->need;
	uint64_t each = args->finite ? n_micro : sync + in_flight + contract->need;
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_straight_create(args, name, each < UINT32_MAX ? (uint32_t)each : UINT32_MAX, &plan));
	plan->contract = *contract;
	st = args->finite ? fill_finite(plan, in_flight, (uint32_t)n_micro, recompute)
			  : fill_endless(plan, in_flight, recompute);
	return mr_sched_finish(plan, st, out);
}

mr_status mr_unflushed_aim(mr_plan *plan, mr_unflushed_horizon *f, mr_unflushed_horizon *b)
{
	uint16_t n = plan->n_stages;
	int32_t *horizon = calloc(2 * (size_t)n, sizeof(*horizon));

	if (!horizon)
		return mr_fail(MR_ERESOURCE, "no memory for the horizons of %u stages", n);
	for (uint16_t s = 0; s < n; s++) {
		horizon[s] = f ? f(n, s) : 0;
		horizon[n + s] = b ? b(n, s) : 0;
	}
	mr_sched_aim(plan, horizon, horizon + n);
	free(horizon);
	return MR_OK;
}

mr_contract mr_unflushed_latest(const mr_sched_args *args)
{
	return (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = 1,
		.max_staleness = args->n_workers - 1u,
	};
}

void mr_unflushed_claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	if (args->finite)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = args->finite && args->n_micro < args->n_workers ? args->n_micro : args->n_workers;
	out->peak_slots_last = 1;
}
