#include "replay/replay.h"

#include <stdlib.h>

#include "base/rng.h"
#include "exec/features/window_store.h"
#include "host/group.h"
#include "ir/endless.h"
#include "replay/replay_internal.h"

/* Carry out one instruction of worker @w, if it is ready. */
static bool step(mr_replay *r, uint16_t id, mr_status *st)
{
	mr_worker *w = &r->run->worker[id];
	mr_task t;

	if (!mr_exec_next(w, r->links, r->until, &t) || mr_exec_acquire(w, &t, st) != MR_WAIT_NONE || *st != MR_OK)
		return false;
	*st = mr_exec_do(w, &t);
	mr_exec_advance(w, r->links);
	return true;
}

static uint16_t first_to_try(mr_replay *r)
{
	switch (r->order) {
	case MR_REPLAY_ROUND_ROBIN:
		return (uint16_t)(r->turn++ % r->run->n_workers);
	case MR_REPLAY_LAST_FIRST:
		return (uint16_t)(r->run->n_workers - 1);
	default:
		return (uint16_t)(mr_rng_u32(r->seed, MR_RNG_TEST, 0, 0, r->n_drawn++) % r->run->n_workers);
	}
}

bool mr_replay_finished(const mr_replay *r)
{
	mr_task t;

	for (uint16_t w = 0; w < r->run->n_workers; w++)
		if (mr_exec_next(&r->run->worker[w], r->links, r->until, &t))
			return false;
	return true;
}

mr_status mr_replay_settle(mr_replay *r)
{
	for (uint16_t w = 0; w < r->run->n_workers; w++)
		MR_TRY(mr_exec_settle(&r->run->worker[w]));
	return MR_OK;
}

static mr_status go(mr_replay *r)
{
	while (!mr_replay_finished(r)) {
		uint16_t first = first_to_try(r), n = r->run->n_workers;
		mr_status st = MR_OK;
		bool moved = false;

		if (r->duty == EVALUATE && r->wanted && !r->wanted(r->wanted_arg))
			return mr_fail(MR_ESTOPPED, "the evaluation was stopped");
		/* downwards from the first choice, as MR_REPLAY_LAST_FIRST asks */
		for (uint16_t i = 0; i < n && !moved && st == MR_OK; i++)
			moved = step(r, (uint16_t)((first + n - i) % n), &st);
		MR_TRY(st);
		if (!moved && !mr_loader_pump(r->feeds))
			return mr_fail(MR_ECONFIG, "the plan is stuck: no worker can go on");
	}
	return mr_replay_settle(r);
}

/* --- in an order from outside --- */

static mr_status take_turn(mr_replay *r, const mr_replay_turn *turn)
{
	mr_worker *w = &r->run->worker[turn->worker];
	mr_wait_cause cause = MR_WAIT_NONE;
	mr_status st = MR_OK;
	mr_task t;

	if (!mr_exec_next(w, r->links, r->until, &t))
		return mr_fail(MR_EINVAL, "worker %u has a turn, but stands at step %llu already", w->id,
			       (unsigned long long)r->until);
	do
		cause = mr_exec_acquire(w, &t, &st);
	while (st == MR_OK && cause == MR_WAIT_DATA && mr_loader_pump(r->feeds));
	MR_TRY(st);
	if (cause != MR_WAIT_NONE)
		return mr_fail(MR_EINVAL, "worker %u has its turn for %s of micro-batch %llu too early", w->id,
			       mr_op_name((mr_op)t.in->op), (unsigned long long)t.micro);
	if (r->begins)
		r->begins(r->begins_arg, turn);
	r->run->stamp = &turn->stamp;
	st = mr_exec_do(w, &t);
	r->run->stamp = NULL;
	mr_exec_advance(w, r->links);
	r->stands_ns = turn->stamp.end_ns > r->stands_ns ? turn->stamp.end_ns : r->stands_ns;
	return st;
}

