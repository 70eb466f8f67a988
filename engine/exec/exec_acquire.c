/* exec_acquire.c - what an instruction needs before it may begin: messages, buffers, versions. Nothing here blocks. */
#include "ir/deps.h"
#include "exec/exec_internal.h"
#include "weights/ranges.h"
#include "weights/reduction.h"
#include "weights/tied_links.h"

static bool reached_all(const mr_worker *w, uint64_t version, bool norms)
{
	const mr_run *run = w->run;

	for (uint16_t s = 0; s < run->n_stages; s++)
		if (!mr_counter_reached(norms ? &run->weights[s].norms->known : &run->weights[s].published, w->id,
					(uint32_t)version))
			return false;
	return true;
}

/* Are all gradients of @version of stage @s in their sums? */
static bool is_finished(const mr_worker *w, uint16_t s, uint64_t version)
{
	return mr_counter_reached(&w->run->weights[s].reduction->finished, w->id, (uint32_t)version);
}

/* Are their sums added up? */
static bool is_reduced(const mr_worker *w, uint16_t s, uint64_t version)
{
	return mr_counter_reached(&w->run->weights[s].reduction->reduced, w->id, (uint32_t)version);
}

/* Is the whole version that @t reads of its stage, made by several workers, where this worker reads it? */
static bool has_weights(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = mr_run_weights(w->run, t->in->pipe, t->in->stage);

	return mr_counter_reached(&b->published, w->id, (uint32_t)t->version) &&
	       (!b->ranges ||
		mr_ranges_have_weights(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version));
}

/* Are the sums of all pipes that @t adds complete, and where this worker reads them? */
static bool has_sums(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	return is_finished(w, t->in->stage, t->version) &&
	       (!b->ranges || mr_ranges_have_sums(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version));
}

/* Is the whole gradient of which N takes the norm added up, and where this worker reads it? */
static bool has_total(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	return is_reduced(w, t->in->stage, t->version) && (!b->ranges || mr_ranges_have_totals(b, 0, t->version));
}

/* Is the version of the first stage whose tied parameters the last stage reads where this worker reads it? */
static bool has_tied_weights(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[0];

	return mr_counter_reached(&b->published, w->id, (uint32_t)t->version) &&
	       mr_tied_links_have_weights(b, t->in->pipe, t->version);
}

/* Are the last stage's gradients of tied parameters complete, and where this worker reads them? */
static bool has_tied_sums(const mr_worker *w, const mr_task *t)
{
	const mr_run *run = w->run;

	return is_finished(w, (uint16_t)(run->n_stages - 1), t->version) &&
	       mr_tied_links_have_sums(&run->weights[0], mr_run_shard(run, t->in->pipe, 0), t->version);
}

/* U of a shard that steps together with the shards of other stage replicas: are their sums added up, and here, if each
 * shard clips by the norm of all of them? */
static bool has_step(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	return is_reduced(w, t->in->stage, t->version) &&
	       (!mr_exec_clips_by_shard(w->run, b) ||
		mr_ranges_have_totals(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version));
}

/* Pop the message that buffer @want is full; at the model's input and target any number will do. */
static bool pop_full(mr_worker *w, mr_link *h, uint32_t *got, int64_t want, mr_status *status)
{
	if (!mr_link_get(h, (uint32_t)want, got))
		return false;
	if (want >= 0 && *got != (uint32_t)want)
		*status = mr_fail(MR_EINVAL, "worker %u took buffer %u where the plan says %lld", w->id, *got,
				  (long long)want);
	return true;
}

