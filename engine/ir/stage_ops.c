#include "ir/stage_ops.h"

#define BIT(op) (1u << MR_OP_##op)

/* By mr_frozen. */
static const uint32_t compute[] = {
	[MR_TRAINS] = BIT(F) | BIT(R) | BIT(B) | BIT(I) | BIT(W) | BIT(U),
	[MR_FROZEN_PASSES] = BIT(F) | BIT(R) | BIT(I),
	[MR_FROZEN_LEAF] = BIT(F),
};

uint32_t mr_stage_ops(const mr_plan *plan, uint16_t stage)
{
	const mr_contract *c = &plan->contract;
	bool replicates = mr_contract_replicates(c);
	uint32_t ops = c->coverage == MR_COVER_FORWARD ? BIT(F) : compute[plan->frozen[stage]];

	if (!(ops & BIT(U)))
		return ops;
	if ((mr_plan_partial_sums(plan, stage) > 1 && !replicates) || (c->tied && stage == 0))
		ops |= BIT(AR);
	return ops | (c->clip ? BIT(N) : 0) | (c->flush == MR_FLUSH_VALIDATED ? BIT(V) : 0) |
	       (replicates ? BIT(AVG) : 0);
}

const uint32_t mr_pass_ops[MR_PASSES] = {BIT(F) | BIT(R), BIT(B) | BIT(I), BIT(B) | BIT(W)};

uint32_t mr_stage_count(const mr_plan *plan, uint16_t worker, uint32_t pipe, uint16_t stage, uint32_t ops, bool each)
{
	const mr_list *l = mr_plan_list(plan, worker, MR_BODY);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i];

		if (in->stage == stage && (pipe == UINT32_MAX || in->pipe == pipe) && 1u << in->op & ops)
			n += each && in->span ? in->span : 1;
	}
	return n;
}

uint16_t mr_trained_beside(const mr_plan *plan, uint16_t stage, int by)
{
	int step = by < 0 ? -1 : 1, s = stage;

	while (by && (s += step) >= 0 && s < plan->n_stages)
		by -= mr_stage_has(plan, (uint16_t)s, MR_OP_U) ? step : 0;
	return by ? plan->n_stages : (uint16_t)s;
}
