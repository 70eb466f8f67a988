/*
 * replay_clock.c - a replay that finds its order as it goes: each worker begins as soon as it can, in virtual time.
 *
 * Events are the ends of instructions, earliest first. An instruction acquires its inputs when it begins and is
 * carried out when it ends, so another worker sees its output at its end and not before. A transfer to another worker
 * takes a time of its own, counted from the entry in the table of ends.
 *
 * A pause holds workers back whose next instruction could have begun before the last end of another one. Afterwards
 * each goes on at the end of its own last instruction. Inputs and norms are not there before the end of the instruction
 * that makes them; only there may a free buffer seem free too early.
 */
#include <math.h>
#include <stdlib.h>

#include "exec/exec_internal.h"
#include "replay/replay_internal.h"

void mr_replay_times_fini(mr_replay_times *t)
{
	free(t->at);
	free(t->forward);
	*t = (mr_replay_times){0};
}

/* A stage is ahead of its neighbour by no more than the micro-batches under way at both. */
static uint32_t most_sent(const mr_plan *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < (size_t)p->n_pipes * p->n_stages; i++) {
		uint32_t here = (uint32_t)p->n_slots[i] + p->n_fwd[i] + p->n_bwd[i];

		n = here > n ? here : n;
	}
	return 2 * (n + p->contract.need);
}

static mr_status set_up(mr_replay *r)
{
	mr_replay_times *t = &r->times;
	size_t cells;

	if (t->at)
		return MR_OK;
	t->n_sent = most_sent(r->run->c.plan);
	cells = (size_t)r->run->n_stages * t->n_sent;
	t->at = calloc(r->run->n_workers, sizeof(*t->at));
	t->forward = calloc(2 * cells + r->run->n_stages, sizeof(*t->forward));
	if (!t->at || !t->forward)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u workers", r->run->n_workers);
	t->back = t->forward + cells;
	t->norm = t->back + cells;
	return MR_OK;
}

static bool races(const mr_replay *r)
{
	return r->run->c.plan->contract.racing;
}

/* --- when an instruction may begin --- */

static double *sent_at(const mr_replay *r, double *table, uint16_t stage, uint64_t micro)
{
	return &table[(size_t)stage * r->times.n_sent + micro % r->times.n_sent];
}

/* When the output of @from reaches worker @to, whose stage is next to it. */
static double arrival(const mr_replay *r, double *table, uint16_t from, uint64_t micro, uint16_t to)
{
	uint16_t worker = mr_plan_worker(r->run->c.plan, 0, from);
	double hop = worker == to ? 0 : r->clock->hop(r->clock->arg, from, table == r->times.back, worker, to);

	return *sent_at(r, table, from, micro) + hop;
}

static double all_norms(const mr_replay *r)
{
	double last = 0;

	for (uint16_t s = 0; s < r->run->n_stages; s++)
		last = fmax(last, r->times.norm[s]);
	return last;
}

/* When everything that @t waits for was there. */
static double earliest(const mr_replay *r, const mr_task *t, uint16_t worker)
{
	uint16_t s = t->in->stage;

	switch (t->in->op) {
	case MR_OP_F:
		return s > 0 ? arrival(r, r->times.forward, (uint16_t)(s - 1), t->micro, worker) : 0;
	case MR_OP_B:
	case MR_OP_I:
		return s + 1 < r->run->n_stages ? arrival(r, r->times.back, (uint16_t)(s + 1), t->micro, worker) : 0;
	case MR_OP_V:
		return all_norms(r);
	default:
		return 0;
	}
}

static mr_wait_cause look(mr_replay *r, mr_worker *w, mr_task *t, bool *more, mr_status *st)
{
	_Atomic uint64_t limit;

	if (races(r)) {
		atomic_init(&limit, r->until);
		return mr_exec_race_look(w, r->links, &limit, t, more, st);
	}
	*more = mr_exec_next(w, r->links, r->until, t);
	return *more ? mr_exec_acquire(w, t, st) : MR_WAIT_NONE;
}

/* The next instruction of @id, if it can begin now. */
static mr_status try_to_begin(mr_replay *r, uint16_t id)
{
	mr_replay_lane *l = &r->times.at[id];
	mr_worker *w = &r->run->worker[id];
	mr_wait_cause cause;
	mr_status st = MR_OK;
	bool more;
	double at;

	do
		cause = look(r, w, &l->task, &more, &st);
	while (st == MR_OK && cause == MR_WAIT_DATA && mr_loader_pump(r->feeds));
	MR_TRY(st);
	if (!more)
		return MR_OK;
	if (cause != MR_WAIT_NONE) {
		/* Data take no time here: it waits for the buffer of a batch that is kept for a repetition. */
		l->cause = cause == MR_WAIT_DATA ? MR_WAIT_OPTIMIZER : cause;
		return MR_OK;
	}
	at = earliest(r, &l->task, id);
	if (at > r->times.now)
		l->cause = l->task.in->op == MR_OP_V ? MR_WAIT_OPTIMIZER : MR_WAIT_UPSTREAM;
	l->begin = fmax(r->times.now, at);
	l->end = r->clock->end(r->clock->arg, l->task.in, l->task.micro, id, l->begin);
	l->runs = true;
	return MR_OK;
}

