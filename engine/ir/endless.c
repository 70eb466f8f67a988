#include "ir/endless.h"

#include <stdlib.h>

void mr_endless_destroy(mr_endless *e)
{
	if (!e)
		return;
	if (e->destroy)
		e->destroy(e->arg);
	free(e);
}

mr_status mr_endless_storage(mr_plan *plan)
{
	uint32_t stale = plan->contract.max_staleness;

	/* Shorter runs never see the oldest. */
	stale = plan->endless->n_steps < stale ? (uint32_t)plan->endless->n_steps : stale;
	if (stale >= UINT16_MAX)
		return mr_fail(MR_ECONFIG,
			       "reads of %u commits ago need more version buffers than a plan may have (%u)", stale,
			       UINT16_MAX);
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		uint16_t ahead = (uint16_t)(plan->n_stages - s);

		plan->n_slots[s] = ahead;
		plan->n_fwd[s] = plan->n_bwd[s] = s ? (uint16_t)(ahead + 1) : 0;
		plan->n_versions[s] = (uint16_t)(stale + 1);
	}
	plan->storage = MR_MODULO;
	plan->lowered = true;
	return MR_OK;
}

/* The B of worker @w as the lowering left it: it treats those of all windows alike. */
static const mr_instr *pattern(const mr_plan *plan, uint16_t w)
{
	const mr_list *l = mr_plan_list(plan, w, MR_PROLOGUE);

	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].op == MR_OP_B)
			return &l->at[i];
	return NULL;
}

/* The list of worker @w in @from with its commits, appended to @to. */
static mr_status lower_list(const mr_plan *plan, const mr_plan *from, uint16_t w, mr_plan *to)
{
	const mr_list *l = mr_plan_list(from, w, MR_BODY);
	const mr_instr *like = pattern(plan, w);

	for (uint32_t i = 0; i < l->n; i++) {
		mr_instr in = l->at[i];
		bool back = in.op == MR_OP_B, inside = back && like && like->flags & MR_INSTR_UPDATE;

		if (back)
			in.flags |= MR_INSTR_FIRST_SUM | (inside ? MR_INSTR_UPDATE : 0);
		if (inside)
			in.target = (int32_t)in.micro + 1;
		MR_TRY(mr_plan_append(to, w, MR_BODY, in));
		if (back && !inside)
			MR_TRY(mr_plan_append(to, w, MR_BODY,
					      (mr_instr){.op = MR_OP_U, .span = 1, .stage = in.stage, .micro = in.micro,
							 .target = (int32_t)in.micro + 1}));
	}
	return MR_OK;
}

mr_status mr_window_create(const mr_plan *plan, uint64_t n, mr_plan **out)
{
	mr_plan *plain, *window = NULL;
	mr_status st;

	*out = NULL;
	MR_TRY(mr_plan_create_like(plan, true, &plain));
	st = plan->endless->window(plan->endless->arg, n, plain);
	if (st == MR_OK)
		st = mr_plan_create_like(plan, true, &window);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = lower_list(plan, plain, w, window);
	mr_plan_destroy(plain);
	if (st == MR_OK)
		*out = window;
	else
		mr_plan_destroy(window);
	return st;
}
