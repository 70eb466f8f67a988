#include "exec/run_plan.h"

#include "lower/check.h"
#include "ir/endless.h"
#include "ir/pause.h"

bool mr_run_has_split(const mr_plan *p)
{
	for (uint16_t w = 0; w < p->n_workers; w++)
		for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
			const mr_list *l = mr_plan_list(p, w, (mr_section)sec);

			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].op == MR_OP_W)
					return true;
		}
	return false;
}

bool mr_run_steps_inside(const mr_plan *p, uint16_t s)
{
	bool inside = false;

	for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
		const mr_list *l = mr_plan_list(p, mr_plan_worker(p, 0, s), (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++) {
			if (l->at[i].stage == s && l->at[i].op == MR_OP_U)
				return false;
			inside |= l->at[i].stage == s && l->at[i].flags & MR_INSTR_UPDATE;
		}
	}
	return inside;
}

mr_status mr_run_share_grads(const mr_run_config *c, uint16_t s, bool norms, mr_stage *stage)
{
	bool replicates = mr_contract_replicates(&c->plan->contract);

	if (mr_plan_need(c->plan, s) > 1 || mr_plan_partial_sums(c->plan, s) > 1 || !mr_run_steps_inside(c->plan, s))
		return MR_OK;
	mr_stage_share_grads(stage);
	if (c->optim->form || (c->plan->n_pipes > 1 && !replicates))
		return MR_OK;
	return mr_stage_step_rows(stage, norms);
}

mr_status mr_run_refuse_inside(const mr_run_config *c)
{
	const mr_feature *feature[MR_N_FEATURES + 1];

	if (c->clip > 0)
		return mr_fail(
			MR_ECONFIG,
			"the plan steps inside its backward passes, and clipping needs the whole gradient first");
	if (!mr_optim_elementwise(c->optim))
		return mr_fail(MR_ECONFIG,
			       "the plan steps inside its backward passes, and %s needs whole gradients first",
			       c->optim->ops->name);
	mr_features_of(c, feature);
	for (const mr_feature **f = feature; *f; f++)
		if ((*f)->refuse_inside)
			MR_TRY((*f)->refuse_inside(c));
	return MR_OK;
}

static mr_status refuse_instr(const mr_run_config *c, uint16_t w, const mr_list *l, uint32_t i)
{
	const mr_instr *in = &l->at[i];

	/* So that no instruction lies between them at a pause, and no target is kept over one (stand.c). */
	if (in->op == MR_OP_R && c->plan->contract.flush == MR_FLUSH_NONE &&
	    (in->stage + 1u == c->plan->n_stages || i + 1 == l->n || in[1].op != MR_OP_B || in[1].stage != in->stage ||
	     in[1].micro != in->micro))
		return mr_fail(MR_ECONFIG,
			       "worker %u, instruction %u: without a flush the engine recomputes right before B, and "
			       "not at the last stage",
			       w, i);
	if (!(in->flags & MR_INSTR_UPDATE))
		return MR_OK;
	if (c->plan->contract.tied && (in->stage == 0 || in->stage + 1u == c->plan->n_stages))
		return mr_fail(MR_ECONFIG,
			       "worker %u, instruction %u: stage %u steps inside its backward pass, and its parameters "
			       "are tied to those of another stage, whose gradients come first",
			       w, i, in->stage);
	return mr_run_refuse_inside(c);
}

/*
 * At a pause point no stage may hold a part of a sum, since a checkpoint saves none. So the body must not begin in the
 * middle of a sum.
 */
static mr_status refuse_sums(const mr_plan *p, uint16_t w)
{
	const mr_list *l = mr_plan_list(p, w, MR_PROLOGUE);
	uint32_t n = 0, stages = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += l->at[i].op == MR_OP_B || l->at[i].op == MR_OP_W;
	for (uint16_t s = 0; s < p->n_stages; s++)
		stages += mr_plan_worker(p, 0, s) == w;
	if (n != (uint64_t)mr_pauses_of(p, w, NULL, 0) * stages * p->contract.need)
		return mr_fail(MR_ECONFIG,
			       "worker %u begins its body with a part of a sum: the run could not stop between commits",
			       w);
	return MR_OK;
}

