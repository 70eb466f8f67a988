/* lead_run.c - rank 0 while all train: it puts records together, and says how far all go. */
#include "ranks/ranks_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "exec/rank_losses.h"
#include "exec/run_plan.h"
#include "host/clock.h"
#include "ranks/rank_state.h"

/* A step whose losses come from several ranks. */
typedef struct whole_step {
	uint64_t n; /* losses that are there */
	mr_step_rec rec;
} whole_step;

/* What rank 0 knows while all run. */
typedef struct lead {
	mr_engine *e;
	uint32_t n;            /* steps that it keeps */
	whole_step *step;      /* [n] by step modulo */
	double *loss;          /* [n][need] */
	double *told;          /* [need] of a record that comes */
	uint64_t next;         /* the step that the caller gets next */
	uint64_t *stopped_at;  /* [ranks] the limit at which a rank has stopped */
	uint64_t *done, *longest; /* [ranks] as of its last note */
	mr_watchdog dog;
	mr_engine_progress *progress;
	void *arg;
	bool pause;
} lead;

static void empty_step(lead *l, uint64_t step)
{
	double *loss = l->loss + step % l->n * mr_ranks_need(l->e);

	l->step[step % l->n] = (whole_step){.rec = {.norm = NAN, .stage_norm = NAN}};
	for (uint32_t i = 0; i < mr_ranks_need(l->e); i++)
		loss[i] = mr_elsewhere();
}

static mr_status open_lead(lead *l, mr_engine *e, mr_engine_progress *progress, void *arg)
{
	uint32_t n = mr_ranks_of(e)->n;

	*l = (lead){.e = e, .n = e->run->rank_steps, .next = e->step + 1, .progress = progress, .arg = arg};
	l->step = calloc(l->n, sizeof(*l->step));
	l->loss = calloc(l->n * (size_t)mr_ranks_need(e), sizeof(*l->loss));
	l->told = calloc(mr_ranks_need(e), sizeof(*l->told));
	l->stopped_at = calloc(n, sizeof(*l->stopped_at));
	l->done = calloc(n, sizeof(*l->done));
	l->longest = calloc(n, sizeof(*l->longest));
	mr_watchdog_init(&l->dog, e->watchdog_s);
	if (!l->step || !l->loss || !l->told || !l->stopped_at || !l->done || !l->longest)
		return mr_fail(MR_ERESOURCE, "no memory for the records of %u ranks", n);
	for (uint64_t i = 0; i < l->n; i++)
		empty_step(l, i);
	return MR_OK;
}

static void close_lead(lead *l)
{
	free(l->step);
	free(l->loss);
	free(l->told);
	free(l->stopped_at);
	free(l->done);
	free(l->longest);
}

/* Losses of a step, [need] @from, come from a rank. */
static void add_losses(lead *l, const mr_step_rec *rec, const double *from)
{
	whole_step *x = &l->step[rec->step % l->n];
	uint32_t need = mr_ranks_need(l->e);

	double norm = isnan(rec->norm) ? x->rec.norm : rec->norm; /* one rank alone may have it */
	double stage_norm = isnan(rec->stage_norm) ? x->rec.stage_norm : rec->stage_norm;

	x->rec = *rec;
	x->rec.norm = norm;
	x->rec.stage_norm = stage_norm;
	x->n = mr_rank_losses_merge(l->loss + rec->step % l->n * need, from, need);
}

/* The caller gets all steps that are whole. */
static mr_status show_steps(lead *l)
{
	uint32_t need = mr_ranks_need(l->e);
	bool is_there;

	for (;;) {
		whole_step *x = &l->step[l->next % l->n];
		const double *loss = l->loss + l->next % l->n * need;
		double sum = 0;

		if (x->rec.step != l->next || x->n < need)
			return MR_OK;
		MR_TRY(mr_ranks_add_norm(l->e, &x->rec, &is_there));
		if (!is_there)
			return MR_OK;
		for (uint32_t i = 0; i < need; i++)
			sum += loss[i];
		x->rec.loss = sum / need;
		x->rec.time_ns = mr_clock_ns();
		if (l->progress && !l->progress(l->arg, &x->rec))
			l->pause = true;
		empty_step(l, l->next++);
	}
}

