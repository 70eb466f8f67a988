#include "planner/plan_identity.h"

#include "lower/lower.h"
#include "ir/op.h"

/* The compute instruction @in as a schedule emits it. */
static mr_instr emitted(const mr_plan *plan, const mr_instr *in)
{
	mr_instr out = {.op = in->op, .pipe = in->pipe, .span = in->span, .stage = in->stage, .micro = in->micro,
			.flags = in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS), .target = mr_instr_horizon(plan, in)};

	if (in->op == MR_OP_F && plan->contract.coverage == MR_COVER_BLOCK)
		out.target = in->target;
	if (in->op == MR_OP_F && plan->contract.read_f == MR_READ_AGED)
		out.read = in->read;
	return out;
}

mr_status mr_plan_emitted(const mr_plan *plan, mr_plan **out)
{
	mr_plan *p;
	mr_status st = MR_OK;

	MR_TRY(mr_plan_create_like(plan, false, &p));
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; st == MR_OK && k < plan->lists[i].n; k++)
			if (mr_op_is_compute(plan->lists[i].at[k].op))
				st = mr_plan_append(p, (uint16_t)(i / MR_N_SECTIONS), (mr_section)(i % MR_N_SECTIONS),
						    emitted(plan, &plan->lists[i].at[k]));
	if (st != MR_OK) {
		mr_plan_destroy(p);
		return st;
	}
	*out = p;
	return MR_OK;
}

static const mr_instr *next_compute(const mr_list *l, uint32_t *at)
{
	while (*at < l->n && !mr_op_is_compute(l->at[*at].op))
		++*at;
	return *at < l->n ? &l->at[(*at)++] : NULL;
}

/* Do both plans read the same versions and begin the same sums, instruction by instruction? */
static bool same_numbers(const mr_plan *a, const mr_plan *b)
{
	for (size_t i = 0; i < (size_t)a->n_workers * MR_N_SECTIONS; i++) {
		const mr_instr *x, *y;
		uint32_t at = 0, bt = 0;

		do {
			x = next_compute(&a->lists[i], &at);
			y = next_compute(&b->lists[i], &bt);
			if (!x != !y)
				return false;
			if (x && (x->read != y->read || (x->flags ^ y->flags) & MR_INSTR_FIRST_SUM))
				return false;
		} while (x);
	}
	return true;
}

mr_status mr_plan_identity(const mr_plan *plan, uint64_t *out)
{
	mr_plan *plain;
	mr_status st;

	if (plan->endless) { /* its identity holds everything that its steps follow from */
		*out = mr_plan_hash(plan);
		return MR_OK;
	}
	MR_TRY(mr_plan_emitted(plan, &plain));
	plain->contract.steal = false; /* stealing changes no weight */
	if (plain->contract.flush == MR_FLUSH_BARRIER && !plain->contract.clip)
		plain->contract.flush = MR_FLUSH_LOCAL;
	if (plain->contract.flush == MR_FLUSH_VALIDATED)
		plain->contract.flush = MR_FLUSH_BARRIER;
	st = mr_plan_lower(plain, NULL);
	*out = mr_plan_hash(st == MR_OK && same_numbers(plan, plain) ? plain : plan);
	mr_plan_destroy(plain);
	return st == MR_ERESOURCE ? st : MR_OK;
}
