/* stage_replicas.c - stage replicas (ir/plan.h), which take the micro-batches of a stage in turn. */
#include "exec/exec_internal.h"
#include "weights/reduction.h"

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];
	uint64_t version;

	/* U: a shard steps when the sums of all are added up, so that a norm of the whole may come in between. */
	if (t->in->op == MR_OP_U)
		return b->n_shards == 1 || mr_counter_reached(&b->reduction->reduced, w->id, (uint32_t)t->version)
			       ? MR_WAIT_NONE
			       : MR_WAIT_WEIGHTS;
	if (t->in->op != MR_OP_B && t->in->op != MR_OP_I)
		return MR_WAIT_NONE;
	version = mr_plan_applied_on(t->links->plan, t->in->stage, t->micro);
	return mr_counter_reached(&b->published, w->id, (uint32_t)version) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

/* The first part counts for all: all lists have the same versions. */
static bool reads(const mr_worker *w, const mr_task *t)
{
	uint32_t n = w->run->c.plan->stage_replicas[t->in->stage];

	return !n || t->in->pipe % n == 0;
}

static mr_status refuse(const mr_run_config *c)
{
	return mr_plan_repeats(c->plan) ? MR_OK
					: mr_fail(MR_ECONFIG, "the engine carries out stage replicas only in plans "
							      "that repeat");
}

static mr_status create(mr_run *run)
{
	const mr_plan *p = run->c.plan;

	run->n_losses = p->contract.need + p->n_pipes * p->n_slots[p->n_stages - 1];
	return MR_OK;
}

/* A stage of several workers commits more rarely, by sums of more micro-batches, at a rate that is higher by that. */
static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_plan *p = run->c.plan;

	b->in_step = p->contract.need / p->stage_replicas[s];
	b->rate = (double)p->stage_replicas[s] / p->stage_replicas[0];
	return MR_OK;
}

const mr_feature mr_feature_stage_replicas = {
	.facts = MR_REDUCED_STEPS | MR_OVERWRITES,
	.refuse = refuse,
	.create = create,
	.open = open_stage,
	.ready = ready,
	.reads = reads,
};