/* --- carrying out --- */

static uint64_t to_ns(double seconds)
{
	return (uint64_t)llround(seconds * 1e9);
}

static mr_stamp stamp_of(const mr_replay_lane *l)
{
	mr_stamp s = {.begin_ns = to_ns(l->begin), .end_ns = to_ns(l->end)};
	double wait = round((l->begin - l->free_at) * 1e9);

	if (l->cause != MR_WAIT_NONE && wait > 0)
		s.wait_ns[l->cause] = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
	return s;
}

static void note_end(mr_replay *r, const mr_task *t, double end)
{
	mr_replay_times *x = &r->times;

	if (t->in->op == MR_OP_F)
		*sent_at(r, x->forward, t->in->stage, t->micro) = end;
	else if (t->in->op == MR_OP_B || t->in->op == MR_OP_I)
		*sent_at(r, x->back, t->in->stage, t->micro) = end;
	else if (t->in->op == MR_OP_N)
		x->norm[t->in->stage] = end;
}

static mr_status end_one(mr_replay *r, uint16_t id)
{
	mr_replay_lane *l = &r->times.at[id];
	mr_worker *w = &r->run->worker[id];
	mr_stamp stamp = stamp_of(l);
	mr_status st;

	if (r->begins)
		r->begins(r->begins_arg, &(mr_replay_turn){.worker = id, .stamp = stamp});
	r->run->stamp = &stamp;
	st = mr_exec_do(w, &l->task);
	r->run->stamp = NULL;
	MR_TRY(st);
	note_end(r, &l->task, l->end);
	if (races(r))
		mr_exec_race_done(w, &l->task);
	else
		mr_exec_advance(w, r->links);
	r->stands_ns = stamp.end_ns > r->stands_ns ? stamp.end_ns : r->stands_ns;
	l->free_at = l->end;
	l->cause = MR_WAIT_NONE;
	l->runs = false;
	return MR_OK;
}

/* --- the order --- */

/* The worker whose event is next, the lowest of equals; n_workers: there is none. */
static uint16_t next_event(const mr_replay *r)
{
	uint16_t best = r->run->n_workers;
	double soonest = INFINITY;

	for (uint16_t w = 0; w < r->run->n_workers; w++) {
		const mr_replay_lane *l = &r->times.at[w];
		double t = l->runs ? l->end : l->asleep ? l->free_at : INFINITY;

		if (t < soonest) {
			soonest = t;
			best = w;
		}
	}
	return best;
}

/* The first step at which racing workers can stop: all micro-batches of a count that one of them has begun. */
static uint64_t nearest_racing_pause(const mr_replay *r)
{
	uint64_t most = 0, need = r->run->c.plan->contract.need;

	for (uint16_t i = 0; i < r->run->n_workers; i++) {
		const mr_worker *w = &r->run->worker[i];
		uint64_t begun = mr_exec_race_begun(w);

		most = begun > most ? begun : most;
	}
	return (most + need - 1) / need;
}

static mr_status go(mr_replay *r)
{
	for (;;) {
		uint64_t pause;
		uint16_t id;

		for (uint16_t w = 0; w < r->run->n_workers; w++)
			if (!r->times.at[w].runs && !r->times.at[w].asleep)
				MR_TRY(try_to_begin(r, w));
		id = next_event(r);
		if (id == r->run->n_workers)
			return MR_OK;
		if (r->times.at[id].asleep) {
			r->times.now = r->times.at[id].free_at;
			r->times.at[id].asleep = false;
			continue;
		}
		r->times.now = r->times.at[id].end;
		MR_TRY(end_one(r, id));
		if (mr_replay_tell(r))
			continue;
		pause = races(r) ? nearest_racing_pause(r) : mr_replay_nearest_pause(r);
		r->until = pause < r->until ? pause : r->until;
	}
}

mr_status mr_replay_go_by_clock(mr_replay *r)
{
	MR_TRY(set_up(r));
	for (uint16_t w = 0; w < r->run->n_workers; w++)
		r->times.at[w].asleep = true;
	MR_TRY(go(r));
	for (uint16_t w = 0; races(r) && w < r->run->n_workers; w++)
		mr_exec_race_paused(&r->run->worker[w], r->links);
	if (!mr_replay_finished(r))
		return mr_fail(MR_ECONFIG, "the plan is stuck: no worker can go on");
	MR_TRY(mr_replay_settle(r));
	mr_replay_tell(r); /* the last step may become certain only now */
	return MR_OK;
}
