/*
 * stealing.c - W that any worker may take (ir/plan.h, "Stealing"): which worker takes which, and the order in which
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
#include "weights/steal_queue.h"

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

/* The place of a W in the order of its sum while it is carried out. */
typedef struct turn {
	mr_worker *w;
	mr_steal_sum *sum;
	uint32_t at, last;   /* places in its count, of its first and of its last micro-batch */
	uint32_t base;       /* layers of the counts before */
	uint64_t micro;
} turn;

static mr_status before_layer(void *arg, uint32_t k)
{
	turn *t = arg;
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
	turn *t = arg;

	mr_event_publish(&t->sum->turn[t->last], t->base + k + 1);
}

static mr_status carry_out_w(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];
	turn own = {.w = w, .sum = b->steal_sum, .micro = t->micro};
	const mr_sum_order_hook order = {.before = before_layer, .after = after_layer, .arg = &own};

	own.at = (uint32_t)(t->micro % need_of(w->run));
	own.last = own.at + t->in->span - 1u;
	own.base = (uint32_t)(t->version * own.sum->n_layers);
	w->steal_queue->order = &order;
	MR_TRY(mr_exec_weights(w, t));
	/* for stages without parameters too */
	mr_event_publish(&own.sum->turn[own.last], own.base + own.sum->n_layers);
	if (own.last + 1 == need_of(w->run))
		mr_counter_raise(&b->reduction->finished, w->id, (uint32_t)(t->version + 1));
	w->steal_queue->n_stolen += is_away(w, t);
	return MR_OK;
}

/* The first micro-batch of a W has the order of all. */
static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	if (t->in->op == MR_OP_W && slot->micro == t->micro)
		io->turn = w->steal_queue->order;
	return MR_OK;
}

/* W: the W before it must have begun to add; on another worker, all I of its count must be done. */
static bool has_turn(const mr_worker *w, const mr_task *t)
{
	const mr_steal_sum *x = w->run->weights[t->in->stage].steal_sum;
	uint32_t at = (uint32_t)(t->micro % need_of(w->run));

	if (is_away(w, t) && !mr_event_reached(&x->opened, (uint32_t)(t->version + 1)))
		return false;
	return !at || mr_event_reached(&x->turn[at - 1], (uint32_t)(t->version * x->n_layers) + 1);
}

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	if (t->in->op == MR_OP_W)
		return has_turn(w, t) ? MR_WAIT_NONE : MR_WAIT_UPSTREAM;
	if (t->in->op < MR_OP_N || mr_counter_reached(&w->run->weights[t->in->stage].reduction->finished, w->id,
						      (uint32_t)t->version))
		return MR_WAIT_NONE;
	return MR_WAIT_WEIGHTS;
}

/* --- what is left behind --- */

static mr_status carry_out_i(mr_worker *w, const mr_task *t)
{
	mr_steal_sum *x = w->run->weights[t->in->stage].steal_sum;

	MR_TRY(mr_exec_backward(w, t));
	if (++x->n_grads < need_of(w->run))
		return MR_OK;
	x->n_grads = 0;
	mr_event_publish(&x->opened, (uint32_t)(t->version + 1));
	return MR_OK;
}

static bool leaves_slot(const mr_worker *w, const mr_task *t)
{
	return is_away(w, t) || mr_event_reached(&w->run->weights[t->in->stage].steal_sum->opened,
						 (uint32_t)(t->version + 1));
}

static mr_status complete(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	(void)b;
	mr_exec_release_rest(w->run, t);
	return MR_OK;
}

/* --- taking --- */

static bool claim(mr_worker *w, const mr_task *t)
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

static bool help(mr_worker *w, mr_links *links, mr_wait_cause cause, uint64_t since, mr_status *status)
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

/* --- the feature --- */

/* oneDNN promises equal bits only for equal numbers of threads. */
static mr_status refuse(const mr_run_config *c)
{
	const mr_place_worker *w = c->place->worker;

	for (uint16_t i = 1; i < c->plan->n_workers; i++)
		if (w[i].n_threads != w[0].n_threads)
			return mr_fail(MR_ECONFIG,
				       "worker %u has %u threads and worker 0 has %u: a product has the same bits "
				       "whichever worker carries it out only "
				       "where all have as many, so leave steal out",
				       i, w[i].n_threads, w[0].n_threads);
	return MR_OK;
}

static mr_status open_sum(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)s;
	MR_TRY(mr_reduction_open(b));
	b->reduction->by_turn = true;
	return mr_steal_queue_open_sum(b, run->c.plan->contract.need);
}

static mr_status create_worker(mr_worker *w)
{
	return mr_steal_queue_create(w->run->c.plan, w->id, w->run->c.record_micro, &w->steal_queue);
}

static void destroy_worker(mr_worker *w)
{
	mr_steal_queue_destroy(w->steal_queue);
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)s;
	mr_steal_queue_reset_sum(b, run->parkers, run->n_workers);
}

static mr_status stand_worker(mr_worker *w, uint64_t step)
{
	(void)step;
	mr_steal_queue_reset(w->steal_queue);
	return MR_OK;
}

const mr_feature mr_feature_stealing = {
	.facts = MR_ANY_WORKER,
	.shares = "a worker that steals a weight gradient reads in place the activations of the stage's worker",
	.instead = {.carry_out = {[MR_OP_I] = carry_out_i, [MR_OP_W] = carry_out_w},
		    .claim = claim,
		    .help = help,
		    .leaves_slot = leaves_slot},
	.refuse = refuse,
	.open = open_sum,
	.create_worker = create_worker,
	.destroy_worker = destroy_worker,
	.reset_stage = reset_stage,
	.stand_worker = stand_worker,
	.ready = ready,
	.pass = pass,
	.complete = complete,
};