bool mr_replay_tell(mr_replay *r)
{
	mr_step_rec rec;
	bool more = true;

	while (mr_run_next_step(r->run, &rec))
		if (r->progress && !r->progress(r->progress_arg, &rec))
			more = false;
	return more;
}

uint64_t mr_replay_nearest_pause(const mr_replay *r)
{
	uint64_t most = 0;

	for (uint16_t i = 0; i < r->run->n_workers; i++) {
		const mr_worker *w = &r->run->worker[i];
		const mr_cursor *c = &w->train;
		uint32_t from = c->section == MR_PROLOGUE && c->step ? w->pause_at[c->step - 1] : 0;
		const mr_plan *window = w->window ? w->window->plan : NULL;
		bool begun = window ? c->at && !mr_window_pauses(&mr_plan_list(window, w->id, MR_BODY)->at[c->at - 1])
				    : c->at > from;
		uint64_t n = c->step + begun;

		most = n > most ? n : most;
	}
	return most;
}

static mr_status follow(mr_replay *r)
{
	for (;;) {
		mr_replay_turn turn;
		bool more;

		MR_TRY(r->source(r->source_arg, r->until, &turn, &more));
		if (!more)
			break;
		MR_TRY(take_turn(r, &turn));
		if (!mr_replay_tell(r) && mr_replay_nearest_pause(r) < r->until)
			r->until = mr_replay_nearest_pause(r);
	}
	if (mr_replay_finished(r)) {
		MR_TRY(mr_replay_settle(r));
		mr_replay_tell(r); /* the last step may become certain only now */
		return MR_OK;
	}
	return mr_fail(MR_EINVAL, "the order ends before step %llu", (unsigned long long)r->until);
}

/* --- the validation data --- */

static mr_status evaluate(mr_replay *r)
{
	mr_status st;

	r->links = &r->run->eval;
	r->feeds = r->eval_loader;
	st = go(r);
	for (uint16_t w = 0; st == MR_ESTOPPED && w < r->run->n_workers; w++)
		mr_exec_drop(&r->run->worker[w]);
	r->links = &r->run->train;
	r->feeds = r->loader;
	return st;
}

/* A sample that could not be read is zeros; the loader has failed the run, and the steps since then do not count. */
static mr_status check_data(const mr_replay *r, mr_status st)
{
	return st == MR_OK ? mr_dataset_check(r->run->c.data) : st;
}

static mr_status set_up(mr_replay *r)
{
	for (uint16_t w = 0; w < r->run->n_workers; w++)
		MR_TRY(mr_run_setup_worker(r->run, w));
	for (uint16_t w = 0; w < r->run->n_workers; w++)
		MR_TRY(mr_run_warm_up(r->run, w));
	MR_TRY(mr_run_reset(r->run));
	MR_TRY(mr_run_stand_at(r->run, 0));
	mr_loader_seek(r->loader, 0, UINT64_MAX);
	return MR_OK;
}

/* --- the thread set up like a leader; errors travel back in text --- */

static void carry(mr_replay *r, mr_status st)
{
	r->status = st;
	for (size_t i = 0; st != MR_OK && i < sizeof(r->text) - 1 && (r->text[i] = mr_error_text()[i]); i++)
		r->text[i + 1] = 0;
}

static void run_thread(void *arg)
{
	mr_replay *r = arg;

	switch (r->duty) {
	case SET_UP:
		carry(r, set_up(r));
		break;
	case ORDERED:
		carry(r, check_data(r, go(r)));
		break;
	case FOLLOW:
		carry(r, check_data(r, follow(r)));
		break;
	case TIMED:
		carry(r, check_data(r, mr_replay_go_by_clock(r)));
		break;
	case EVALUATE:
		carry(r, check_data(r, evaluate(r)));
		break;
	}
}

static void end_thread(void *arg)
{
	mr_replay *r = arg;

	for (uint16_t w = 0; w < r->run->n_workers; w++)
		mr_run_finish_worker(r->run, w);
}

