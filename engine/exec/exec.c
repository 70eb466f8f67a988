#include "exec/exec.h"

#include <string.h>

#include "base/fault.h"
#include "base/usdt.h"
#include "host/clock.h"
#include "exec/snapshot.h"
#include "exec/exec_internal.h"

/* --- where a worker stands --- */

static mr_cursor *cursor_of(mr_worker *w, const mr_links *links)
{
	return links->train ? &w->train : &w->eval;
}

/* The list to which @c points; NULL: there is none. */
static const mr_list *list_at(const mr_worker *w, const mr_links *links, const mr_cursor *c)
{
	const mr_instead *h = &w->run->hooks.instead;

	return links->train && h->list ? h->list(w) : mr_plan_list(links->plan, w->id, (mr_section)c->section);
}

static void skip_ends(const mr_worker *w, const mr_links *links, mr_cursor *c)
{
	const mr_plan *p = links->plan;

	if (c->section == MR_PROLOGUE && c->at == mr_plan_list(p, w->id, MR_PROLOGUE)->n)
		*c = (mr_cursor){.section = MR_BODY, .step = c->step};
	if (c->section == MR_BODY && c->at && c->at == mr_plan_list(p, w->id, MR_BODY)->n)
		*c = (mr_cursor){.section = MR_BODY, .n = c->n + 1, .step = c->step + links->stride};
}

/* Evaluation lets early stages run ahead, in the end beyond the data (eval_plan.h). */
static void skip_beyond(mr_worker *w, mr_links *links, uint64_t until)
{
	const mr_plan *p = links->plan;

	while (w->eval.step < until && mr_plan_list(p, w->id, MR_BODY)->n > 0 &&
	       mr_instr_micro(p, &mr_plan_list(p, w->id, w->eval.section)->at[w->eval.at], w->eval.n) *
			       (uint64_t)links->samples >= links->n_samples)
		mr_exec_advance(w, links);
}

/* Instructions whose version is the one that they commit. */
enum { COMMITTING = 1 << MR_OP_N | 1 << MR_OP_AR | 1 << MR_OP_U | 1 << MR_OP_V | 1 << MR_OP_AVG };

bool mr_exec_next(mr_worker *w, mr_links *links, uint64_t until, mr_task *out)
{
	const mr_plan *p = links->plan;
	const mr_list *l;
	mr_cursor c;

	if (!links->train)
		skip_beyond(w, links, until);
	c = *cursor_of(w, links);
	l = list_at(w, links, &c);

	if (c.step >= until || !l || (c.section == MR_BODY && l->n == 0))
		return false; /* at the pause point, or without a part in these links */
	*out = (mr_task){.links = links, .in = &l->at[c.at], .n = c.n};
	out->st = mr_links_at(links, out->in->pipe, out->in->stage);
	out->micro = mr_instr_micro(p, out->in, c.n);
	if (1u << out->in->op & COMMITTING)
		out->version = mr_instr_target(p, out->in, c.n);
	else
		out->version = links->train ? mr_instr_read(p, out->in, c.n)
					    : mr_run_weights(w->run, out->in->pipe, out->in->stage)->latest;
	return true;
}

void mr_exec_drop(mr_worker *w)
{
	w->acquired.got = 0;
	memset(w->wait_ns, 0, sizeof(w->wait_ns));
	w->waited = false;
	w->ready_ns = 0;
	atomic_store_explicit(&w->doing, MR_DOING_NOTHING, memory_order_relaxed);
}

void mr_exec_advance(mr_worker *w, mr_links *links)
{
	mr_cursor *c = cursor_of(w, links);

	if (w->rewinds) {
		w->rewinds = false;
		c->at = 0;
		return;
	}
	if (links->train && w->run->hooks.instead.advance) {
		w->run->hooks.instead.advance(w);
		return;
	}
	c->at++;
	if (links->train && c->section == MR_PROLOGUE && c->step < w->n_pauses && c->at == w->pause_at[c->step])
		c->step++;
	skip_ends(w, links, c);
}

/* --- waiting --- */

