/*
 * validation.c - optimizer steps that are taken before the global gradient norm is known, and rolled back if they
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
 * them. Repeated forwards wait for two things, both through counts over the whole run, because the rings have sent
 * their messages already:
 *
 *	arrived(s)  how often the worker of s has reached a V that found a wrong step: from then on it does not read
 *	            the results of the first time, and stage s - 1 may overwrite them
 *	redone(s)   forwards that stage s has repeated: stage s + 1 may read them. This also holds for its forwards
 *	            after V, if their input was made before the other worker's V.
 *
 * Where stage s - 1 is on a worker that shares no memory with that of s, what it repeats is sent again, by the same
 * buffer numbers, and nothing waits for `redone`. Before the worker of s says that it has arrived, it waits for the
 * messages of the first time that its forwards after V would take, and drops them: then a forward takes one message for
 * each time that it is carried out, and no number is under way twice. This wait ends, since forwards before V depend on
 * nothing behind a V.
 *
 * Norms alternate between two places: a worker may be at most one iteration ahead of one that has not read them yet,
 * since its next but one needs forwards or gradients from after that one's V.
 */
#include "exec/exec_internal.h"
#include "ir/deps.h"
#include "weights/stored_states.h"
#include "weights/validation.h"

#include <math.h>
#include <stdlib.h>

static bool norm_known(const mr_worker *w, uint16_t s, uint64_t version)
{
	return mr_counter_reached(&w->run->weights[s].norms->known, w->id, (uint32_t)version);
}

static bool norms_known(const mr_worker *w, uint64_t version)
{
	for (uint16_t s = 0; s < w->run->n_stages; s++)
		if (!norm_known(w, s, version))
			return false;
	return true;
}

/* Would a step without clipping be right? */
static bool is_right(const mr_run *run, double norm)
{
	return isfinite(norm) && mr_clip_factor(norm, run->c.clip) >= 1;
}

/* Do the norms known so far already show that a step without clipping would be wrong? */
static bool is_foreseen(const mr_worker *w, uint64_t version)
{
	const mr_run *run = w->run;
	double sum = 0;

	for (uint16_t s = 0; s < run->n_stages; s++)
		if (norm_known(w, s, version)) {
			double norm = mr_norms_all(&run->weights[s], 1, version, w->id);

			sum += norm * norm;
		}
	return !is_right(run, sqrt(sum) / run->c.plan->contract.need);
}

static bool may_step(mr_worker *w, uint64_t version)
{
	return norms_known(w, version) || !is_foreseen(w, version);
}

/* U, with all norms or before validation. */
static mr_status commit(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[t->in->stage];

	MR_TRY(mr_exec_begin_commit(w, t));
	if (norms_known(w, t->version)) {
		MR_TRY(mr_exec_end_commit(w, t));
		b->validation->validated = t->version;
		return MR_OK;
	}
	mr_validation_back_up(b, false);
	MR_TRY(mr_weights_step(b, 0, w->kc, mr_lr_at(run->c.lr, t->version),
			       1 / (double)run->c.plan->contract.need));
	mr_weights_committed(b);
	return MR_OK;
}

/* Make version @version of stage @s what it would be with a barrier. All norms are known. */
static mr_status finish_step(mr_worker *w, uint16_t s, uint64_t version)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[s];
	double norm = mr_exec_norm(run, version, w->id);

	if (b->validation->validated >= version)
		return MR_OK;
	if (!is_right(run, norm)) {
		b->latest = version - 1;
		b->validation->n_taken_back++;
		mr_validation_back_up(b, true);
		MR_TRY(mr_exec_step(w, b, 0, version, norm));
		mr_weights_committed(b);
	}
	b->validation->validated = version;
	return mr_exec_publish(w, b, s, version, mr_lr_at(run->c.lr, version), norm);
}

