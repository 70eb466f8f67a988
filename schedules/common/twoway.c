#include "schedules/common/twoway.h"

#include <string.h>

/* The worker of @stage in a down pipe that is not shifted. */
static uint32_t down(const mr_plan *plan, uint16_t stage)
{
	return stage < plan->n_workers ? stage : 2u * plan->n_workers - 1 - stage;
}

static void place(mr_plan *plan)
{
	uint32_t d = plan->n_workers, q = plan->n_pipes / 2;

	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			uint32_t w = p < q || !q ? down(plan, s) : d - 1 - down(plan, s);
			uint32_t shift = q ? p % q * (d / q) : 0;

			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] = (uint16_t)((w + shift) % d);
		}
}

mr_status mr_twoway_create(const mr_sched_args *args, const char *name, uint32_t n_pipes, mr_plan **out)
{
	MR_TRY(mr_sched_create(args, name, (uint32_t)args->n_workers * args->chunks, n_pipes, 3, out));
	place(*out);
	mr_sched_flushes(*out, args->n_micro, MR_SUM_ASCENDING);
	if (n_pipes > 1)
		(*out)->contract.private_weights = !strcmp(mr_values_string(args->options, "weights"), "private");
	return MR_OK;
}

uint32_t mr_twoway_share(const mr_plan *plan, uint32_t n_micro, uint8_t pipe, bool even, uint32_t full)
{
	uint32_t q = plan->n_pipes / 2;
	uint32_t turn = pipe < q ? 2u * pipe : 2u * (pipe - q) + 1;

	if (even)
		return n_micro / plan->n_pipes + (turn < n_micro % plan->n_pipes);
	if (n_micro <= pipe * full)
		return 0;
	return n_micro - pipe * full < full ? n_micro - pipe * full : full;
}

mr_status mr_twoway_unit(mr_slots *slots, uint64_t slot, uint32_t first, uint32_t n_micro, bool even)
{
	const mr_plan *plan = slots->plan;
	uint32_t full = plan->n_workers / plan->n_pipes, depth = 2u * plan->n_stages - 1;

	for (unsigned p = 0; p < plan->n_pipes; p++) {
		uint32_t share = mr_twoway_share(plan, n_micro, (uint8_t)p, even, full);

		for (uint32_t j = 0; j < share; j++, first++)
			for (uint16_t s = 0; s < plan->n_stages; s++) {
				uint64_t at = slot + 2 * j;

				MR_TRY(mr_slots_put(slots, at + s, MR_OP_F, first, s, (uint8_t)p));
				MR_TRY(mr_slots_put(slots, at + depth - s, MR_OP_B, first, s, (uint8_t)p));
			}
	}
	return MR_OK;
}
