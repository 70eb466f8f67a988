/*
 * exec_steal.c - W that any worker may take (ir/plan.h, "Stealing"): which worker takes which, and the order in which
 * they are added.
 *
 *	w0  ... I3 W1 W2 W3            The owner reaches its tail and opens it. From then on its W go one by one, in the
 *	w1  ... I3 .  .  W3'           order of the list, to the next taker: the owner, or a worker that would wait.
 *
 * Taking. `taken` of a worker counts the W of its tail that it or others have taken, with the
 * iteration in the upper half, so that no worker takes one of another iteration. It only rises, by compare and swap;
 * the owner opens the tail by storing 1, as it takes the first W itself.
 *	edge   writer                              reader                           what becomes visible
 *	W5/R5  the owner stores 1; a taker raises  a worker that looks for a W or    F and I of the iteration, with
 *	       it (release)                        takes one (acquire)               their slots and buffers; each
 *	                                                                             raise carries it on
 * seq_cst for the store and the look, as in event.h: the look may be the last one before sleeping.
 *
 * Adding up. A W that was taken follows the one before it in its stage's sum layer by layer (steal_queue.h, turn).
 * Its turn comes, because the worker that took the W before does it at once and waits only for the W before that: a
 * worker takes a second one only when it has done the first, and a worker that waits for its turn takes none.
 *
 * Giving back. Slots and boundary buffers belong to the owner's rings. So a W after the last I of its stage gives
 * nothing back; U, which waits for all of them, does. They are not needed before: every micro-batch of the iteration
 * has passed through the stage.
 */
#include "base/fault.h"
#include "host/clock.h"
#include "exec/exec_internal.h"
#include "weights/reduction.h"

static uint64_t pack(uint64_t n, uint32_t taken)
{
	return (n + 1) << 32 | taken;
}

static uint64_t need_of(const mr_run *run)
{
	return run->c.plan->contract.need;
}

/* Does the stage of @t belong to another worker? */
static bool is_away(const mr_worker *w, const mr_task *t)
{
	return mr_plan_worker(w->run->c.plan, t->in->pipe, t->in->stage) != w->id;
}

/* --- the order of a sum --- */

static mr_status before_layer(void *arg, uint32_t k)
{
	mr_exec_turn *t = arg;
	mr_waiter *waiter = &t->w->waiter;

	if (!t->at || mr_event_reached(&t->sum->turn[t->at - 1], t->base + k + 1))
		return MR_OK;
	mr_waiter_note(waiter, MR_WAIT_UPSTREAM, (uint32_t)t->micro);
	MR_TRY(mr_event_wait(&t->sum->turn[t->at - 1], t->base + k + 1, waiter));
	mr_waiter_note(waiter, MR_WAIT_NONE, 0);
	return MR_OK;
}

static void after_layer(void *arg, uint32_t k)
{
	mr_exec_turn *t = arg;

	mr_event_publish(&t->sum->turn[t->last], t->base + k + 1);
}

const mr_sum_order_hook *mr_exec_turn_begin(mr_worker *w, const mr_task *t, mr_exec_turn *out)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	*out = (mr_exec_turn){.w = w, .turn = {.before = before_layer, .after = after_layer, .arg = out}};
	if (!t->links->plan->contract.steal)
		return NULL;
	out->b = b;
	out->sum = b->steal_sum;
	out->away = is_away(w, t);
	out->at = (uint32_t)(t->micro % need_of(w->run));
	out->last = out->at + t->in->span - 1u;
	out->base = (uint32_t)(t->version * b->steal_sum->n_layers);
	out->micro = t->micro;
	out->version = t->version;
	return &out->turn;
}

void mr_exec_turn_end(mr_exec_turn *t)
{
	if (!t->b)
		return;
	mr_event_publish(&t->sum->turn[t->last], t->base + t->sum->n_layers); /* for stages without parameters too */
	if (t->last + 1 == need_of(t->w->run))
		mr_counter_raise(&t->b->reduction->finished, t->w->id, (uint32_t)(t->version + 1));
	t->w->steal_queue->n_stolen += t->away;
}

bool mr_exec_has_turn(const mr_worker *w, const mr_task *t)
{
	const mr_steal_sum *x = w->run->weights[t->in->stage].steal_sum;
	uint32_t at = (uint32_t)(t->micro % need_of(w->run));

	if (is_away(w, t) && !mr_event_reached(&x->opened, (uint32_t)(t->version + 1)))
		return false;
	return !at || mr_event_reached(&x->turn[at - 1], (uint32_t)(t->version * x->n_layers) + 1);
}

/* --- what is left behind --- */

void mr_exec_open(mr_run *run, const mr_task *t)
{
	mr_steal_sum *x = run->weights[t->in->stage].steal_sum;

	if (!x || ++x->n_grads < need_of(run))
		return;
	x->n_grads = 0;
	mr_event_publish(&x->opened, (uint32_t)(t->version + 1));
}

