/*
 * joint.c - joint W (ir/plan.h): a W leaves its call (weights/reduction.h), AR computes the gradients of the
 * layers in its range from the calls of all shards and steps inside, and U commits when all AR have ended.
 */
#include "exec/exec_internal.h"
#include "exec/run_plan.h"
#include "exec/shares.h"
#include "weights/reduction.h"

static mr_status leave(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];
	mr_slot *slot;

	for (uint32_t j = 0; j < t->in->span; j++)
		MR_TRY(mr_exec_span_io(w, t, j, &slot, &b->reduction->left[(t->micro + j) % b->sum]));
	return mr_exec_count_sum(w, t);
}

static mr_status reduce(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[t->in->stage];
	uint8_t shard = mr_run_shard(run, t->in->pipe, t->in->stage);
	double lr = mr_exec_lr(run, b, t->version);
	bool asked = mr_exec_asks_norm(run, b, t->version);

	MR_TRY(mr_exec_check_next(b, t, t->version));
	MR_TRY(mr_reduction_joint(b, shard, w->kc, w->scratch,
				  mr_weights_steps(b, shard, lr, 1 / (double)b->sum),
				  asked ? mr_norms_sumsq(b, t->version) : NULL));
	if (!mr_weights_last_of(&b->reduction->n_reduced, b->n_here))
		return MR_OK;
	if (b->n_shards > 1)
		MR_TRY_HOOKS(run, whole, w, t, b);
	if (asked)
		MR_TRY(mr_shares_add_norms(w, b, t->version));
	if (asked && run->norms->global)
		mr_exec_take_norm(run, b, t->version);
	mr_counter_raise(&b->reduction->reduced, w->id, (uint32_t)t->version);
	return MR_OK;
}

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	if (t->in->op != MR_OP_U || mr_counter_reached(&b->reduction->reduced, w->id, (uint32_t)t->version))
		return MR_WAIT_NONE;
	return MR_WAIT_WEIGHTS;
}

static mr_status complete(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	(void)b;
	mr_exec_release_rest(w->run, t);
	return MR_OK;
}

/* AR has stepped. */
static mr_status no_step(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double norm)
{
	(void)w;
	(void)b;
	(void)shard;
	(void)version;
	(void)norm;
	return MR_OK;
}

/* --- the feature --- */

/* Messages name the key of the system. */
static mr_status refuse(const mr_run_config *c)
{
	mr_status st = mr_run_refuse_inside(c);

	if (st != MR_OK)
		return mr_fail_in(st, "gradients");
	if (mr_graph_ties(c->graph))
		return mr_fail(MR_ECONFIG, "gradients: the model has tied parameters, whose gradients are summed "
					   "first, and joint gradients go into the step without being written: set "
					   "gradients = \"summed\"");
	return c->measures ? mr_fail(MR_ECONFIG,
				     "gradients: the norms of whole gradients are measured, and joint gradients go "
				     "into the step without being written: set gradients = \"summed\"")
			   : MR_OK;
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	b->joint = true;
	return MR_OK;
}

const mr_feature mr_feature_joint = {
	.facts = MR_REDUCED_STEPS,
	.shares = "joint gradients are computed from the activations that all replicas keep",
	.instead = {.carry_out = {[MR_OP_W] = leave, [MR_OP_AR] = reduce}, .step = no_step},
	.refuse = refuse,
	.open = open_stage,
	.ready = ready,
	.complete = complete,
};
