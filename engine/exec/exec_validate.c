/*
 * exec_validate.c - optimizer steps that are taken before the global gradient norm is known, and rolled back if they
 * were wrong.
 *
 * U of a VALIDATED plan (ir/plan.h) steps as if nothing had to be clipped, unless the norms published so far already
 * exceed the limit or are not finite: then it waits for the others and steps as a barrier would. V waits for all norms
 * of that version. Every worker finds the same norm, from the same numbers added in the same order, and so the same
 * answer:
 *
 *	right   the step stands; validated.
 *	wrong   each worker rolls back the steps that its stages took too early (the version before lies in the other
 *	        buffer, the optimizer's state in a copy) and steps again with the clipping factor, or not at all if the
 *	        norm is not finite and the run skips such steps. Then all of them repeat the forwards before their V,
 *	        from the first one on: the cursor goes back to the beginning of the iteration, and `redo` marks the
 *	        repetition for the step loop.
 *
 * Repeating. A forward's buffers and slot are still those of the first time, since no instruction after V has touched
 * them. Repeated forwards wait for two things, both through events that count over the whole run, because the rings
 * have sent their messages already:
 *
 *	arrived(s)  how often the worker of s has reached a V that found a wrong step: from then on it does not read
 *	            the results of the first time, and stage s - 1 may overwrite them
 *	redone(s)   forwards that stage s has repeated: stage s + 1 may read them. This also holds for its forwards
 *	            after V, if their input was made before the other worker's V.
 *
 * Norms alternate between two places: a worker may be at most one iteration ahead of one that has not read them yet,
 * since its next but one needs forwards or gradients from after that one's V.
 */
#include "exec/exec_internal.h"
#include "exec/run_links.h"

#include <math.h>

bool mr_exec_norms_known(mr_run *run, uint64_t version)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (!mr_event_reached(&run->weights[s].norms->known.event, (uint32_t)version))
			return false;
	return true;
}

/* Do the norms known so far already show that a step without clipping would be wrong? */
static bool is_foreseen(mr_run *run, uint64_t version)
{
	double sum = 0;

	for (uint16_t s = 0; s < run->n_stages; s++)
		if (mr_event_reached(&run->weights[s].norms->known.event, (uint32_t)version)) {
			double norm = mr_norms_all(&run->weights[s], 1, version);

			sum += norm * norm;
		}
	return !mr_exec_is_right(run, sqrt(sum) / run->c.plan->contract.need);
}

bool mr_exec_is_right(const mr_run *run, double norm)
{
	return isfinite(norm) && mr_clip_factor(norm, run->c.clip) >= 1;
}

bool mr_exec_may_step(mr_run *run, uint64_t version)
{
	return mr_exec_norms_known(run, version) || !is_foreseen(run, version);
}

mr_status mr_exec_step_early(mr_worker *w, mr_stage_weights *b, uint64_t version)
{
	mr_run *run = w->run;

	mr_validation_back_up(b, run->c.optim, false);
	MR_TRY(mr_weights_step(b, 0, w->kc, run->c.optim, mr_lr_at(run->c.lr, version),
			       1 / (double)run->c.plan->contract.need));
	mr_weights_committed(b);
	return MR_OK;
}

/* Make version @version of stage @s what it would be with a barrier. All norms are known. */
static mr_status finish_step(mr_worker *w, uint16_t s, uint64_t version)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[s];
	double norm = mr_exec_norm(run, version);

	if (b->validation->validated >= version)
		return MR_OK;
	if (!mr_exec_is_right(run, norm)) {
		b->latest = version - 1;
		b->validation->n_taken_back++;
		mr_validation_back_up(b, run->c.optim, true);
		MR_TRY(mr_exec_step(w, b, 0, version, norm));
		mr_weights_committed(b);
	}
	b->validation->validated = version;
	return mr_exec_publish(w, b, s, version, mr_lr_at(run->c.lr, version), norm);
}

