#include "ir/deps.h"

#include "ir/stage_ops.h"

/* Whether F at @stage hands its output to another stage, and B or I its gradient. */
static bool has_next(const mr_plan *plan, uint16_t stage)
{
	return stage + 1u < plan->n_stages;
}

/* The pass of @in, an F, B or I, that is before it in the ring. False: none is. */
static bool before_in_ring(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *dep)
{
	uint64_t micro = mr_instr_micro(plan, in, n);
	uint8_t pipe = (uint8_t)((in->pipe ? in->pipe : plan->n_pipes) - 1);

	if (!mr_ring_follows(plan, micro))
		return false;
	*dep = (mr_dep){in->op == MR_OP_F ? MR_DEP_F : MR_DEP_GRAD, pipe, in->stage, micro - 1, 0};
	return true;
}

/* The backward pass behind which the room of @in, an F, is free. */
static uint32_t deps_of_room(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *deps)
{
	uint64_t micro = mr_instr_micro(plan, in, n), k = plan->rooms[in->stage];

	if (!k || micro < k)
		return 0;
	deps[0] = (mr_dep){MR_DEP_GRAD, (uint8_t)((micro - k) % plan->n_pipes), in->stage, micro - k, 0};
	return 1;
}

static uint32_t deps_of_forward(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *deps)
{
	const mr_contract *c = &plan->contract;
	uint64_t version = plan->lowered ? mr_instr_read(plan, in, n) : 0;
	uint16_t s = in->stage;
	uint32_t k = 0;

	if (s > 0)
		deps[k++] = (mr_dep){MR_DEP_F, in->pipe, (uint16_t)(s - 1), mr_instr_micro(plan, in, n), 0};
	k += before_in_ring(plan, in, n, &deps[k]);
	k += deps_of_room(plan, in, n, &deps[k]);
	if (version > 0 && c->flush == MR_FLUSH_BARRIER) {
		deps[k++] = (mr_dep){MR_DEP_COMMITS, in->pipe, s, version, 0};
	} else if (mr_contract_averages(c, version) && version > 0) {
		deps[k++] = (mr_dep){MR_DEP_REPLICAS, in->pipe, s, version, 0};
	} else if (version > 0) {
		deps[k++] = (mr_dep){MR_DEP_COMMIT, in->pipe, s, version, 0};
		if (c->tied && s > 0 && !has_next(plan, s))
			deps[k++] = (mr_dep){MR_DEP_COMMIT, in->pipe, 0, version, 0};
	}
	if (plan->lowered && has_next(plan, s))
		deps[k++] = (mr_dep){MR_DEP_FWD_FREE, in->pipe, (uint16_t)(s + 1), mr_instr_out(plan, in, n), 0};
	return k;
}

/* Released sums: the commit behind which the buffer of the sum of @in, a B or W, is free. */
static uint32_t deps_of_buffer(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *deps)
{
	uint16_t above = mr_trained_beside(plan, in->stage, 2);

	deps[0] = (mr_dep){MR_DEP_COMMIT, in->pipe, above, mr_instr_micro(plan, in, n) / plan->contract.need + 1, 0};
	return plan->contract.release_sums && plan->lowered && in->op != MR_OP_I && above < plan->n_stages;
}

static uint32_t deps_of_backward(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *deps)
{
	uint64_t micro = mr_instr_micro(plan, in, n);
	uint16_t s = in->stage;
	uint32_t k = 0;

	deps[k++] = (mr_dep){MR_DEP_F, in->pipe, s, micro, 0};
	k += before_in_ring(plan, in, n, &deps[k]);
	/* The other parts may still read this part's sum: their steps end with the commit before. */
	if (plan->lowered && plan->stage_replicas[s] > 1 && micro >= plan->stage_replicas[s])
		deps[k++] = (mr_dep){MR_DEP_COMMIT, in->pipe, s, micro / plan->stage_replicas[s], 0};
	if (plan->lowered && plan->contract.whole_steps && plan->contract.ring && micro &&
	    micro % plan->contract.need == 0) /* the sum is free */
		deps[k++] = (mr_dep){MR_DEP_COMMIT, in->pipe, s, micro / plan->contract.need, 0};
	k += deps_of_buffer(plan, in, n, &deps[k]);
	if (has_next(plan, s))
		deps[k++] = (mr_dep){MR_DEP_GRAD, in->pipe, (uint16_t)(s + 1), micro, 0};
	if (plan->lowered && mr_stage_hands_back(plan, s))
		deps[k++] = (mr_dep){MR_DEP_BWD_FREE, in->pipe, s, mr_instr_out(plan, in, n), 0};
	return k;
}

static uint32_t deps_of_weights(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *deps)
{
	uint64_t micro = mr_instr_micro(plan, in, n);
	uint32_t k = 0;

	deps[k++] = (mr_dep){MR_DEP_GRAD, in->pipe, in->stage, micro, in->span - 1u};
	k += deps_of_buffer(plan, in, n, &deps[k]);
	if (!plan->contract.steal)
		return k;
	if (micro % plan->contract.need)
		deps[k++] = (mr_dep){MR_DEP_TURN, in->pipe, in->stage, micro - 1, 0};
	deps[k++] = (mr_dep){MR_DEP_TAIL, in->pipe, in->stage, micro, 0};
	return k;
}