static mr_status settle(mr_worker *w)
{
	mr_run *run = w->run;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[s];

		if (mr_plan_worker(run->c.plan, 0, s) != w->id)
			continue;
		while (!norms_known(w, b->latest)) /* they may be on their way from another rank */
			MR_TRY(mr_waiter_step(&w->waiter));
		mr_waiter_done(&w->waiter);
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

/* Is stage @s, which is behind another, on a worker that shares no memory with that one's? */
static bool comes_by_message(const mr_links *l, uint16_t s)
{
	return mr_links_at(l, 0, s)->in.remote != NULL;
}

/* What the stage before @in, an instruction of a body, repeats and @in does not: @in, an F, takes the second message
 * alone. */
static bool drops_first(const mr_run *run, const mr_instr *in)
{
	const mr_validation *v = run->validation;

	return in->op == MR_OP_F && in->stage > 0 && comes_by_message(&run->train, in->stage) &&
	       !mr_validation_place(v, in->stage, in->micro) &&
	       mr_validation_place(v, (uint16_t)(in->stage - 1), in->micro);
}

/* Before the first repetition: drop what comes again, and say so. False: not all of it has come. */
static bool arrive(mr_worker *w, const mr_task *t)
{
	mr_worker_validation *x = w->validation;
	const mr_plan *p = t->links->plan;
	const mr_list *l = mr_plan_list(p, w->id, MR_BODY);
	mr_run *run = w->run;

	if (x->n_met == x->n)
		return true;
	for (; x->dropped < l->n; x->dropped++) {
		const mr_instr *in = &l->at[x->dropped];

		if (drops_first(run, in) &&
		    !mr_link_find(&mr_links_at(t->links, 0, in->stage)->in, mr_instr_in_fwd(p, in, t->n)))
			return false;
	}
	x->n_met = x->n;
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (mr_plan_worker(p, 0, s) == w->id)
			mr_counter_raise(&run->weights[s].validation->arrived, w->id, x->n);
	return true;
}

static void begin_redo(mr_worker *w, const mr_task *t)
{
	mr_worker_validation *x = w->validation;

	x->wrong = false;
	x->redo = w->rewinds = true;
	x->at = t->n;
	x->n++;
	x->dropped = 0;
	(void)arrive(w, t); /* else its first repetition waits for it */
}

static mr_status validate(mr_worker *w, const mr_task *t)
{
	mr_worker_validation *x = w->validation;
	mr_run *run = w->run;
	uint16_t s = t->in->stage;
	bool last = t->in[1].op != MR_OP_V; /* another instruction follows: a gradient, at least */

	if (t->version)
		mr_version_count_read(&run->weights[s].version_count, t->version - 1); /* kept until here */
	if (!x->redo && t->version > run->weights[s].validation->settled) {
		MR_TRY(finish_step(w, s, t->version));
		x->wrong = !is_right(run, mr_exec_norm(run, t->version, w->id));
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

/* Is the input of F right, also if the stage before had to repeat it? */
static bool input_is_redone(const mr_worker *w, const mr_task *t)
{
	const mr_worker_validation *x = w->validation;

	return !x->n || x->at != t->n || t->in->stage == 0 || comes_by_message(t->links, t->in->stage) ||
	       is_redone(w, t, (uint16_t)(t->in->stage - 1));
}

/* The input of an F that is repeated comes again, if the stage before it is elsewhere and had to repeat it. */
static bool take_again(mr_worker *w, const mr_task *t)
{
	uint16_t s = t->in->stage;
	mr_links_stage *st = t->st;

	if (w->acquired.got & MR_GOT_IN || s == 0 || !comes_by_message(t->links, s) ||
	    !mr_validation_place(w->run->validation, (uint16_t)(s - 1), t->in->micro))
		return true;
	if (!mr_link_find(&st->in, st->kept_in[t->micro % st->n_kept]))
		return false;
	w->acquired.got |= MR_GOT_IN;
	return true;
}

/* An F that is repeated has its buffers and its slot. */
static mr_wait_cause ready_again(mr_worker *w, const mr_task *t)
{
	const mr_run *run = w->run;
	uint16_t s = t->in->stage;

	if (!input_is_redone(w, t) || !take_again(w, t))
		return MR_WAIT_UPSTREAM;
	if (s + 1 < run->n_stages &&
	    !mr_counter_reached(&run->weights[s + 1].validation->arrived, w->id, w->validation->n))
		return MR_WAIT_DOWNSTREAM;
	w->acquired.got = MR_GOT_IN | MR_GOT_OUT | MR_GOT_TARGET;
	return MR_WAIT_NONE;
}

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	if (!t->links->train)
		return MR_WAIT_NONE;
	if (w->validation->redo && !arrive(w, t))
		return MR_WAIT_UPSTREAM;
	if (t->in->op == MR_OP_F && w->validation->redo)
		return ready_again(w, t);
	if (t->in->op == MR_OP_F)
		return input_is_redone(w, t) ? MR_WAIT_NONE : MR_WAIT_UPSTREAM;
	if (t->in->op != MR_OP_V || w->validation->redo ||
	    t->version <= w->run->weights[t->in->stage].validation->settled || norms_known(w, t->version))
		return MR_WAIT_NONE;
	return MR_WAIT_OPTIMIZER;
}

/* May F have to be repeated? */
static bool repeats(const mr_run *run, const mr_task *t)
{
	return t->links->train && mr_validation_place(run->validation, t->in->stage, t->in->micro);
}

/* Repeat F on its original inputs. */
static mr_status repeat(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_links_stage *st = t->st;
	uint16_t s = t->in->stage;
	uint64_t at = t->micro % st->n_kept;
	mr_slot slot = st->slot[mr_instr_slot(t->links->plan, t->in, t->n)];
	bool last = s + 1 == run->n_stages;
	mr_stage_io io;
	double loss = 0;

	slot.micro = t->micro; /* one that is recomputed has given its slot to another */
	slot.in = st->kept_in[at];
	MR_TRY(mr_exec_make_io(w, t, &slot, &io));
	io.loss = &loss;
	if (last)
		io.target = mr_link_buffer(&st->target, st->kept_target[at]);
	else
		io.out = mr_link_out(&st[1].in, mr_instr_out(t->links->plan, t->in, t->n));
	MR_TRY(mr_stage_forward(run->stage[s], &io));
	mr_event_publish(&run->weights[s].validation->redone, count_redone(w, t, s));
	if (!last && comes_by_message(t->links, (uint16_t)(s + 1)))
		mr_link_put(&st[1].in, mr_instr_out(t->links->plan, t->in, t->n));
	return last ? mr_exec_book_loss(run, t, loss) : MR_OK;
}

static mr_status forward(mr_worker *w, const mr_task *t)
{
	return t->links->train && w->validation->redo ? repeat(w, t) : mr_exec_forward(w, t);
}

/* --- the feature --- */

static mr_status refuse(const mr_run_config *c)
{
	for (uint16_t w = 0; w < c->plan->n_workers; w++)
		for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
			const mr_list *l = mr_plan_list(c->plan, w, (mr_section)sec);

			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].op == MR_OP_V &&
				    (l->at[i].target != 0 || i + 1 >= mr_plan_list(c->plan, w, MR_BODY)->n))
					return mr_fail(MR_ECONFIG,
						       "worker %u, instruction %u: the engine validates the version of "
						       "the iteration before",
						       w, i);
		}
	return MR_OK;
}

