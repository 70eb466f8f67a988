#include "ir/unroll.h"

#include "ir/op.h"

/* Instances as instructions with absolute numbers, storage included. */
static mr_status copy_nodes(const mr_unroll *g, mr_plan *to)
{
	const mr_plan *p = g->plan;
	bool modulo = p->storage == MR_MODULO;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_instr *from = g->at[i].in;
		mr_instr in = *from;
		uint32_t n = g->at[i].n;

		in.micro = (uint32_t)mr_unroll_micro(g, i);
		if (mr_op_is_compute(in.op))
			in.read = (int32_t)mr_unroll_read(g, i);
		if (!mr_op_is_compute(in.op) || in.flags & MR_INSTR_UPDATE)
			in.target = (int32_t)mr_unroll_target(g, i);
		else if (p->contract.predict != MR_PREDICT_NONE && in.op <= MR_OP_I)
			in.target = in.read + mr_instr_horizon(p, from);
		if (modulo && mr_op_is_compute(in.op)) {
			in.slot = (uint16_t)mr_instr_slot(p, from, n);
			in.in = (uint16_t)(in.op == MR_OP_F ? mr_instr_in_fwd(p, from, n)
							    : mr_instr_in_bwd(p, from, n));
			in.out = (uint16_t)(in.op == MR_OP_W ? 0 : mr_instr_out(p, from, n));
		}
		MR_TRY(mr_plan_append(to, g->at[i].worker, MR_PROLOGUE, in));
	}
	return MR_OK;
}

static mr_status unroll(const mr_unroll *g, mr_plan *to)
{
	const mr_plan *p = g->plan;

	to->contract.racing = false; /* this is one order */
	if (g->n_micro > INT32_MAX)
		return mr_fail(MR_ECONFIG, "%u iterations have more micro-batches than a plan can number", g->n_bodies);
	to->n_micro = (uint32_t)g->n_micro;
	to->commits = mr_plan_has_stage_replicas(p) ? to->n_micro / p->contract.need : (uint32_t)(g->n_versions - 1);
	to->storage = MR_STORED;
	return copy_nodes(g, to);
}

mr_status mr_plan_unroll(const mr_plan *plan, uint32_t n_bodies, mr_plan **out)
{
	mr_plan *to = NULL;
	mr_unroll *g;
	mr_status st;

	*out = NULL;
	if (!plan->lowered)
		return mr_fail(MR_EINVAL, "only a lowered plan can be unrolled");
	MR_TRY(mr_unroll_create(plan, n_bodies, &(mr_unroll_opts){.no_storage = true}, &g));
	st = mr_plan_create_like(plan, true, &to);
	if (st == MR_OK)
		st = unroll(g, to);
	mr_unroll_destroy(g);
	if (st == MR_OK)
		*out = to;
	else
		mr_plan_destroy(to);
	return st;
}
