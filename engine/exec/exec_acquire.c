/* exec_acquire.c - what an instruction needs before it may begin: messages, buffers, versions. Nothing here blocks. */
#include "ir/deps.h"
#include "ir/stage_ops.h"
#include "exec/exec_internal.h"

static bool reached_all(const mr_worker *w, uint64_t version, bool norms)
{
	const mr_run *run = w->run;

	for (uint16_t s = 0; s < run->n_stages; s++)
		if (mr_stage_has(run->c.plan, s, MR_OP_U) &&
		    !mr_counter_reached(norms ? &run->weights[s].norms->known : &run->weights[s].published, w->id,
					(uint32_t)version))
			return false;
	return true;
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

	if (l->train && l->plan->contract.flush == MR_FLUSH_BARRIER && !reached_all(w, t->version, false))
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

	if (s + 1 < w->run->n_stages && !(w->acquired.got & MR_GOT_IN)) {
		if (!pop_full(w, &st->grad, &w->acquired.in, mr_instr_in_bwd(l->plan, t->in, t->n), status))
			return MR_WAIT_UPSTREAM;
		w->acquired.got |= MR_GOT_IN;
	}
	if (mr_stage_hands_back(l->plan, s) && !(w->acquired.got & MR_GOT_OUT)) {
		w->acquired.out = mr_instr_out(l->plan, t->in, t->n);
		if (!mr_link_take(&st[-1].grad, w->acquired.out))
			return MR_WAIT_DOWNSTREAM;
		w->acquired.got |= MR_GOT_OUT;
	}
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
		if (!t->links->plan->contract.clip)
			return MR_WAIT_NONE;
		if (run->hooks.instead.may_step ? run->hooks.instead.may_step(w, t->version)
						: reached_all(w, t->version, true))
			return MR_WAIT_NONE;
		return MR_WAIT_OPTIMIZER;
	default:
		return MR_WAIT_NONE;
	}
}
