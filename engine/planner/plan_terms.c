#include "planner/plan_terms.h"

#include <stdlib.h>
#include <string.h>

#include "ir/frozen.h"
#include "ir/sched.h"
#include "ir/stage_ops.h"
#include "lower/lower.h"

/* The lateness of gradients shows only when a plan is lowered, so a copy is lowered. */
static mr_status find_ages(const mr_plan *plan, int32_t *age)
{
	mr_plan *copy;
	mr_status st;

	MR_TRY(mr_plan_copy(plan, &copy));
	st = mr_plan_lower(copy, NULL);
	for (uint16_t k = 0; st == MR_OK && k < plan->n_stages; k++)
		age[k] = (int32_t)mr_plan_staleness(copy, k);
	mr_plan_destroy(copy);
	return st;
}

/*
 * Lets F predict the version to which its gradient will be added, and B with it if it reads the same: along the
 * optimizer's direction from the latest version if it has one, which follows a changing rate; else by more steps like
 * the last one.
 */
static mr_status aim_ahead(mr_plan *plan, bool along)
{
	mr_contract *k = &plan->contract;
	int32_t *age = calloc(2 * (size_t)plan->n_stages, sizeof(*age)); /* of F, and zeros */
	mr_status st = age ? find_ages(plan, age)
			   : mr_fail(MR_ERESOURCE, "no memory for the ages of %u stages", plan->n_stages);

	if (st == MR_OK) {
		along = along && k->read_f == MR_READ_LATEST && !mr_plan_has_stage_replicas(plan);
		k->predict = along ? MR_PREDICT_AHEAD : MR_PREDICT_STEPS;
		mr_sched_aim(plan, age, k->same_version_b ? age : age + plan->n_stages);
	}
	free(age);
	return st;
}

/* Messages name the key of the system. */
static mr_status check_released(const mr_contract *k, bool clips)
{
	if (k->release_sums && clips)
		return mr_fail(MR_ECONFIG,
			       "gradients: sums that are released stage by stage are gone before the norm of all is "
			       "known, so they cannot be clipped: leave train.clip out, or set gradients = \"summed\"");
	if (k->release_sums && k->tied)
		return mr_fail(MR_ECONFIG,
			       "gradients: the first and the last stage share a parameter, whose sum is complete at "
			       "the end, so sums cannot be released: set train.untie = true, or gradients = "
			       "\"summed\"");
	return MR_OK;
}

static mr_status check_tied(const mr_plan *plan)
{
	const mr_contract *k = &plan->contract;

	if (k->tied && k->flush == MR_FLUSH_NONE)
		return mr_fail(MR_ECONFIG,
			       "%s never flushes, so the first and the last stage cannot share a tied embedding: set "
			       "model.tied = false or train.untie = true, or use one stage or a system that flushes",
			       plan->system);
	if (k->tied && mr_contract_replicates(k))
		return mr_fail(MR_ECONFIG,
			       "%s reduces nothing between stages, so the first and the last stage cannot share a tied "
			       "embedding: set model.tied = false or train.untie = true, or use one stage or another "
			       "system",
			       plan->system);
	return MR_OK;
}

/*
 * Only clipping by the global norm, and stealing, need a barrier or validation. Replicas clip per stage, as systems
 * that never flush do: each replica has a norm of its own.
 */
static void set_flush(mr_contract *k, bool clips)
{
	if (k->flush == MR_FLUSH_NONE || mr_contract_replicates(k))
		return;
	k->clip = clips;
	if (!clips && !k->steal)
		k->flush = MR_FLUSH_LOCAL;
	else if (k->flush != MR_FLUSH_VALIDATED)
		k->flush = MR_FLUSH_BARRIER;
}

/* Leave every stage the instructions that it has, and where it has no B, the half of it that it has. */
static void thin(mr_plan *plan)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++) {
		mr_list *l = &plan->lists[i];
		uint32_t n = 0;

		for (uint32_t k = 0; k < l->n; k++) {
			mr_instr in = l->at[k];

			in.op = in.op == MR_OP_B && !mr_stage_has(plan, in.stage, MR_OP_B) ? MR_OP_I : in.op;
			if (mr_stage_has(plan, in.stage, (mr_op)in.op))
				l->at[n++] = in;
		}
		l->n = n;
	}
}

/* What @plan, which comes from a file, promises and the training has no use for. */
static mr_status check_promises(const mr_plan *plan, const mr_plan_terms *terms)
{
	const mr_contract *k = &plan->contract;

	if (k->clip && !terms->clips)
		return mr_fail(MR_ECONFIG,
			       "the plan clips gradients (\"clip\" in its contract), and train.clip is 0: set "
			       "train.clip, or take a plan that does not clip");
	if (k->tied && !terms->tied)
		return mr_fail(MR_ECONFIG,
			       "the plan has a parameter that the first and the last stage share (\"tied\" in its "
			       "contract), and this model has none");
	if ((plan->lowered || !terms->frozen) && !mr_frozen_alike(plan, terms->frozen))
		return mr_fail(MR_ECONFIG, "the plan freezes other stages (\"frozen\" in its contract) than the "
					   "training: see train.frozen");
	return MR_OK;
}

/* A lowered plan is carried out as it stands: what the training needs must be there. */
static mr_status check_lowered(const mr_plan *plan, const mr_plan_terms *terms)
{
	const mr_contract *k = &plan->contract;
	bool flushes = k->flush != MR_FLUSH_NONE, one_norm = flushes && !mr_contract_replicates(k);
	const char *lacks = NULL;

	if (one_norm && terms->clips && !k->clip)
		lacks = "\"clip\", and train.clip is set";
	else if (terms->tied && !k->tied)
		lacks = "\"tied\", and the first and the last stage of this model share a parameter";
	else if (!flushes && terms->predicts && k->predict == MR_PREDICT_NONE)
		lacks = "\"aim\", and the mitigation predicts weights";
	else if (!flushes && terms->corrects && !k->keep_read)
		lacks = "\"keep_read\", and the mitigation looks at the weights that F read";
	if (!lacks)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "a lowered plan is carried out as it stands; the contract of this one lacks %s (schedule "
		       "--config --format text writes one with it)",
		       lacks);
}

mr_status mr_plan_take_terms(mr_plan *plan, const mr_plan_terms *terms)
{
	mr_contract *k = &plan->contract;

	MR_TRY(check_promises(plan, terms));
	if (plan->lowered) {
		MR_TRY(check_tied(plan));
		return check_lowered(plan, terms);
	}
	if (terms->frozen) {
		memcpy(plan->frozen, terms->frozen, plan->n_stages);
		thin(plan);
	}
	k->tied = terms->tied;
	MR_TRY(check_tied(plan));
	MR_TRY(check_released(k, terms->clips));
	set_flush(k, terms->clips);
	if (k->flush == MR_FLUSH_NONE && terms->predicts)
		MR_TRY(aim_ahead(plan, terms->along));
	k->keep_read = k->flush == MR_FLUSH_NONE && terms->corrects;
	return MR_OK;
}