void mr_exec_book(mr_worker *w, mr_wait_cause cause, uint64_t ns)
{
	uint64_t sum = w->wait_ns[cause] + ns;

	w->waited = true;
	w->wait_ns[cause] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* Reads how long the threads of @w were kept from their cores since the last look, at @now; from this follows how long
 * @w spins from now on. */
static mr_team_delayed look_at_delay(mr_worker *w, uint64_t now)
{
	mr_team_delayed d = mr_team_delay_look(&w->delay, now);

	mr_spin_delayed(&w->run->spin, &w->spin_interval, now, d.most_ns);
	w->waiter.spin = mr_pause_spins(mr_spin_ns(&w->run->spin, now, w->spin_ns));
	return d;
}

/* Record the part of the wait ending at @now in which the thread waited for its core. */
static void book_delayed_wait(mr_worker *w, uint64_t now)
{
	uint64_t lost = look_at_delay(w, now).leader_ns;

	for (int c = 0; c < MR_N_WAITS && lost; c++) {
		uint32_t part = w->wait_ns[c] < lost ? w->wait_ns[c] : (uint32_t)lost;

		w->wait_ns[c] -= part;
		mr_exec_book(w, MR_WAIT_DESCHEDULED, part);
		lost -= part;
	}
	w->stats.lost_before_ns += lost;
}

/* The wait of @w for @cause has ended, or became one for something else. */
static void tell_wait(const mr_worker *w, const mr_task *t, mr_wait_cause cause, mr_wait_cause next, uint64_t ns)
{
	if (!t->links->train)
		return;
	if (cause != MR_WAIT_NONE)
		mr_usdt_wait_end(w->id, cause, t->in->stage, t->micro, ns);
	if (next != MR_WAIT_NONE)
		mr_usdt_wait_begin(w->id, next, t->in->stage, t->micro);
}

/* A wait was looked at. @cause: why it goes on (MR_WAIT_NONE: it is over, or the run was stopped); @since: the end of
 * the time recorded so far. If it is over, the instruction begins at this moment: one reading of the clock serves both.
 */
static void end_wait(mr_worker *w, mr_wait_cause cause, uint64_t since)
{
	uint64_t waited = 0;

	for (int c = 0; c < MR_N_WAITS; c++)
		waited += w->wait_ns[c];
	if (mr_team_delay_due(&w->delay, since, waited))
		book_delayed_wait(w, since);
	mr_waiter_note(&w->waiter, MR_WAIT_NONE, 0);
	w->ready_ns = cause == MR_WAIT_NONE ? since : 0;
}

mr_status mr_exec_wait_until(mr_worker *w, const mr_wait *wait, const mr_task *t)
{
	mr_status st = MR_OK;
	mr_wait_cause cause = wait->look(w, wait->arg, &st);
	uint64_t since;

	if (cause == MR_WAIT_NONE || st != MR_OK)
		return st;
	since = mr_clock_ns();
	tell_wait(w, t, MR_WAIT_NONE, cause, 0);
	while (cause != MR_WAIT_NONE && st == MR_OK) {
		mr_wait_cause before = cause;

		if (wait->helps && w->run->hooks.instead.help(w, t->links, cause, since, &st)) {
			since = mr_clock_ns();
			cause = st == MR_OK ? wait->look(w, wait->arg, &st) : cause;
			continue;
		}
		mr_waiter_note(&w->waiter, cause, (uint32_t)t->micro);
		st = mr_waiter_step(&w->waiter);
		if (st != MR_OK)
			break;
		cause = wait->look(w, wait->arg, &st);
		if (cause != before) {
			uint64_t now = mr_clock_ns();

			mr_exec_book(w, before, now - since);
			tell_wait(w, t, before, cause, now - since);
			since = now;
		}
	}
	end_wait(w, cause, since);
	if (st == MR_OK)
		mr_waiter_done(&w->waiter);
	return st;
}

static mr_wait_cause look_at_task(mr_worker *w, void *arg, mr_status *st)
{
	return mr_exec_acquire(w, arg, st);
}

mr_status mr_exec_wait(mr_worker *w, mr_task *t)
{
	bool helps = w->run->hooks.instead.help && t->in->op != MR_OP_W && t->links->train;

	return mr_exec_wait_until(w, &(mr_wait){.look = look_at_task, .arg = t, .helps = helps}, t);
}

/* --- carrying out --- */

static mr_status no_way(mr_worker *w, const mr_task *t)
{
	(void)w;
	return mr_fail(MR_EINVAL, "the engine has no way to carry out %s", mr_op_name(t->in->op));
}

const mr_instead mr_exec_own = {
	.carry_out = {[MR_OP_F] = mr_exec_forward,
		      [MR_OP_B] = mr_exec_backward,
		      [MR_OP_I] = mr_exec_backward,
		      [MR_OP_W] = mr_exec_weights,
		      [MR_OP_R] = mr_exec_recompute,
		      [MR_OP_N] = mr_exec_norms,
		      [MR_OP_AR] = mr_exec_reduce,
		      [MR_OP_U] = mr_exec_commit,
		      [MR_OP_V] = no_way,
		      [MR_OP_AVG] = no_way},
	.step = mr_exec_step,
	.apply = mr_exec_apply,
};

/* Commits of all stages before the task that is about to begin; those of a task that commits are read at its end. */
static uint32_t count_before(const mr_worker *w)
{
	return w->trace ? atomic_load_explicit(&w->run->n_commits, memory_order_relaxed) : 0;
}

static uint32_t count_commit(mr_worker *w, const mr_task *t, uint32_t before)
{
	bool commits = t->in->op == MR_OP_U || t->in->flags & MR_INSTR_UPDATE;

	/* All that a commit depends on has been counted before: its F came earlier, on whichever worker. */
	return w->trace && commits ? atomic_fetch_add_explicit(&w->run->n_commits, 1, memory_order_relaxed) : before;
}

static void trace(mr_worker *w, const mr_task *t, uint64_t begin, uint64_t end, uint64_t lost, uint32_t n_commits)
{
	mr_trace_rec *r = &w->trace[w->n_trace++ % MR_TRACE_RING];

	*r = (mr_trace_rec){
		.begin_ns = begin - w->run->start_ns,
		.end_ns = end - w->run->start_ns,
		.micro = (uint32_t)t->micro,
		.lost_ns = (uint32_t)lost,
		.version = (uint32_t)t->version,
		.stage = t->in->stage,
		.worker = w->id,
		.op = t->in->op,
		.pipe = t->in->pipe,
		.n_commits = n_commits,
	};
	memcpy(r->wait_ns, w->wait_ns, sizeof(r->wait_ns));
}

/* Of training only: evaluation happens in pauses, which no figure of the run includes. */
static void keep_stats(mr_worker *w, const mr_task *t, uint64_t begin, uint64_t end, uint64_t lost, uint32_t n_commits)
{
	w->stats.busy_ns[t->in->op] += end - begin - lost;
	w->stats.lost_ns += lost;
	w->stats.count[t->in->op]++;
	for (int c = 0; w->waited && c < MR_N_WAITS; c++)
		w->stats.wait_ns[c] += w->wait_ns[c];
	for (int c = 0; (w->waited || lost) && c < MR_N_WAITS; c++)
		atomic_store_explicit(&w->waited_ns[c],
				      w->stats.wait_ns[c] + (c == MR_WAIT_DESCHEDULED ? w->stats.lost_ns : 0),
				      memory_order_relaxed);
	if (w->trace)
		trace(w, t, begin, end, lost, n_commits);
}

/* The part of the @took nanoseconds of computing up to @now in which other programs had a core of @w. Of the time for
 * which it waited for other shares, @met, what they had is a part of that wait. */
static uint64_t lost_while_busy(mr_worker *w, uint64_t now, uint64_t took, uint64_t met)
{
	uint64_t lost = look_at_delay(w, now).most_ns, most = took < UINT32_MAX ? took : UINT32_MAX;

	lost -= lost < met ? lost : met;
	if (lost <= most)
		return lost;
	w->stats.lost_before_ns += lost - most;
	return most;
}

/* The waits for other shares in the instruction count as if they had come before it. */
static uint64_t book_meetings(mr_worker *w)
{
	uint64_t ns = w->met_ns;

	w->met_ns = 0;
	if (w->run->stamp)
		return 0;
	mr_exec_book(w, MR_WAIT_UPSTREAM, ns);
	return ns;
}

mr_status mr_exec_do(mr_worker *w, const mr_task *t)
{
	const mr_stamp *v = w->run->stamp;
	uint32_t n_commits;
	uint64_t begin = v ? w->run->start_ns + v->begin_ns : w->ready_ns ? w->ready_ns : mr_clock_ns(), end, lost = 0;
	uint64_t met;

	w->ready_ns = 0;
	if (v) {
		memcpy(w->wait_ns, v->wait_ns, sizeof(w->wait_ns));
		w->waited = true;
	}
	n_commits = count_before(w);
	if (t->links->train)
		mr_usdt_instr_begin(w->id, t->in->op, t->in->stage, t->in->pipe, t->micro, t->version);
	if (w->counted && t->links->train)
		mr_counted_begin(w->counted);
	MR_TRY(w->run->hooks.instead.carry_out[t->in->op](w, t));
	for (mr_passed_hook **passed = w->run->hooks.passed; *passed; passed++)
		(*passed)(w, t);
	met = w->met_ns ? book_meetings(w) : 0;
	begin += met;
	if (w->counted && t->links->train)
		mr_counted_end(w->counted, t->in->stage, t->in->op, t->in->span);
	if (t->links->train)
		mr_usdt_instr_end(w->id, t->in->op, t->in->stage, t->in->pipe, t->micro, t->version);
	end = v ? w->run->start_ns + v->end_ns : mr_clock_ns();
	if (mr_team_delay_due(&w->delay, end, end - begin))
		lost = lost_while_busy(w, end, end - begin, met);
	if (end - begin > atomic_load_explicit(&w->longest_ns, memory_order_relaxed))
		atomic_store_explicit(&w->longest_ns, end - begin, memory_order_relaxed);
	atomic_store_explicit(&w->busy_ns, atomic_load_explicit(&w->busy_ns, memory_order_relaxed) + end - begin - lost,
			      memory_order_relaxed);
	if (t->links->train)
		keep_stats(w, t, begin, end, lost, count_commit(w, t, n_commits));
	if (w->waited)
		memset(w->wait_ns, 0, sizeof(w->wait_ns));
	w->waited = false;
	w->acquired.got = 0;
	atomic_store_explicit(&w->beat, ++w->n_done, memory_order_relaxed);
	if (w->run->c.observer && t->links->train) {
		w->run->c.observer(w->run->c.observer_arg, w->run, t->in, t->micro, t->version);
		mr_exec_observed(w, t);
	}
	return MR_OK;
}

/* The present pause limit, which is read again at every pause point that is passed. */
static uint64_t look_up_limit(mr_worker *w, const mr_links *links, const _Atomic uint64_t *limit)
{
	const mr_cursor *c = cursor_of(w, links);

	if (links->train)
		atomic_store_explicit(&w->begun, c->step, memory_order_relaxed);
	return atomic_load_explicit(limit, memory_order_acquire);
}

/* The same, and if @w goes on from here, it copies its part of a snapshot. */
static uint64_t pass_to(mr_worker *w, const mr_links *links, const _Atomic uint64_t *limit)
{
	uint64_t step = cursor_of(w, links)->step, until = look_up_limit(w, links, limit);

	if (links->train && w->run->snapshot && step < until)
		mr_snapshot_pass(w, step);
	return until;
}

mr_status mr_exec_run(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit)
{
	const mr_instead *h = &w->run->hooks.instead;
	mr_status st = MR_OK;
	uint64_t until, at;
	mr_task t;

	if (links->train && h->train)
		return h->train(w, links, limit);
	until = pass_to(w, links, limit);
	at = cursor_of(w, links)->step;
	while (mr_exec_next(w, links, until, &t)) {
		if (t.in->flags & MR_INSTR_ANY && !h->claim(w, &t)) {
			mr_exec_advance(w, links);
			continue;
		}
		atomic_store_explicit(&w->doing, mr_doing_pack(t.in->op, t.in->pipe, t.in->stage, t.micro),
				      memory_order_relaxed);
		mr_fault_delay(w->id, w->n_done);
		MR_TRY(mr_exec_wait(w, &t));
		if (w->n_late && t.in->op == MR_OP_F)
			mr_snapshot_take(w, t.in->stage, w->acquired.in);
		MR_TRY(mr_exec_do(w, &t));
		mr_exec_advance(w, links);
		if (cursor_of(w, links)->step != at)
			until = pass_to(w, links, limit);
		at = cursor_of(w, links)->step;
	}
	MR_TRY_HOOKS(w->run, leave, w, links);
	/* help until no other worker has W left */
	while (links->train && h->help && h->help(w, links, MR_WAIT_NONE, mr_clock_ns(), &st))
		MR_TRY(st);
	atomic_store_explicit(&w->doing, MR_DOING_NOTHING, memory_order_relaxed);
	mr_fault_delay(w->id, w->n_done); /* a look may come between the last instruction and the report */
	return MR_OK;
}
