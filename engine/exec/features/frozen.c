/* frozen.c - stages whose weights stay as they are (ir/plan.h, mr_frozen): without gradients, states and versions. */
#include "exec/exec_internal.h"
#include "ir/deps.h"
#include "ir/stage_ops.h"

/* A leaf keeps nothing of a micro-batch. */
static mr_status forward(mr_worker *w, const mr_task *t)
{
	mr_links_stage *st = t->st;
	mr_slot *slot = &st->slot[mr_instr_slot(t->links->plan, t->in, t->n)];

	MR_TRY(mr_exec_forward(w, t));
	if (!t->links->train || mr_stage_has(t->links->plan, t->in->stage, MR_OP_I))
		return MR_OK;
	mr_link_give_back(&st->in, slot->in);
	mr_links_free(st, slot);
	return MR_OK;
}

/* No W follows: the last use of what F has saved. */
static mr_status backward(mr_worker *w, const mr_task *t)
{
	mr_links_stage *st = t->st;

	MR_TRY(mr_exec_backward(w, t));
	if (!mr_stage_has(t->links->plan, t->in->stage, MR_OP_U))
		mr_exec_release(w->run, t, &st->slot[mr_instr_slot(t->links->plan, t->in, t->n)]);
	return MR_OK;
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	if (!mr_stage_has(run->c.plan, s, MR_OP_U))
		mr_stage_freeze(b->stage);
	return MR_OK;
}

const mr_feature mr_feature_frozen = {
	.instead = {.carry_out = {[MR_OP_F] = forward, [MR_OP_I] = backward}},
	.open = open_stage,
};