static mr_status on_leader(mr_replay *r, void (*fn)(void *))
{
	mr_group *g;

	r->status = MR_OK;
	MR_TRY(mr_group_start(&r->run->c.place->worker[0], "mr-replay", fn, r, &g));
	mr_group_join(g);
	return r->status == MR_OK ? MR_OK : mr_fail(r->status, "%s", r->text);
}

static mr_status run_duty(mr_replay *r, duty what)
{
	r->duty = what;
	MR_TRY(on_leader(r, run_thread));
	/* the lists end at a window that could not be made */
	return r->run->error == MR_OK ? MR_OK : mr_fail(r->run->error, "%s", r->run->error_text);
}

mr_status mr_replay_create(const mr_run_config *c, mr_replay **out)
{
	mr_replay *r = calloc(1, sizeof(*r));
	mr_status st;

	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory for a replay");
	st = mr_run_create(c, &r->run);
	if (st == MR_OK)
		st = mr_loader_create(r->run, &r->run->train, &r->loader);
	if (st == MR_OK)
		st = mr_loader_create(r->run, &r->run->eval, &r->eval_loader);
	if (st == MR_OK) {
		r->links = &r->run->train;
		r->feeds = r->loader;
		st = run_duty(r, SET_UP);
	}
	if (st != MR_OK) {
		mr_replay_destroy(r);
		return st;
	}
	*out = r;
	return MR_OK;
}

void mr_replay_destroy(mr_replay *r)
{
	if (!r)
		return;
	if (r->run && on_leader(r, end_thread) != MR_OK)
		r->status = MR_OK; /* the context leaks its primitives; nothing can be done about it */
	mr_loader_destroy(r->loader);
	mr_loader_destroy(r->eval_loader);
	mr_run_destroy(r->run);
	mr_replay_times_fini(&r->times);
	free(r);
}

mr_status mr_replay_run(mr_replay *r, uint64_t until, mr_replay_order order, uint64_t seed)
{
	r->until = until;
	r->order = order;
	r->seed = seed;
	r->n_drawn = 0;
	r->progress = NULL;
	MR_TRY(run_duty(r, ORDERED));
	mr_replay_tell(r); /* there is no callback, but records get the latest norms */
	return MR_OK;
}

static mr_status advance(mr_replay *r, duty what, uint64_t until, mr_engine_progress *progress, void *arg,
			 uint64_t *reached)
{
	mr_status st;

	r->until = until;
	r->progress = progress;
	r->progress_arg = arg;
	st = run_duty(r, what);
	*reached = r->run->worker[0].train.step;
	return st;
}

mr_status mr_replay_follow(mr_replay *r, uint64_t until, mr_replay_source *source, void *source_arg,
			   mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	r->source = source;
	r->source_arg = source_arg;
	return advance(r, FOLLOW, until, progress, arg, reached);
}

mr_status mr_replay_by_clock(mr_replay *r, uint64_t until, const mr_replay_clock *clock, mr_engine_progress *progress,
			     void *arg, uint64_t *reached)
{
	r->clock = clock;
	return advance(r, TIMED, until, progress, arg, reached);
}

uint64_t mr_replay_stands_ns(const mr_replay *r)
{
	return r->stands_ns;
}

mr_status mr_replay_eval(mr_replay *r, mr_eval_wanted *wanted, void *arg, double *loss)
{
	mr_run *run = r->run;

	r->wanted = wanted;
	r->wanted_arg = arg;
	MR_TRY(mr_run_begin_eval(run, &r->until));
	mr_loader_seek(r->eval_loader, 0, run->n_eval);
	r->order = MR_REPLAY_ROUND_ROBIN;
	MR_TRY(run_duty(r, EVALUATE));
	*loss = mr_run_eval_loss(run);
	return MR_OK;
}

mr_run *mr_replay_run_of(mr_replay *r)
{
	return r->run;
}
