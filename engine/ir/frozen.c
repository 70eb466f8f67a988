#include "ir/frozen.h"

bool mr_frozen_alike(const mr_plan *plan, const uint8_t *frozen)
{
	for (uint16_t s = 0; s < plan->n_stages; s++)
		if (plan->frozen[s] != (frozen ? frozen[s] : MR_TRAINS))
			return false;
	return true;
}

bool mr_frozen_any(const mr_plan *plan)
{
	return !mr_frozen_alike(plan, NULL);
}

mr_status mr_frozen_suits(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	if (c->coverage == MR_COVER_TRAIN && (c->flush == MR_FLUSH_BARRIER || c->flush == MR_FLUSH_LOCAL) &&
	    !mr_contract_replicates(c) && !c->steal && mr_plan_repeats(p))
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "layers are frozen in plans that repeat and flush, without validation, stealing and replicas "
		       "that diverge: elsewhere a run pauses, and steps come together, at the versions of every stage "
		       "and buffer, and a frozen layer makes none");
}

mr_status mr_frozen_check(const mr_plan *p)
{
	bool trains = false;

	for (uint16_t s = 0; s < p->n_stages; s++) {
		bool leaf = p->frozen[s] == MR_FROZEN_LEAF, passes = p->frozen[s] == MR_FROZEN_PASSES;

		if (p->frozen[s] > MR_FROZEN_LEAF || (leaf && s && p->frozen[s - 1] != MR_FROZEN_LEAF) ||
		    (passes && !trains))
			return mr_fail(MR_ECONFIG,
				       "stage %u is frozen as %u: it is %u where a stage before it trains, and %u "
				       "where none does",
				       s, p->frozen[s], MR_FROZEN_PASSES, MR_FROZEN_LEAF);
		trains |= mr_plan_trains(p, s);
	}
	if (!mr_frozen_any(p))
		return MR_OK;
	if (!trains)
		return mr_fail(MR_ECONFIG, "all stages are frozen: none would train");
	MR_TRY(mr_frozen_suits(p));
	if (p->contract.tied && !(mr_plan_trains(p, 0) && mr_plan_trains(p, (uint16_t)(p->n_stages - 1))))
		return mr_fail(MR_ECONFIG, "the first and the last stage share a parameter, and one of them is frozen");
	return MR_OK;
}