static void take_own_records(lead *l)
{
	mr_step_rec rec;

	while (mr_run_next_step(l->e->run, &rec))
		add_losses(l, &rec, mr_rank_losses_of(l->e->run, rec.step));
}

static mr_status take_record(lead *l, uint32_t rank, const mr_note *n)
{
	mr_step_rec rec = {.step = n->number[0], .lr = n->value[0], .norm = n->value[1], .stage_norm = n->value[2]};

	MR_TRY(mr_ranks_by(l->e)->receive(rank, l->told, mr_ranks_need(l->e) * sizeof(double)));
	add_losses(l, &rec, l->told);
	return MR_OK;
}

static mr_status take_note(lead *l, uint32_t rank, const mr_note *n)
{
	switch (n->kind) {
	case MR_RANK_RECORD:
		return take_record(l, rank, n);
	case MR_RANK_NORM:
		return mr_ranks_take_norm(l->e, rank, n);
	case MR_RANK_STOPPED:
		l->stopped_at[rank] = n->number[0];
		return MR_OK;
	case MR_RANK_BEAT:
		l->done[rank] = n->number[0];
		l->longest[rank] = n->number[1];
		return mr_ranks_move_work(l->e, rank);
	case MR_RANK_FAILED:
		return mr_ranks_take_failure(l->e, rank, n);
	default:
		return mr_fail(MR_EINVAL, "rank %u says %u while all train", rank, n->kind);
	}
}

static mr_status hear_all(lead *l)
{
	const mr_ranks *r = mr_ranks_of(l->e);
	mr_note n;

	for (uint32_t i = 1; i < r->n; i++)
		for (bool is_there = true; is_there;) {
			MR_TRY(mr_ranks_by(l->e)->hear(i, &n, &is_there));
			if (is_there)
				MR_TRY(take_note(l, i, &n));
		}
	return mr_ranks_check(r);
}

static mr_status look_at_work(lead *l)
{
	uint64_t done, longest;

	mr_ranks_count_work(l->e, &done, &longest);
	for (uint32_t i = 1; i < mr_ranks_of(l->e)->n; i++) {
		done += l->done[i];
		longest = l->longest[i] > longest ? l->longest[i] : longest;
	}
	if (!mr_stall_look(&l->dog.stall, done, longest))
		return MR_OK;
	return mr_watchdog_stalled(&l->dog, l->e->run);
}

/* How far all may go behind step @step: to the end of an iteration. */
static uint64_t limit_behind(const mr_engine *e, uint64_t step, uint64_t until)
{
	uint64_t ahead = e->obeys ? 1 + (uint64_t)mr_engine_lag(e) : MR_RANK_AHEAD;
	uint64_t each = mr_plan_stride(e->run->c.plan);
	uint64_t to = step + (ahead + each - 1) / each * each;

	to -= to % each;
	return to < until ? to : until;
}

/* How far all may go; it never falls. */
static mr_status raise_limit(lead *l, uint64_t until)
{
	mr_engine *e = l->e;
	uint64_t limit = atomic_load_explicit(&e->limit, memory_order_relaxed);
	uint64_t to = limit_behind(e, l->next - 1, until);

	if (l->pause || to <= limit)
		return MR_OK;
	atomic_store_explicit(&e->limit, to, memory_order_relaxed);
	return mr_ranks_say(e, MR_RANK_LIMIT, to, 0);
}

/* Have the workers of the other ranks stopped at the limit? */
static bool others_stand(const lead *l)
{
	uint64_t limit = atomic_load_explicit(&l->e->limit, memory_order_relaxed);

	for (uint32_t i = 1; i < mr_ranks_of(l->e)->n; i++)
		if (l->stopped_at[i] != limit)
			return false;
	return true;
}