bool mr_exec_leaves_slot(const mr_worker *w, const mr_task *t)
{
	const mr_steal_sum *x = w->run->weights[t->in->stage].steal_sum;

	if (!x)
		return false;
	return is_away(w, t) || mr_event_reached(&x->opened, (uint32_t)(t->version + 1));
}

/* --- taking --- */

bool mr_exec_claim(mr_worker *w, const mr_task *t)
{
	const mr_instr *body = mr_plan_list(t->links->plan, w->id, MR_BODY)->at;
	_Atomic uint64_t *taken = &w->steal_queue->taken;
	uint64_t now;
	uint32_t k = 0;

	while (&body[w->steal_queue->any[k]] != t->in)
		k++;
	if (k == 0) {
		atomic_store_explicit(taken, pack(t->n, 1), memory_order_seq_cst); /* W5 */
		for (uint16_t i = 0; i < w->run->n_workers; i++)
			if (i != w->id)
				mr_parker_wake(w->run->parkers[i]);
		return true;
	}
	now = pack(t->n, k); /* all before it are taken: this worker has come past them */
	return atomic_compare_exchange_strong_explicit(taken, &now, pack(t->n, k + 1), memory_order_acq_rel,
						       memory_order_acquire);
}

/* The iteration in whose tail @w is, and the place in its body before which it would wait. False: it is not in a tail.
 */
static bool stands_at_end(const mr_worker *w, const mr_plan *p, uint64_t *n, uint32_t *to)
{
	const mr_cursor *c = &w->train;

	if (c->section != MR_BODY || (c->at == 0 && c->n == 0) || (c->at > 0 && c->at < w->steal_queue->from))
		return false;
	*n = c->at ? c->n : c->n - 1;
	*to = c->at ? c->at : mr_plan_list(p, w->id, MR_BODY)->n;
	return true;
}

/* Take the next W of the worker that has most of iteration @n left; false: none is left. */
static bool take(mr_run *run, uint64_t n, uint16_t *owner, uint32_t *k)
{
	for (;;) {
		uint64_t seen = 0;
		uint32_t most = 0;

		for (uint16_t i = 0; i < run->n_workers; i++) {
			/* R5, and the last look before sleeping */
			uint64_t now = atomic_load_explicit(&run->worker[i].steal_queue->taken, memory_order_seq_cst);
			uint32_t left = now >> 32 == n + 1 ? run->worker[i].steal_queue->n_any - (uint32_t)now : 0;

			if (left <= most)
				continue;
			most = left;
			seen = now;
			*owner = i;
		}
		if (!most)
			return false;
		*k = (uint32_t)seen;
		/* R5; W5: carried on to the worker that takes the next */
		if (atomic_compare_exchange_strong_explicit(&run->worker[*owner].steal_queue->taken, &seen, seen + 1,
							    memory_order_acq_rel, memory_order_relaxed))
			return true;
	}
}

/* Carry @t out at once; acquisitions for the instruction that @w would wait for are kept. */
static mr_status carry_out(mr_worker *w, mr_task *t)
{
	mr_acquired before = w->acquired;
	mr_status st;

	atomic_store_explicit(&w->doing, mr_doing_pack(t->in->op, t->in->pipe, t->in->stage, t->micro),
			      memory_order_relaxed);
	mr_fault_delay(w->id, w->n_done);
	w->acquired = (mr_acquired){0};
	st = mr_exec_wait(w, t);
	if (st == MR_OK)
		st = mr_exec_do(w, t);
	w->acquired = before;
	return st;
}

bool mr_exec_help(mr_worker *w, mr_links *links, mr_wait_cause cause, uint64_t since, mr_status *status)
{
	const mr_plan *p = links->plan;
	mr_task t = {.links = links};
	uint16_t owner;
	uint32_t k, to, from;

	if (!stands_at_end(w, p, &t.n, &to) || !take(w->run, t.n, &owner, &k))
		return false;
	mr_waiter_note(&w->waiter, MR_WAIT_NONE, 0);
	mr_waiter_done(&w->waiter);
	if (cause != MR_WAIT_NONE)
		mr_exec_book(w, cause, mr_clock_ns() - since);
	from = w->run->worker[owner].steal_queue->any[k];
	t.in = &mr_plan_list(p, owner, MR_BODY)->at[from];
	t.st = mr_links_at(links, t.in->pipe, t.in->stage);
	t.micro = mr_instr_micro(p, t.in, t.n);
	t.version = mr_instr_read(p, t.in, t.n);
	*status = carry_out(w, &t);
	mr_steal_queue_note(w->steal_queue,
			    &(mr_steal){.n = (uint32_t)t.n, .owner = owner, .thief = w->id, .from = from, .to = to});
	return true;
}
