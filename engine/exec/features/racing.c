/*
 * racing.c - the step loop of a racing plan (ir/plan.h): the next ready instruction goes first, backward before
 * forward.
 *
 * A worker hosts one stage and has two sequences, F(0) F(1) ... and B(0) B(1) ... with their U. It tries the next one
 * of each: first B, whose gradient frees memory here and gives work upstream, then F, as long as there is a slot for it
 * (at stage 0 that limits the micro-batches under way). A try that fails keeps its acquisitions, separately for each
 * sequence, and the two wait for disjoint things: so neither holds up the other.
 *
 * No deadlock. Take the oldest micro-batch that is not done everywhere. All before it are, so the slots and buffers
 * that it needs (number modulo their count) are free, and at each stage it is next in its sequence: its next
 * instruction is ready.
 *
 * Versions. Only the owner commits, so the latest version is its own counter; both F and B read it. Older versions are
 * not kept.
 *
 * Pause points. At pause point k, F and B of the first k counts are done and nothing else is begun. The limit
 * holds back the F of the first micro-batch of each count; those before it run through the pipeline, which needs no
 * later F, and empties. A worker that has begun a count beyond a limit that was lowered meanwhile finishes it: `begun`
 * shows it, and engine.c lets the others continue.
 */
#include "base/fault.h"
#include "exec/exec_internal.h"
#include "exec/features/race.h"

enum { FORWARD, BACK };

/* F of the next micro-batch: the prologue's in their order, then the body's again and again. */
static mr_task next_forward(const mr_worker *w, mr_links *links)
{
	const mr_plan *p = links->plan;
	const mr_list *once = mr_plan_list(p, w->id, MR_PROLOGUE), *body = mr_plan_list(p, w->id, MR_BODY);
	uint64_t m = w->race->n_f;
	mr_task t = {.links = links, .st = mr_links_at(links, 0, body->at[0].stage), .micro = m};
	uint32_t i = 0, left;

	if (m < once->n) {
		t.in = &once->at[m];
		return t;
	}
	left = (uint32_t)((m - once->n) % p->contract.need);
	while (body->at[i].op != MR_OP_F || left-- > 0)
		i++;
	t.in = &body->at[i];
	t.n = (m - once->n) / p->contract.need;
	return t;
}

/* The next B, or the U after it. */
static mr_task next_back(const mr_worker *w, mr_links *links)
{
	const mr_plan *p = links->plan;
	const mr_list *body = mr_plan_list(p, w->id, MR_BODY);
	mr_task t = {.links = links, .in = &body->at[w->race->back]};

	t.st = mr_links_at(links, 0, t.in->stage);
	t.n = t.in->op == MR_OP_U ? (w->race->n_b - 1) / p->contract.need : w->race->n_b / p->contract.need;
	t.micro = mr_instr_micro(p, t.in, t.n);
	if (t.in->op == MR_OP_U)
		t.version = mr_instr_target(p, t.in, t.n);
	return t;
}

/* Move on to the next instruction of the body that is no F, cyclically. */
static void skip_forwards(mr_worker *w, const mr_plan *p)
{
	const mr_list *body = mr_plan_list(p, w->id, MR_BODY);

	while (body->at[w->race->back].op == MR_OP_F)
		w->race->back = (w->race->back + 1) % body->n;
}

static mr_wait_cause try(mr_worker *w, const mr_task *t, mr_status *st)
{
	int which = t->in->op == MR_OP_F ? FORWARD : BACK;
	mr_wait_cause cause;

	w->acquired = w->race->held[which];
	cause = mr_exec_acquire(w, t, st);
	w->race->held[which] = w->acquired;
	return cause;
}

/* Do slots and the pause point allow the next F? */
static bool may_admit(mr_worker *w, const mr_links *links, const _Atomic uint64_t *limit)
{
	uint32_t need = links->plan->contract.need;
	uint16_t stage = mr_plan_list(links->plan, w->id, MR_BODY)->at[0].stage;
	uint64_t m = w->race->n_f;

	if (m - w->race->n_b >= links->plan->n_slots[stage])
		return false;
	if (w->race->held[FORWARD].got) /* begun, as far as the neighbours can see */
		return true;
	if (m % need == 0 && m / need >= atomic_load_explicit(limit, memory_order_relaxed))
		return false;
	atomic_store_explicit(&w->begun, m / need, memory_order_relaxed);
	return true;
}