/* Every rank answers a note of @kind, and what it told before is taken. */
static mr_status hear_answers(lead *l, uint32_t kind)
{
	const mr_ranks *r = mr_ranks_of(l->e);
	mr_note n = {0};

	for (uint32_t i = 1; i < r->n; i++)
		for (n.kind = MR_RANK_RUN; n.kind != kind;) {
			MR_TRY(mr_ranks_wait_for(r, i, &n));
			if (n.kind != kind)
				MR_TRY(take_note(l, i, &n));
		}
	return MR_OK;
}

/* All have stopped: steps become certain, with what is under way to them. */
static mr_status settle_all(lead *l)
{
	if (!(l->e->run->facts & MR_SETTLES))
		return MR_OK;
	MR_TRY(mr_ranks_say(l->e, MR_RANK_SETTLE, 0, 0));
	MR_TRY(mr_ranks_settle(l->e));
	return hear_answers(l, MR_RANK_SETTLE);
}

/* All stand at the limit; *@ends: for good. Where each step is asked for, its record may come only as they settle. */
static mr_status stand(lead *l, uint64_t until, bool *ends)
{
	*ends = atomic_load_explicit(&l->e->limit, memory_order_relaxed) >= until || l->pause;
	if (*ends || l->e->obeys)
		MR_TRY(settle_all(l));
	take_own_records(l);
	return show_steps(l);
}

static mr_status lead_on(lead *l, uint64_t until)
{
	uint64_t asked_ns = mr_clock_ns();
	mr_engine *e = l->e;
	bool ends = false;

	while (!ends) {
		bool stands = mr_ranks_wait(e);

		mr_fault_slow("ranks.lead");
		MR_TRY(hear_all(l));
		take_own_records(l);
		MR_TRY(show_steps(l));
		MR_TRY(mr_engine_result(e));
		if (mr_clock_ns() - asked_ns >= MR_ENGINE_POLL_NS) {
			asked_ns = mr_clock_ns();
			if (l->progress && !l->progress(l->arg, NULL))
				l->pause = true;
			MR_TRY(look_at_work(l));
			MR_TRY(mr_ranks_move_work(e, 0));
		}
		MR_TRY(raise_limit(l, until));
		if (stands && others_stand(l))
			MR_TRY(stand(l, until, &ends));
	}
	return MR_OK;
}

/* All have stopped: they become idle. */
static mr_status pause_all(lead *l, uint64_t *reached)
{
	mr_engine *e = l->e;

	*reached = mr_ranks_first_here(e)->train.step;
	MR_TRY(mr_ranks_say(e, MR_RANK_PAUSED, *reached, 0));
	MR_TRY(hear_answers(l, MR_RANK_PAUSED));
	MR_TRY(mr_ranks_pause_at(e, *reached));
	MR_TRY(mr_rank_state_share(e->run));
	e->run->link_bytes += mr_ranks_by(e)->sent() - e->sent_before;
	for (uint32_t i = 0; i < mr_ranks_of(e)->n; i++)
		MR_TRY(mr_ranks_move_counts(e, i));
	return MR_OK;
}

static mr_status lead_run(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	uint64_t limit = limit_behind(e, e->step, until);
	mr_status st;
	lead l;

	MR_TRY(mr_ranks_send_state(e));
	st = open_lead(&l, e, progress, arg);
	if (st == MR_OK)
		st = mr_ranks_say(e, MR_RANK_RUN, until, limit);
	if (st == MR_OK)
		st = mr_ranks_begin_run(e, limit);
	if (st == MR_OK)
		st = lead_on(&l, until);
	if (st == MR_OK)
		st = pause_all(&l, reached);
	close_lead(&l);
	return st;
}

mr_status mr_over_ranks_run(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	mr_status st;

	if (e->broken)
		return mr_fail(MR_EINVAL, "the engine has stopped after an error");
	if (until > mr_run_last_step(e->run->c.plan))
		return mr_fail(MR_ECONFIG, "the plan ends after %llu steps, and %llu were requested",
			       (unsigned long long)mr_run_last_step(e->run->c.plan), (unsigned long long)until);
	*reached = e->step;
	if (e->step >= until)
		return MR_OK;
	st = mr_ranks_fail_run(e, lead_run(e, until, progress, arg, reached));
	return st == MR_OK ? MR_OK : mr_ranks_end_workers(e);
}