mr_status mr_exec_settle(mr_worker *w)
{
	mr_run *run = w->run;

	MR_TRY(mr_run_receive_ranges(w));
	for (uint16_t s = 0; run->validation && s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[s];

		if (mr_plan_worker(run->c.plan, 0, s) != w->id)
			continue;
		MR_TRY(finish_step(w, s, b->latest));
		b->validation->settled = b->latest;
	}
	return MR_OK;
}

/* --- V --- */

/* Give back targets that were kept for a repetition; those of micro-batches that are recomputed stay. */
static void give_targets_back(mr_run *run, const mr_task *t, uint16_t worker)
{
	mr_links_stage *st = mr_links_at(t->links, 0, (uint16_t)(run->n_stages - 1));
	const mr_list *l = mr_plan_list(run->c.plan, worker, MR_BODY);

	for (uint32_t i = 0; l->at[i].op != MR_OP_V; i++)
		if (l->at[i].stage + 1u == run->n_stages && !(l->at[i].flags & MR_INSTR_DROP))
			mr_link_give_back(&st->target,
					 st->kept_target[mr_instr_micro(run->c.plan, &l->at[i], t->n) % st->n_kept]);
}

static void begin_redo(mr_worker *w, const mr_task *t)
{
	mr_worker_validation *x = w->validation;
	mr_run *run = w->run;

	x->wrong = false;
	x->redo = x->rewind = true;
	x->at = t->n;
	x->n++;
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (mr_plan_worker(run->c.plan, 0, s) == w->id)
			mr_event_publish(&run->weights[s].validation->arrived, x->n);
}

mr_status mr_exec_validate(mr_worker *w, const mr_task *t)
{
	mr_worker_validation *x = w->validation;
	mr_run *run = w->run;
	uint16_t s = t->in->stage;
	bool last = t->in[1].op != MR_OP_V; /* another instruction follows: a gradient, at least */

	if (t->version)
		mr_version_count_read(&run->weights[s].version_count, t->version - 1); /* kept until here */
	if (!x->redo && t->version > run->weights[s].validation->settled) {
		MR_TRY(finish_step(w, s, t->version));
		x->wrong = !mr_exec_is_right(run, mr_exec_norm(run, t->version));
	}
	if (!last)
		return MR_OK;
	if (x->wrong) {
		begin_redo(w, t);
		return MR_OK;
	}
	x->redo = false;
	give_targets_back(run, t, w->id);
	return MR_OK;
}

/* --- repeating --- */

/* The forwards that stage @s has repeated over the whole run, once that of @t's micro-batch is done. */
static uint32_t count_redone(const mr_worker *w, const mr_task *t, uint16_t s)
{
	const mr_validation *v = w->run->validation;

	return (w->validation->n - 1) * v->n_early[s] + mr_validation_place(v, s, t->in->micro);
}

/* Has stage @s repeated its forward of @t's micro-batch, if it must be repeated? */
static bool is_redone(const mr_worker *w, const mr_task *t, uint16_t s)
{
	const mr_run *run = w->run;

	return !mr_validation_place(run->validation, s, t->in->micro) ||
	       mr_event_reached(&run->weights[s].validation->redone, count_redone(w, t, s));
}

bool mr_exec_input_is_redone(const mr_worker *w, const mr_task *t)
{
	const mr_worker_validation *x = w->validation;

	return !x->n || x->at != t->n || t->in->stage == 0 || is_redone(w, t, (uint16_t)(t->in->stage - 1));
}

mr_wait_cause mr_exec_acquire_again(const mr_worker *w, const mr_task *t)
{
	const mr_run *run = w->run;
	uint16_t s = t->in->stage;

	if (t->in->op != MR_OP_F)
		return MR_WAIT_NONE; /* V */
	if (!mr_exec_input_is_redone(w, t))
		return MR_WAIT_UPSTREAM;
	if (s + 1 < run->n_stages && !mr_event_reached(&run->weights[s + 1].validation->arrived, w->validation->n))
		return MR_WAIT_DOWNSTREAM;
	return MR_WAIT_NONE;
}

void mr_exec_redone(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	uint16_t s = t->in->stage;

	mr_event_publish(&run->weights[s].validation->redone, count_redone(w, t, s));
}
