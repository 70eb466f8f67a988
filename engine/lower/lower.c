#include "lower/lower.h"

#include "ir/contract.h"
#include "ir/endless.h"
#include "lower/lower_internal.h"
#include "ir/op.h"

static mr_status check_input(const mr_plan *plan)
{
	if (plan->lowered)
		return mr_fail(MR_EINVAL, "the plan is lowered already");
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			if (!mr_op_is_compute(plan->lists[i].at[k].op) ||
			    plan->lists[i].at[k].flags & ~(MR_INSTR_KEEP | MR_INSTR_PASS))
				return mr_fail(
					MR_EINVAL,
					"worker %zu: only plain F, R, B, I and W can be lowered, not %s with flags %u",
					i / MR_N_SECTIONS, mr_op_name((mr_op)plan->lists[i].at[k].op),
					plan->lists[i].at[k].flags);
	return mr_contract_check(plan);
}

static void raise_to(uint16_t *n, uint16_t least, uint32_t most)
{
	if (*n && *n < least)
		*n = least < most ? least : (uint16_t)most;
}

/* Boundaries between workers get their numbers later; inside a worker the order of the list determines them. */
static void make_room(mr_plan *plan, const mr_plan *room)
{
	for (uint16_t s = 0; s < plan->n_stages; s++)
		raise_to(&plan->n_versions[s], room->n_versions[s], UINT16_MAX);
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 1; s < plan->n_stages; s++) {
			size_t at = mr_plan_at(plan, (uint8_t)p, s);

			if (mr_plan_worker(plan, (uint8_t)p, s) == mr_plan_worker(plan, (uint8_t)p, (uint16_t)(s - 1)))
				continue;
			raise_to(&plan->n_fwd[at], room->n_fwd[at], plan->n_micro);
			raise_to(&plan->n_bwd[at], room->n_bwd[at], plan->n_micro);
		}
}

/*
 * Versions that a racing plan keeps, whose order depends on timing. F of a micro-batch begins when at most S - 1 before
 * it, with S slots, lack their B; so it reads at most ceil((S - 1) / need) commits less than its gradient is applied
 * to.
 */
static mr_status keep_racing(mr_plan *plan)
{
	uint32_t need = plan->contract.need;

	for (uint16_t s = 0; plan->contract.racing && plan->contract.keep_read && s < plan->n_stages; s++) {
		uint64_t most = (plan->n_slots[s] - 1u + (uint64_t)need - 1) / need + 1;

		if (most > UINT16_MAX)
			return mr_fail(MR_ECONFIG,
				       "stage %u: a race of %u micro-batches keeps more versions than a plan may have",
				       s, plan->n_slots[s]);
		raise_to(&plan->n_versions[s], (uint16_t)most, UINT16_MAX);
	}
	return MR_OK;
}

/* Place the tail of each worker's iteration ANY: the W after its last instruction that another worker may wait for. */
static void place_any(mr_plan *plan)
{
	for (uint16_t w = 0; plan->contract.steal && w < plan->n_workers; w++) {
		mr_list *l = mr_plan_list(plan, w, MR_BODY);

		for (uint32_t i = l->n; i-- > 0 && (l->at[i].op == MR_OP_W || !mr_op_is_compute(l->at[i].op));)
			if (l->at[i].op == MR_OP_W)
				l->at[i].flags |= MR_INSTR_ANY;
	}
}

mr_status mr_plan_lower(mr_plan *plan, const mr_lower_opts *opts)
{
	mr_lower_opts none = {0};

	if (!opts)
		opts = &none;
	MR_TRY(check_input(plan));
	MR_TRY(mr_lower_commits(plan, opts));
	place_any(plan);
	MR_TRY(mr_lower_versions(plan));
	if (plan->endless)
		return mr_endless_storage(plan);
	MR_TRY(mr_lower_storage(plan, opts));
	MR_TRY(keep_racing(plan));
	if (opts->room)
		make_room(plan, opts->room);
	return mr_lower_raise(plan, opts);
}
