#include "ir/recompute.h"

static bool is_same(const mr_instr *a, const mr_instr *b)
{
	return a->micro == b->micro && a->stage == b->stage && a->pipe == b->pipe;
}

/* One worker's list, with R before its backward passes. */
static mr_status copy_list(const mr_list *l, uint16_t worker, bool again, mr_plan *out, uint32_t *n)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i], *before = i ? &l->at[i - 1] : NULL;
		bool back = in->op == MR_OP_B || in->op == MR_OP_I;

		if (again && back && !(before && before->op == MR_OP_F && is_same(before, in))) {
			mr_instr r = *in;

			r.op = MR_OP_R;
			MR_TRY(mr_plan_append(out, worker, MR_BODY, r));
			++*n;
		}
		MR_TRY(mr_plan_append(out, worker, MR_BODY, *in));
	}
	return MR_OK;
}

mr_status mr_plan_recompute(const mr_plan *plan, uint16_t n_workers, mr_plan **out, uint32_t *n)
{
	mr_status st = MR_OK;

	*n = 0;
	MR_TRY(mr_plan_create_like(plan, false, out));
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = copy_list(mr_plan_list(plan, w, MR_BODY), w, w < n_workers, *out, n);
	if (st != MR_OK) {
		mr_plan_destroy(*out);
		*out = NULL;
	}
	return st;
}