static mr_status create(mr_run *run)
{
	run->n_losses = 2 * run->c.plan->contract.need; /* V records a step, after forwards of the next */
	return mr_validation_create(run->c.plan, &run->validation);
}

static void destroy(mr_run *run)
{
	mr_validation_destroy(run->validation);
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	return mr_validation_open(b);
}

static mr_status choose(mr_run *run)
{
	const mr_plan *p = run->c.plan;

	for (uint16_t s = 1; s < run->n_stages; s++)
		MR_TRY(mr_validation_choose(&run->weights[s], s, mr_plan_worker(p, 0, s),
					    mr_plan_worker(p, 0, (uint16_t)(s - 1)), run->n_workers, run->c.links));
	return MR_OK;
}

static mr_status open_links(mr_run *run)
{
	for (uint16_t s = 1; s < run->n_stages; s++)
		MR_TRY(mr_counter_open(&run->weights[s].validation->arrived));
	return MR_OK;
}

/* A copy of the optimizer's states, with the rest of masters. */
static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	const mr_stage_sizes *z = mr_stage_size(run->stage[s]);

	(void)pipe; /* there is one */
	out->optimizer += run->c.optim->ops->n_states * (uint64_t)mr_states_bytes(&run->weights[s]) +
			  z->rest_bytes + mr_weights_factor_bytes(&run->weights[s]);
}

static mr_status create_worker(mr_worker *w)
{
	w->validation = calloc(1, sizeof(*w->validation));
	return w->validation ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the repetitions of worker %u", w->id);
}

static void destroy_worker(mr_worker *w)
{
	free(w->validation);
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_parker *const *p = run->parkers;
	const mr_plan *plan = run->c.plan;

	mr_validation_reset(b, s > 0 ? &p[mr_plan_worker(plan, 0, (uint16_t)(s - 1))] : NULL,
			    s + 1 < run->n_stages ? &p[mr_plan_worker(plan, 0, (uint16_t)(s + 1))] : NULL,
			    p);
}

static mr_status stand_worker(mr_worker *w, uint64_t step)
{
	(void)step;
	*w->validation = (mr_worker_validation){0};
	return MR_OK;
}

const mr_feature mr_feature_validation = {
	.facts = MR_NEEDS_NORMS | MR_SETTLES | MR_JUDGES_STEPS,
	.instead = {.carry_out = {[MR_OP_F] = forward, [MR_OP_U] = commit, [MR_OP_V] = validate},
		    .may_step = may_step,
		    .repeats = repeats},
	.refuse = refuse,
	.create = create,
	.destroy = destroy,
	.open = open_stage,
	.choose = choose,
	.open_links = open_links,
	.memory = memory,
	.create_worker = create_worker,
	.destroy_worker = destroy_worker,
	.reset_stage = reset_stage,
	.stand_worker = stand_worker,
	.settle = settle,
	.ready = ready,
};