/* The gradients that N (the whole sum) or U (a range of it) of a commit waits for. */
static uint32_t deps_of_sum(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep *deps)
{
	mr_dep_kind kind = !mr_stage_has(plan, in->stage, MR_OP_AR)			     ? MR_DEP_SUM
			   : in->op == MR_OP_N || plan->contract.joint_w || mr_plan_has_stage_replicas(plan)
				   ? MR_DEP_REDUCED
				   : MR_DEP_AR;

	deps[0] = (mr_dep){(uint8_t)kind, in->pipe, in->stage, mr_instr_target(plan, in, n), 0};
	return 1;
}

uint32_t mr_deps_of(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep deps[MR_DEPS_MAX])
{
	uint64_t target = mr_instr_target(plan, in, n);
	uint32_t k;

	switch (in->op) {
	case MR_OP_F:
		return deps_of_forward(plan, in, n, deps);
	case MR_OP_R:
		deps[0] = (mr_dep){MR_DEP_F, in->pipe, in->stage, mr_instr_micro(plan, in, n), 0};
		return 1;
	case MR_OP_B:
	case MR_OP_I:
		return deps_of_backward(plan, in, n, deps);
	case MR_OP_W:
		return deps_of_weights(plan, in, n, deps);
	case MR_OP_AR:
		deps[0] = (mr_dep){MR_DEP_SUM, in->pipe, in->stage, target, 0};
		if (!plan->contract.tied || in->stage != 0 || plan->n_stages == 1)
			return 1;
		deps[1] = (mr_dep){MR_DEP_SUM, in->pipe, (uint16_t)(plan->n_stages - 1), target, 0};
		return 2;
	case MR_OP_N:
		return deps_of_sum(plan, in, n, deps);
	case MR_OP_U:
		k = deps_of_sum(plan, in, n, deps);
		if (plan->contract.whole_steps && target > 1)
			deps[k++] = (mr_dep){MR_DEP_COMMIT, in->pipe, in->stage, target - 1, 0};
		if (plan->contract.clip)
			deps[k++] = (mr_dep){
				(uint8_t)(plan->contract.flush == MR_FLUSH_VALIDATED ? MR_DEP_NORM : MR_DEP_NORMS),
				in->pipe, in->stage, target, 0};
		return k;
	case MR_OP_AVG:
		deps[0] = (mr_dep){MR_DEP_REPLICAS, in->pipe, in->stage, target - 1, 0};
		return 1;
	case MR_OP_V:
		deps[0] = (mr_dep){MR_DEP_NORMS, in->pipe, in->stage, target, 0};
		return target > 0;
	default:
		return 0;
	}
}

mr_wait_cause mr_dep_cause(mr_dep_kind kind)
{
	switch (kind) {
	case MR_DEP_F:
	case MR_DEP_GRAD:
	case MR_DEP_TURN:
	case MR_DEP_TAIL:
		return MR_WAIT_UPSTREAM;
	case MR_DEP_SUM:
	case MR_DEP_AR:
	case MR_DEP_REDUCED:
	case MR_DEP_COMMIT:
	case MR_DEP_COMMITS:
	case MR_DEP_REPLICAS:
		return MR_WAIT_WEIGHTS;
	case MR_DEP_NORM:
	case MR_DEP_NORMS:
		return MR_WAIT_OPTIMIZER;
	case MR_DEP_FWD_FREE:
	case MR_DEP_BWD_FREE:
		return MR_WAIT_DOWNSTREAM;
	default:
		return MR_WAIT_NONE;
	}
}

/* The place @stored in the instruction, or the one that follows from the micro-batch's number. A table entry of 0 is an
 * error that the checker reports; here it must not trap. */
static uint32_t number_of(const mr_plan *plan, const mr_instr *in, uint64_t n, uint16_t stored, uint16_t room)
{
	if (plan->storage == MR_STORED)
		return stored;
	return room ? (uint32_t)(mr_instr_micro(plan, in, n) / plan->n_pipes % room) : 0;
}

uint32_t mr_instr_slot(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	return number_of(plan, in, n, in->slot, plan->n_slots[mr_plan_at(plan, in->pipe, in->stage)]);
}

uint32_t mr_instr_in_fwd(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	return number_of(plan, in, n, in->in, plan->n_fwd[mr_plan_at(plan, in->pipe, in->stage)]);
}

uint32_t mr_instr_in_bwd(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	size_t at = mr_plan_at(plan, in->pipe, in->stage);

	return number_of(plan, in, n, in->in, has_next(plan, in->stage) ? plan->n_bwd[at + 1] : 0);
}

uint32_t mr_instr_out(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	size_t at = mr_plan_at(plan, in->pipe, in->stage);

	if (in->op == MR_OP_F)
		return number_of(plan, in, n, in->out, has_next(plan, in->stage) ? plan->n_fwd[at + 1] : 0);
	return number_of(plan, in, n, in->out, plan->n_bwd[at]);
}
