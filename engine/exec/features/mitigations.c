/* mitigations.c - corrections of stale gradients and weights (weights/mitigated.h). */
#include <stdlib.h>

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

/* The oldest version that F reads for the commit that makes version @commit + 1 of stage @s, by the plan. */
static mr_status planned_oldest(const mr_run *run, uint16_t s, uint64_t commit, uint64_t *oldest)
{
	uint64_t read, n = run->weights[s].sum;
	bool drops;

	*oldest = UINT64_MAX;
	for (uint64_t m = commit * n; m < (commit + 1) * n; m++) {
		MR_TRY(mr_run_read(run, (uint8_t)(m % run->n_pipes), s, m, &read, &drops));
		*oldest = read < *oldest ? read : *oldest;
	}
	return MR_OK;
}

/* Commits of stage @s until the forwards of its bodies begin, and those of one body. */
static void count_commits(const mr_run *run, uint16_t s, uint64_t *before, uint64_t *period)
{
	const mr_plan *p = run->c.plan;
	uint64_t sum = run->weights[s].sum, most = 0;

	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_PROLOGUE);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].op == MR_OP_F && l->at[i].stage == s && l->at[i].micro >= most)
				most = l->at[i].micro + 1;
	}
	*before = (most + sum - 1) / sum;
	*period = p->n_micro / sum;
}

/* Where some shards are another process's, each takes the ages from the plan. */
static mr_status plan_ages(mr_run *run, uint16_t s)
{
	mr_stage_weights *b = &run->weights[s];
	uint64_t n, period, *ages;

	if (!b->apart)
		return MR_OK;
	count_commits(run, s, &n, &period);
	n += 2 * period; /* the first body still has forwards that read the first versions */
	if (!(ages = calloc(n, sizeof(*ages))))
		return mr_fail(MR_ERESOURCE, "no memory for the ages of %llu commits", (unsigned long long)n);
	mr_mitigated_plan_ages(b, ages, n, period);
	for (uint64_t v = 0; v < n; v++) {
		MR_TRY(planned_oldest(run, s, v, &ages[v]));
		ages[v] = v - ages[v];
	}
	return MR_OK;
}

static mr_status choose(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		MR_TRY(plan_ages(run, s));
	return MR_OK;
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
	.choose = choose,
	.memory = memory,
	.init = init,
	.entered = note,
	.reduced = correct,
	.rate = mr_mitigated_rate,
	.stepped = follow,
	.save_param = save_param,
};