mr_status mr_run_refuse(const mr_run_config *c)
{
	const mr_feature *feature[MR_N_FEATURES + 1];
	const mr_plan *p = c->plan;
	bool block = p->contract.coverage == MR_COVER_BLOCK; /* stops only at its end */

	if (!p->lowered)
		return mr_fail(MR_EINVAL, "the plan is not lowered");
	if (p->n_stages != c->partition->n_stages)
		return mr_fail(MR_ECONFIG, "the plan has %u stages and the model is cut into %u", p->n_stages,
			       c->partition->n_stages);
	if (p->contract.coverage == MR_COVER_FORWARD)
		return mr_fail(MR_ECONFIG, "the plan does not train");
	for (uint16_t w = 0; w < p->n_workers; w++) {
		if (mr_plan_list(p, w, MR_BODY)->n == 0 && !block &&
		    ((p->contract.flush != MR_FLUSH_NONE && !p->contract.steal) || mr_plan_repeats(p)))
			return mr_fail(MR_ECONFIG, "the plan does not repeat: worker %u has no body", w);
		if (p->contract.flush == MR_FLUSH_NONE) /* where there is a flush, a sum ends before the point */
			MR_TRY(refuse_sums(p, w));
		for (int sec = 0; sec < MR_N_SECTIONS; sec++)
			for (uint32_t i = 0; i < mr_plan_list(p, w, (mr_section)sec)->n; i++)
				MR_TRY(refuse_instr(c, w, mr_plan_list(p, w, (mr_section)sec), i));
	}
	if (!block && !mr_plan_repeats(p))
		MR_TRY(mr_plan_check_pauses(p));
	else if (!block && p->commits != 1 && !mr_contract_replicates(&p->contract) && !mr_plan_drains(p))
		return mr_fail(MR_ECONFIG, "an iteration of the plan commits %u versions; a step of the engine is one",
			       p->commits);
	if (p->contract.flush == MR_FLUSH_NONE && mr_run_has_split(p)) /* a pause may lie between: stand.c */
		return mr_fail(MR_ECONFIG, "the engine carries out I and W apart only in plans that flush");
	mr_features_of(c, feature);
	for (const mr_feature **f = feature; *f; f++)
		if ((*f)->refuse)
			MR_TRY((*f)->refuse(c));
	return MR_OK;
}

uint64_t mr_run_last_step(const mr_plan *p)
{
	if (p->endless)
		return p->endless->n_steps;
	return mr_plan_list(p, 0, MR_BODY)->n ? UINT64_MAX : mr_pauses_of(p, 0, NULL, 0);
}

uint32_t mr_run_sums_of(const mr_plan *p, uint8_t pipe, uint16_t s)
{
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, s), MR_BODY);
	uint32_t n = 0;

	if (mr_plan_has_stage_replicas(p))
		return 1;
	if (mr_plan_partial_sums(p, s) == 1 || mr_contract_replicates(&p->contract))
		return mr_plan_sum(p, s);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].stage == s && l->at[i].pipe == pipe)
			n += l->at[i].op == MR_OP_B || l->at[i].op == MR_OP_W ? l->at[i].span : 0;
	return n;
}

/* Micro-batches of a pipe that read a version, from which it pays: with two a step took 0 to 6 % longer. */
#define PANEL_READERS 4u

bool mr_run_keeps_panels(const mr_run_config *c)
{
	const mr_contract *k = &c->plan->contract;

	return c->kernels->panel_bytes && (k->flush == MR_FLUSH_LOCAL || k->flush == MR_FLUSH_BARRIER) &&
	       k->need >= PANEL_READERS * c->plan->n_pipes && k->average.rule == MR_AVERAGE_NONE &&
	       k->predict == MR_PREDICT_NONE;
}