static mr_wait_cause acquire_f(mr_worker *w, const mr_task *t, mr_status *status)
{
	mr_run *run = w->run;
	mr_links *l = t->links;
	uint16_t s = t->in->stage, last = (uint16_t)(run->n_stages - 1);
	mr_links_stage *st = t->st;
	const mr_contract *k = &l->plan->contract;

	if (l->train && k->flush == MR_FLUSH_BARRIER && !reached_all(w, t->version, false))
		return MR_WAIT_WEIGHTS;
	if ((run->shares || run->replicas) && !has_weights(w, t))
		return MR_WAIT_WEIGHTS;
	if (k->tied && s == last && !has_tied_weights(w, t))
		return MR_WAIT_WEIGHTS;
	if (!(w->acquired.got & MR_GOT_IN)) {
		int64_t want = s ? (int64_t)mr_instr_in_fwd(l->plan, t->in, t->n) : -1;

		if (!pop_full(w, &st->in, &w->acquired.in, want, status))
			return s ? MR_WAIT_UPSTREAM : MR_WAIT_DATA;
		w->acquired.got |= MR_GOT_IN;
	}
	if (s == last && !(w->acquired.got & MR_GOT_TARGET)) {
		if (!pop_full(w, &st->target, &w->acquired.target, -1, status))
			return MR_WAIT_DATA;
		w->acquired.got |= MR_GOT_TARGET;
	}
	if (s < last && !(w->acquired.got & MR_GOT_OUT)) {
		w->acquired.out = mr_instr_out(l->plan, t->in, t->n);
		if (!mr_link_take(&st[1].in, w->acquired.out))
			return MR_WAIT_DOWNSTREAM;
		w->acquired.got |= MR_GOT_OUT;
	}
	return MR_WAIT_NONE;
}

static mr_wait_cause acquire_b(mr_worker *w, const mr_task *t, mr_status *status)
{
	mr_links *l = t->links;
	uint16_t s = t->in->stage;
	mr_links_stage *st = t->st;

	if (w->run->has_stage_replicas &&
	    !mr_counter_reached(&w->run->weights[s].published, w->id,
				(uint32_t)mr_plan_applied_on(l->plan, s, t->micro)))
		return MR_WAIT_WEIGHTS;
	if (w->run->ranges && !has_weights(w, t))
		return MR_WAIT_WEIGHTS;
	if (s + 1 < w->run->n_stages && !(w->acquired.got & MR_GOT_IN)) {
		if (!pop_full(w, &st->grad, &w->acquired.in, mr_instr_in_bwd(l->plan, t->in, t->n), status))
			return MR_WAIT_UPSTREAM;
		w->acquired.got |= MR_GOT_IN;
	}
	if (s > 0 && !(w->acquired.got & MR_GOT_OUT)) {
		w->acquired.out = mr_instr_out(l->plan, t->in, t->n);
		if (!mr_link_take(&st[-1].grad, w->acquired.out))
			return MR_WAIT_DOWNSTREAM;
		w->acquired.got |= MR_GOT_OUT;
	}
	return MR_WAIT_NONE;
}

/* This worker's sums come earlier in its list; it waits for those of other pipes, and of a tied use. */
static mr_wait_cause acquire_ar(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	uint16_t s = t->in->stage;

	if (run->shares && !has_sums(w, t))
		return MR_WAIT_WEIGHTS;
	if (t->links->plan->contract.tied && s == 0 && !has_tied_sums(w, t))
		return MR_WAIT_WEIGHTS;
	return MR_WAIT_NONE;
}

mr_wait_cause mr_exec_acquire(mr_worker *w, const mr_task *t, mr_status *status)
{
	mr_run *run = w->run;

	for (mr_ready_hook **ready = run->hooks.ready; *ready; ready++) {
		mr_wait_cause cause = (*ready)(w, t);

		if (cause != MR_WAIT_NONE)
			return cause;
	}
	switch (t->in->op) {
	case MR_OP_F:
		return acquire_f(w, t, status);
	case MR_OP_B:
	case MR_OP_I:
		return acquire_b(w, t, status);
	case MR_OP_U:
		if (run->has_stage_replicas && run->weights[t->in->stage].n_shards > 1)
			return has_step(w, t) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
		if (!t->links->plan->contract.clip)
			return MR_WAIT_NONE;
		if (run->hooks.instead.may_step ? run->hooks.instead.may_step(run, t->version)
						: reached_all(w, t->version, true))
			return MR_WAIT_NONE;
		return MR_WAIT_OPTIMIZER;
	case MR_OP_AVG:
		return mr_replicas_made(&run->replicas[t->in->stage], w->id, t->version - 1) ? MR_WAIT_NONE
											     : MR_WAIT_WEIGHTS;
	case MR_OP_AR:
		return acquire_ar(w, t);
	case MR_OP_N:
		return run->shares && !has_total(w, t)
			       ? MR_WAIT_WEIGHTS
			       : MR_WAIT_NONE;
	default:
		return MR_WAIT_NONE;
	}
}