mr_wait_cause mr_exec_race_look(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit, mr_task *t, bool *more,
				mr_status *st)
{
	mr_wait_cause cause = MR_WAIT_NONE;

	skip_forwards(w, links->plan);
	*t = next_back(w, links);
	*more = t->in->op == MR_OP_U || w->race->n_b < w->race->n_f;
	if (*more) {
		if (t->in->op != MR_OP_U)
			t->version = w->run->weights[t->in->stage].latest;
		cause = try(w, t, st);
		if (cause == MR_WAIT_NONE || *st != MR_OK)
			return cause;
	}
	if (!may_admit(w, links, limit))
		return cause;
	*more = true;
	*t = next_forward(w, links);
	t->version = w->run->weights[t->in->stage].latest;
	return try(w, t, st);
}

static uint64_t doing(const mr_task *t)
{
	return mr_doing_pack(t->in->op, t->in->pipe, t->in->stage, t->micro);
}

/* What choose() looks for. */
typedef struct choice {
	mr_links *links;
	const _Atomic uint64_t *limit;
	mr_task *t; /* the task that is ready, or is waited for */
	bool more;  /* false: nothing is left to do */
} choice;

static mr_wait_cause look(mr_worker *w, void *arg, mr_status *st)
{
	choice *c = arg;
	mr_wait_cause cause = mr_exec_race_look(w, c->links, c->limit, c->t, &c->more, st);

	if (cause != MR_WAIT_NONE)
		atomic_store_explicit(&w->doing, doing(c->t), memory_order_relaxed);
	return cause;
}

/* Waits until an instruction is ready: *@t. *@more: false, none is left. */
static mr_status choose(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit, mr_task *t, bool *more)
{
	choice c = {.links = links, .limit = limit, .t = t};
	mr_status st = mr_exec_wait_until(w, &(mr_wait){.look = look, .arg = &c}, t);

	*more = c.more;
	return st;
}

static void advance(mr_worker *w, const mr_task *t)
{
	mr_race *r = w->race;
	int which = t->in->op == MR_OP_F ? FORWARD : BACK;

	r->held[which].got = 0;
	if (t->in->op == MR_OP_F) {
		r->n_f++;
		return;
	}
	r->n_b += t->in->op == MR_OP_B;
	r->back = (r->back + 1) % mr_plan_list(t->links->plan, w->id, MR_BODY)->n;
}

void mr_exec_race_done(mr_worker *w, const mr_task *t)
{
	if (t->in->op != MR_OP_U)
		mr_race_note(w->race, t->in->op, t->version);
	advance(w, t);
}

uint64_t mr_exec_race_begun(const mr_worker *w)
{
	return w->race->n_f + (w->race->held[FORWARD].got != 0);
}

void mr_exec_race_paused(mr_worker *w, const mr_links *links)
{
	w->train.step = w->race->n_b / links->plan->contract.need;
	atomic_store_explicit(&w->begun, w->train.step, memory_order_relaxed);
}

static mr_status race(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit)
{
	bool more;
	mr_task t;

	for (;;) {
		mr_fault_delay(w->id, w->n_done);
		MR_TRY(choose(w, links, limit, &t, &more));
		if (!more) {
			w->ready_ns = 0; /* it waited only for the end */
			break;
		}
		atomic_store_explicit(&w->doing, doing(&t), memory_order_relaxed);
		MR_TRY(mr_exec_do(w, &t));
		mr_exec_race_done(w, &t);
	}
	mr_exec_race_paused(w, links);
	atomic_store_explicit(&w->doing, MR_DOING_NOTHING, memory_order_relaxed);
	return MR_OK;
}

/* --- the feature --- */

/* The pipeline is empty at a pause point. */
static uint64_t done(const mr_run *run, uint8_t pipe, uint16_t s, bool forward)
{
	(void)forward;
	return run->worker[mr_plan_worker(run->c.plan, pipe, s)].train.step * run->c.plan->contract.need;
}

static mr_status create_worker(mr_worker *w)
{
	return mr_race_create(w->run->c.record_micro, &w->race);
}

static void destroy_worker(mr_worker *w)
{
	mr_race_destroy(w->race);
}

static mr_status stand_worker(mr_worker *w, uint64_t step)
{
	mr_race_reset(w->race, step * w->run->c.plan->contract.need);
	return MR_OK;
}

const mr_feature mr_feature_racing = {
	.instead = {.train = race, .done = done},
	.create_worker = create_worker,
	.destroy_worker = destroy_worker,
	.stand_worker = stand_worker,
};
