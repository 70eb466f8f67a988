#include "ir/sum_order.h"

#include "base/stats.h"

/* Does @in add to the sum of stage @s in @pipe? B does where W is not apart. */
static bool adds(const mr_instr *in, uint8_t pipe, uint16_t s)
{
	return in->stage == s && in->pipe == pipe && (in->op == MR_OP_B || in->op == MR_OP_W);
}

/* Fold the one sum of stage @s in @pipe that the body of its list has, from its first addition on. False: there is
 * another number of sums. */
static bool fold(const mr_plan *p, uint8_t pipe, uint16_t s, uint64_t *h)
{
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, s), MR_BODY);
	uint32_t n_first = 0, first = 0, n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		if (!adds(&l->at[i], pipe, s))
			continue;
		n++;
		if (l->at[i].flags & MR_INSTR_FIRST_SUM) {
			first = i;
			n_first++;
		}
	}
	if (n_first != (n > 0))
		return false;
	for (uint32_t k = 0; k < l->n; k++) {
		const mr_instr *in = &l->at[(first + k) % l->n];

		for (uint32_t j = 0; adds(in, pipe, s) && j < in->span; j++) {
			uint32_t of[] = {pipe, (in->micro + j) % p->n_micro};

			*h = mr_hash64(*h, of, sizeof(of));
		}
	}
	return true;
}

/* Of stage @s, over all pipes. */
static bool fold_stage(const mr_plan *p, uint16_t s, uint64_t *h)
{
	*h = 0;
	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		if (!fold(p, (uint8_t)pipe, s, h))
			return false;
	return true;
}

bool mr_plan_sum_order(const mr_plan *p, uint64_t *hash)
{
	bool flushes = p->contract.flush == MR_FLUSH_LOCAL || p->contract.flush == MR_FLUSH_BARRIER;
	uint64_t h;

	if (!flushes || mr_contract_replicates(&p->contract) || mr_plan_has_stage_replicas(p) ||
	    p->contract.steal || p->contract.joint_w || p->endless || p->commits != 1)
		return false;
	if (!fold_stage(p, 0, hash))
		return false;
	for (uint16_t s = 1; s < p->n_stages; s++)
		if (!fold_stage(p, s, &h) || h != *hash)
			return false;
	return true;
}
