/* mitigations.c - corrections of stale gradients and weights (weights/mitigated.h). */
#include "exec/exec_internal.h"
#include "exec/state.h"
#include "weights/mitigated.h"

/* Do correction and step take one pass? */
static bool in_one_pass(const mr_run *run, const mr_stage_weights *b, uint64_t version)
{
	return run->c.clip <= 0 && mr_mitigated_steps(b) && !mr_exec_asks_norm(run, b, version);
}

static mr_status note(mr_worker *w, const mr_task *t, const mr_slot *slot)
{
	mr_stage_weights *b = mr_run_weights(w->run, t->in->pipe, t->in->stage);

	if (t->in->op != MR_OP_I)
		mr_mitigated_note(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), slot->version,
				  slot->micro == t->micro && t->in->flags & MR_INSTR_FIRST_SUM);
	return MR_OK;
}

static mr_status correct(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (in_one_pass(w->run, b, t->version))
		return MR_OK;
	return mr_mitigated_correct(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), w->kc);
}

static mr_status apply(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double lr, double scale)
{
	if (in_one_pass(w->run, b, version))
		return mr_mitigated_step(b, w->kc, w->run->c.place->worker[w->id].n_threads, lr, scale);
	if (!mr_mitigated_amends(b))
		return mr_exec_apply(w, b, shard, version, lr, scale);
	mr_mitigated_keep(b, shard);
	MR_TRY(mr_exec_apply(w, b, shard, version, lr, scale));
	return mr_mitigated_amend(b, shard, w->kc);
}

static mr_status follow(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (!b->unchanged && in_one_pass(w->run, b, t->version))
		return MR_OK;
	return mr_mitigated_follow(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), w->kc);
}

/* --- the feature --- */

static mr_status refuse(const mr_run_config *c)
{
	bool asks = mr_mitigate_corrects(c->mitigate) || c->mitigate->ops->rate;

	if (asks && c->ranks && mr_plan_has_stage_replicas(c->plan))
		return mr_fail(MR_ECONFIG,
			       "%s asks which versions all replicas of a stage have read, and each process knows those "
			       "of its own: train in one process, or without replicas",
			       c->mitigate->ops->name);
	if (!mr_mitigate_corrects(c->mitigate) || c->plan->contract.keep_read)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "%s looks at the weights that F read, and the plan does not keep them until the commit",
		       c->mitigate->ops->name);
}

static mr_status refuse_inside(const mr_run_config *c)
{
	if (mr_mitigate_steps_inside(c->mitigate))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "the plan steps inside its backward passes, and %s %s", c->mitigate->ops->name,
		       mr_mitigate_corrects(c->mitigate) ? "corrects the whole gradient first"
							 : "changes the whole step afterwards");
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_plan *steady = run->c.steady ? run->c.steady : run->c.plan;

	return mr_mitigated_open(b, run->c.mitigate, mr_plan_staleness(steady, s), run->c.plan);
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (pipe == 0 && run->weights[s].mitigation->state)
		out->optimizer += mr_stage_size(run->stage[s])->state_bytes;
	if (pipe == 0)
		out->scratch += mr_mitigated_kept_bytes(&run->weights[s]);
}

static void init(mr_run *run, uint8_t pipe, uint16_t s)
{
	if (pipe == 0)
		mr_mitigated_init(&run->weights[s]);
}

static mr_status save_param(const mr_run *run, uint16_t s, uint32_t p, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_param *param = &run->c.graph->params[p];
	mr_saved_tensor t;

	if (!b->mitigation->state)
		return MR_OK;
	t = mr_state_param(param, b->k->types.state, b->mitigation->state + mr_stage_state_at(b->stage, p));
	return mr_state_add(&out->optimizer, &t, "%s.%s", param->name, b->mitigation->mitigate->ops->state_name);
}

const mr_feature mr_feature_mitigations = {
	.instead = {.apply = apply},
	.refuse = refuse,
	.refuse_inside = refuse_inside,
	.open = open_stage,
	.memory = memory,
	.init = init,
	.entered = note,
	.reduced = correct,
	.rate = mr_mitigated_rate,
	.stepped = follow,
	.save_param = save_param,
};
