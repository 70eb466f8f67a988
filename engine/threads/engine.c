#include "threads/engine_workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/zeroed.h"
#include "host/backtrace.h"
#include "host/clock.h"
#include "host/futex.h"
#include "host/group.h"
#include "exec/exec.h"
#include "exec/run_plan.h"
#include "exec/shares.h"
#include "threads/watchdog.h"

/* --- a worker's thread --- */

/* Delay during a pause or an evaluation does not count. */
static mr_status run_links(mr_engine *e, mr_worker *w, mr_links *links)
{
	uint64_t before = w->stats.lost_before_ns;
	mr_status st;

	mr_team_delay_look(&w->delay, mr_clock_ns());
	st = mr_exec_run(w, links, &e->limit);
	if (!links->train)
		w->stats.lost_before_ns = before;
	return st;
}

static mr_status obey(mr_engine *e, mr_worker *w, mr_engine_command cmd)
{
	switch (cmd) {
	case MR_ENGINE_SETUP:
		return mr_run_setup_worker(w->run, w->id);
	case MR_ENGINE_WARM_UP:
		return mr_run_warm_up(w->run, w->id);
	case MR_ENGINE_TRAIN:
		return run_links(e, w, &w->run->train);
	case MR_ENGINE_SETTLE:
		return mr_exec_settle(w);
	case MR_ENGINE_EVAL:
		return run_links(e, w, &w->run->eval);
	default:
		mr_run_finish_worker(w->run, w->id);
		return MR_OK;
	}
}

static void leader(void *arg)
{
	mr_engine_mailbox *b = arg;
	mr_engine *e = b->e;
	mr_worker *w = b->worker;
	uint32_t n_threads = w->run->c.place->worker[w->id].n_threads;
	mr_engine_command cmd;

	mr_team_delay_open(&w->delay, n_threads);
	if (w->counted)
		mr_counted_open(w->counted, n_threads);
	do {
		mr_status st;

		pthread_mutex_lock(&e->lock);
		while (b->n_given == b->n_done)
			pthread_cond_wait(&b->given, &e->lock);
		cmd = b->cmd;
		pthread_mutex_unlock(&e->lock);
		st = obey(e, w, cmd);
		if (st != MR_OK)
			mr_run_fail(w->run, st);
		pthread_mutex_lock(&e->lock);
		b->n_done++;
		pthread_cond_signal(&e->done);
		pthread_mutex_unlock(&e->lock);
		mr_parker_wake(&e->run->listener);
	} while (cmd != MR_ENGINE_QUIT);
	if (w->counted)
		mr_counted_close(w->counted);
	mr_team_delay_close(&w->delay);
}

/* --- the caller's side --- */

bool mr_engine_is_here(const mr_engine *e, uint32_t id)
{
	const mr_worker *w = e->box[id].worker;

	return mr_run_is_here(&w->run->c, w->id);
}

void mr_engine_give(mr_engine *e, uint32_t id, mr_engine_command cmd)
{
	pthread_mutex_lock(&e->lock);
	e->box[id].cmd = cmd;
	e->box[id].n_given++;
	pthread_cond_signal(&e->box[id].given);
	pthread_mutex_unlock(&e->lock);
}

void mr_engine_give_all(mr_engine *e, mr_engine_command cmd)
{
	for (uint32_t w = 0; w < e->n_boxes; w++)
		if (mr_engine_is_here(e, w))
			mr_engine_give(e, w, cmd);
}

static bool all_done_locked(const mr_engine *e)
{
	for (uint32_t w = 0; w < e->n_boxes; w++)
		if (e->box[w].n_given != e->box[w].n_done)
			return false;
	return true;
}

bool mr_engine_wait_done(mr_engine *e, uint64_t ns)
{
	struct timespec t;
	bool all;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&e->lock);
	while (!(all = all_done_locked(e)) && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&e->done, &e->lock, &t);
	pthread_mutex_unlock(&e->lock);
	return all;
}

static bool is_done(mr_engine *e, uint32_t id)
{
	bool done;

	pthread_mutex_lock(&e->lock);
	done = e->box[id].n_given == e->box[id].n_done;
	pthread_mutex_unlock(&e->lock);
	return done;
}

mr_status mr_engine_result(mr_engine *e)
{
	mr_run *run = e->run;
	mr_status st;

	pthread_mutex_lock(&run->error_lock);
	st = run->error;
	pthread_mutex_unlock(&run->error_lock);
	if (st == MR_OK)
		return MR_OK;
	e->broken = true;
	return mr_fail(st, "%s", run->error_text);
}

/* If nothing has progressed for too long, make that the run's error; some thread may then never return. */
static bool is_stalled(mr_engine *e, mr_watchdog *dog)
{
	if (mr_watchdog_look(dog, e->run) == MR_OK)
		return false;
	e->stalled = e->broken = true;
	mr_run_fail(e->run, MR_ESTALLED);
	mr_watchdog_show(dog->stands);
	return true;
}

/* Give a command to all workers at once; @dog, if given, watches them. */
static mr_status order_all(mr_engine *e, mr_engine_command cmd, mr_watchdog *dog)
{
	mr_engine_give_all(e, cmd);
	while (!mr_engine_wait_done(e, MR_ENGINE_POLL_NS))
		if (dog && is_stalled(e, dog))
			break;
	return mr_engine_result(e);
}

static mr_status order_one_by_one(mr_engine *e, mr_engine_command cmd)
{
	for (uint32_t w = 0; w < e->n_boxes; w++) {
		if (mr_engine_is_here(e, w))
			mr_engine_give(e, w, cmd);
		while (!mr_engine_wait_done(e, MR_ENGINE_POLL_NS))
			;
	}
	return mr_engine_result(e);
}

/* Pause points of training that worker @id has passed. */
static uint64_t begun(const mr_engine *e, uint32_t id)
{
	return atomic_load_explicit(&e->box[id].worker->begun, memory_order_relaxed);
}

static uint64_t furthest(mr_engine *e)
{
	uint64_t max = 0;

	for (uint32_t w = 0; w < e->n_boxes; w++) {
		uint64_t n = begun(e, w);

		max = n > max ? n : max;
	}
	return max;
}

/*
 * See "Where to pause". Let workers continue that stopped before the furthest one could. No worker begins an iteration
 * at or beyond @until, so one seen there that has not reported yet is about to stop; it does not raise the limit.
 */
static bool settle(mr_engine *e, uint64_t until, bool all_done)
{
	uint64_t limit = atomic_load_explicit(&e->limit, memory_order_relaxed), need = 0;
	bool lag = false;

	for (uint32_t w = 0; w < e->n_boxes; w++) {
		uint64_t n = begun(e, w);

		n += is_done(e, w) ? 0 : 1; /* a running one must be let through its iteration */
		need = n > need ? n : need;
	}
	need = need < until ? need : until;
	if (need > limit)
		atomic_store_explicit(&e->limit, limit = need, memory_order_release);
	for (uint32_t w = 0; w < e->n_boxes; w++)
		if (is_done(e, w) && begun(e, w) < limit) {
			mr_engine_give(e, w, MR_ENGINE_TRAIN);
			lag = true;
		}
	return all_done && !lag;
}

/* Hand new step records to the caller; false: the caller requests a pause. */
static bool drain(mr_engine *e, mr_engine_progress *progress, void *arg)
{
	mr_step_rec rec;
	bool more = true;

	while (mr_run_next_step(e->run, &rec))
		if (progress && !progress(arg, &rec))
			more = false;
	return more;
}

static bool must_settle(const mr_engine *e)
{
	return e->run->facts & MR_SETTLES && !e->stalled && !mr_stop_raised(&e->run->stop);
}

/* All workers from e->step to @until, at most MR_STEP_RING further; mr_engine_snapshot may raise it. */
static mr_status stride(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg, bool *pause)
{
	mr_watchdog dog;
	bool done = false;

	mr_watchdog_init(&dog, e->watchdog_s);
	e->until = until;
	e->pausing = false;
	atomic_store_explicit(&e->limit, until, memory_order_relaxed);
	mr_engine_give_all(e, MR_ENGINE_TRAIN);
	while (!done) {
		bool all = mr_engine_wait_done(e, MR_ENGINE_POLL_NS);
		bool more = drain(e, progress, arg);

		more = (!progress || progress(arg, NULL)) && more;
		if (mr_stop_raised(&e->run->stop)) {
			done = all;
		} else {
			if (!more && !*pause) {
				uint64_t at = furthest(e) + PAUSE_AHEAD;

				*pause = e->pausing = true;
				if (at < e->until)
					atomic_store_explicit(&e->limit, at, memory_order_release);
			}
			done = settle(e, e->until, all);
		}
		if (!done && is_stalled(e, &dog))
			break;
	}
	if (must_settle(e))
		MR_TRY(order_all(e, MR_ENGINE_SETTLE, &dog));
	drain(e, progress, arg);
	e->until = 0;
	MR_TRY(mr_engine_result(e));
	e->step = e->run->worker[0].train.step;
	return MR_OK;
}

bool mr_engine_may_pass(const mr_engine *e, uint64_t step)
{
	return !e->pausing && e->until == step && step < e->step + MR_STEP_RING;
}

void mr_engine_snapshot(mr_engine *e, uint64_t step, uint64_t until, mr_snapshot_copy *copy, void *arg)
{
	uint64_t most = e->step + MR_STEP_RING;

	mr_snapshot_arm(e->run, step, copy, arg);
	e->until = until < most ? until : most;
	atomic_store_explicit(&e->limit, e->until, memory_order_release);
}

/* --- steps of which the caller is asked one by one --- */

/* Wait at most MR_ENGINE_POLL_NS for a step's record, or for all workers to finish their command; true: they have.
 * A record that * is published, or a command that is done, after the look here finds this thread asleep and wakes
 * it (host/pause.h). */
static bool wait_step(mr_engine *e, uint64_t n_seen)
{
	mr_run *run = e->run;
	bool all;

	atomic_store_explicit(&run->listener.asleep, 1, memory_order_seq_cst);
	pthread_mutex_lock(&e->lock);
	all = all_done_locked(e);
	pthread_mutex_unlock(&e->lock);
	if (!all && atomic_load_explicit(&run->n_steps, memory_order_seq_cst) == n_seen)
		mr_futex_wait_for(&run->listener.asleep, 1, MR_ENGINE_POLL_NS);
	atomic_store_explicit(&run->listener.asleep, 0, memory_order_relaxed);
	pthread_mutex_lock(&e->lock);
	all = all_done_locked(e);
	pthread_mutex_unlock(&e->lock);
	return all;
}

/* Ask the caller about each step whose record is there, and let the workers go as far as it agrees, at most to @until;
 * *@pause is set if it does not. *@reported: the last step that it was asked about. */
static void agree(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg, bool *pause,
		  uint64_t *reported)
{
	uint64_t limit = atomic_load_explicit(&e->limit, memory_order_relaxed);
	mr_step_rec rec;

	while (mr_run_next_step(e->run, &rec)) {
		*pause = !progress(arg, &rec) || *pause;
		*reported = rec.step;
		if (!*pause)
			limit = rec.step + 1 + mr_engine_lag(e);
	}
	atomic_store_explicit(&e->limit, limit < until ? limit : until, memory_order_relaxed);
}

bool mr_engine_go_on(mr_engine *e)
{
	uint64_t limit = atomic_load_explicit(&e->limit, memory_order_relaxed);
	bool any = false;

	for (uint32_t w = 0; w < e->n_boxes; w++)
		if (mr_engine_is_here(e, w) && is_done(e, w) && begun(e, w) < limit) {
			mr_engine_give(e, w, MR_ENGINE_TRAIN);
			any = true;
		}
	return any;
}

/*
 * All workers from e->step to @until, asking about each step. All of them stop at the limit and nowhere else: it only
 * rises, when the caller has agreed to a step. Where the norm of a step, and with it its record, is known after the
 * workers have stopped alone, they settle first.
 */
static mr_status obey_each(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg, bool *pause)
{
	uint64_t reported = e->step, first = e->step + 1 + mr_engine_lag(e);
	uint64_t n_seen = atomic_load_explicit(&e->run->n_steps, memory_order_relaxed), asked_ns = mr_clock_ns();
	mr_watchdog dog;

	mr_watchdog_init(&dog, e->watchdog_s);
	atomic_store_explicit(&e->limit, first < until ? first : until, memory_order_relaxed);
	mr_engine_give_all(e, MR_ENGINE_TRAIN);
	for (;;) {
		uint64_t before = reported;
		bool all = wait_step(e, n_seen);

		n_seen = atomic_load_explicit(&e->run->n_steps, memory_order_relaxed);
		agree(e, until, progress, arg, pause, &reported);
		if (mr_clock_ns() - asked_ns >= MR_ENGINE_POLL_NS) {
			asked_ns = mr_clock_ns();
			*pause = !progress(arg, NULL) || *pause;
		}
		if (mr_stop_raised(&e->run->stop)) {
			if (all)
				break;
		} else if (!mr_engine_go_on(e) && all && reported == before) {
			if (must_settle(e))
				MR_TRY(order_all(e, MR_ENGINE_SETTLE, &dog));
			agree(e, until, progress, arg, pause, &reported);
			if (!mr_engine_go_on(e))
				break;
		}
		if (is_stalled(e, &dog))
			break;
	}
	MR_TRY(mr_engine_result(e));
	e->step = e->run->worker[0].train.step;
	return MR_OK;
}

void mr_engine_obey(mr_engine *e, bool at_once)
{
	e->obeys = at_once;
}

uint32_t mr_engine_lag(const mr_engine *e)
{
	const mr_plan *p = e->run->c.plan;

	return p->contract.flush == MR_FLUSH_NONE && mr_plan_stride(p) == 1 ? MR_ENGINE_LAG : 0;
}

void mr_engine_spread(mr_engine *e)
{
	for (uint32_t q = 0; e->restored && q < e->n_runs; q++)
		mr_run_spread(e->runs[q]);
	e->restored = false;
}

mr_status mr_engine_run(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	uint64_t each = mr_plan_stride(e->run->c.plan);
	bool pause = false;

	if (e->broken)
		return mr_fail(MR_EINVAL, "the engine has stopped after an error");
	if (until > mr_run_last_step(e->run->c.plan))
		return mr_fail(MR_ECONFIG, "the plan ends after %llu steps, and %llu were requested",
			       (unsigned long long)mr_run_last_step(e->run->c.plan), (unsigned long long)until);
	mr_engine_spread(e);
	for (uint32_t q = 0; !e->started && e->step < until && q < e->n_runs; q++)
		MR_TRY(mr_loader_start(e->loader[q]));
	e->started |= e->step < until;
	if (e->step < until && e->obeys && progress)
		MR_TRY(obey_each(e, until, progress, arg, &pause));
	while (e->step < until && !pause) {
		uint64_t most = MR_STEP_RING / each * each;
		uint64_t end = until - e->step > most ? e->step + most : until;

		MR_TRY(stride(e, end, progress, arg, &pause));
	}
	*reached = e->step;
	return MR_OK;
}

static void raise_stops(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++)
		if (e->runs[q])
			mr_stop_raise(&e->runs[q]->stop);
}

static void clear_stops(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++)
		mr_stop_clear(&e->runs[q]->stop);
	if (e->shares && !e->run->c.ranks) /* these begin anew with each command, as one may miss that it is cut */
		mr_shares_reset(e->shares);
}

void mr_engine_stop_loader(mr_engine *e)
{
	raise_stops(e);
	for (uint32_t q = 0; q < e->n_runs; q++) {
		mr_loader_join(e->loader[q]);
		mr_loader_join(e->eval_loader[q]);
	}
	e->started = false;
}

/* Run the evaluation on all workers; *@cut: it was cancelled, and each worker has stopped after its instruction or
 * during its wait. */
static mr_status forward_all(mr_engine *e, mr_eval_wanted *wanted, void *arg, bool *cut)
{
	mr_watchdog dog;

	*cut = false;
	mr_watchdog_init(&dog, e->watchdog_s);
	mr_engine_give_all(e, MR_ENGINE_EVAL);
	while (!mr_engine_wait_done(e, MR_ENGINE_POLL_NS)) {
		if (is_stalled(e, &dog))
			break;
		if (*cut || !wanted || wanted(arg))
			continue;
		*cut = true;
		atomic_store_explicit(&e->limit, 0, memory_order_relaxed);
		raise_stops(e);
	}
	return mr_engine_result(e);
}

void mr_engine_drop_eval(mr_engine *e)
{
	mr_engine_stop_loader(e);
	for (uint32_t w = 0; w < e->n_boxes; w++)
		mr_exec_drop(e->box[w].worker);
	clear_stops(e);
}

mr_status mr_engine_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, double *loss)
{
	uint64_t until;
	mr_status st;
	bool cut;

	if (e->broken)
		return mr_fail(MR_EINVAL, "the engine has stopped after an error");
	if (wanted && !wanted(arg)) /* a short one would be over before it is called again */
		return mr_fail(MR_ESTOPPED, "the evaluation was stopped");
	mr_engine_spread(e);
	for (uint32_t q = 0; q < e->n_runs; q++) {
		MR_TRY(mr_run_begin_eval(e->runs[q], &until));
		mr_loader_seek(e->eval_loader[q], 0, e->run->n_eval);
		MR_TRY(mr_loader_start(e->eval_loader[q]));
	}
	atomic_store_explicit(&e->limit, until, memory_order_relaxed);
	st = forward_all(e, wanted, arg, &cut);
	for (uint32_t q = 0; q < e->n_runs; q++)
		mr_loader_join(e->eval_loader[q]);
	MR_TRY(st);
	if (cut) {
		mr_engine_drop_eval(e);
		return mr_fail(MR_ESTOPPED, "the evaluation was stopped");
	}
	*loss = mr_run_eval_loss(e->run);
	return MR_OK;
}

/* Threads of run @q, which is there. */
static mr_status start_workers(mr_engine *e, uint32_t q)
{
	mr_run *run = e->runs[q];

	for (uint16_t w = 0; w < run->n_workers; w++) {
		mr_engine_mailbox *box = &e->box[q * run->n_workers + w];
		char name[16];

		snprintf(name, sizeof(name), q ? "mr-w%u.%u" : "mr-w%u", w, q);
		if (!mr_run_is_here(&run->c, w))
			continue;
		MR_TRY(mr_group_start(&run->c.place->worker[w], name, leader, box, &box->group));
		mr_group_warn(box->group);
	}
	return MR_OK;
}

static mr_status start_all(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++)
		MR_TRY(start_workers(e, q));
	MR_TRY(order_all(e, MR_ENGINE_SETUP, NULL));
	if (e->shares)
		e->shares->apart = true;
	MR_TRY(order_one_by_one(e, MR_ENGINE_WARM_UP));
	if (e->shares)
		e->shares->apart = false;
	return mr_engine_resume_at(e, 0);
}

/* Run @q, with its loaders. */
static mr_status create_run(mr_engine *e, const mr_run_config *c, uint32_t q)
{
	mr_run_config own = *c;

	own.shares = e->shares;
	own.share = q;
	if (e->shares && c->links)
		own.links = e->shares->links[q].kinds;
	MR_TRY(mr_run_create(&own, &e->runs[q]));
	if (e->shares)
		e->shares->run[q] = e->runs[q];
	MR_TRY(mr_loader_create(e->runs[q], &e->runs[q]->train, &e->loader[q]));
	MR_TRY(mr_loader_create(e->runs[q], &e->runs[q]->eval, &e->eval_loader[q]));
	for (uint16_t w = 0; w < c->plan->n_workers; w++) {
		mr_engine_mailbox *b = &e->box[q * c->plan->n_workers + w];

		*b = (mr_engine_mailbox){.e = e, .worker = &e->runs[q]->worker[w]};
		pthread_cond_init(&b->given, NULL);
	}
	return MR_OK;
}

static mr_status build(mr_engine *e, const mr_run_config *c, uint32_t n)
{
	e->runs = calloc(n, sizeof(mr_run *));
	e->loader = calloc(n, sizeof(mr_loader *));
	e->eval_loader = calloc(n, sizeof(mr_loader *));
	e->n_boxes = n * c->plan->n_workers;
	e->box = calloc(e->n_boxes, sizeof(*e->box));
	if (!e->runs || !e->loader || !e->eval_loader || !e->box)
		return mr_fail(MR_ERESOURCE, "no memory for the engine");
	e->n_runs = n;
	if (n > 1)
		MR_TRY(mr_shares_create(n, c, &e->shares));
	for (uint32_t q = 0; q < n; q++)
		MR_TRY(create_run(e, &c[q], q));
	e->run = e->runs[0];
	if (e->shares)
		MR_TRY(mr_shares_open(e->shares));
	return start_all(e);
}

mr_status mr_engine_create_shares(const mr_run_config *c, uint32_t n, double watchdog_s, mr_engine **out)
{
	mr_engine *e = mr_zeroed(sizeof(*e));
	pthread_condattr_t attr;
	mr_status st;

	if (!e)
		return mr_fail(MR_ERESOURCE, "no memory for the engine");
	e->watchdog_s = watchdog_s;
	mr_backtrace_arm();
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->done, &attr);
	pthread_condattr_destroy(&attr);
	st = build(e, c, n);
	if (st != MR_OK) {
		mr_engine_destroy(e);
		return st;
	}
	*out = e;
	return MR_OK;
}

mr_status mr_engine_create(const mr_run_config *c, double watchdog_s, mr_engine **out)
{
	return mr_engine_create_shares(c, 1, watchdog_s, out);
}

void mr_engine_destroy(mr_engine *e)
{
	if (!e || e->stalled) /* a hanging thread still uses the memory; the process is about to end */
		return;
	if (e->n_runs)
		mr_engine_stop_loader(e);
	for (uint32_t w = 0; w < e->n_boxes && e->box; w++)
		if (e->box[w].group) {
			mr_engine_give(e, w, MR_ENGINE_QUIT);
			mr_group_join(e->box[w].group);
		}
	for (uint32_t w = 0; w < e->n_boxes && e->box; w++)
		if (e->box[w].e)
			pthread_cond_destroy(&e->box[w].given);
	if (e->shares)
		mr_shares_close(e->shares);
	for (uint32_t q = 0; q < e->n_runs; q++) {
		mr_loader_destroy(e->loader[q]);
		mr_loader_destroy(e->eval_loader[q]);
		mr_run_destroy(e->runs[q]);
	}
	mr_shares_destroy(e->shares);
	free(e->runs);
	free(e->loader);
	free(e->eval_loader);
	free(e->box);
	pthread_cond_destroy(&e->done);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

mr_run *mr_engine_run_of(mr_engine *e)
{
	return e->run;
}

mr_status mr_engine_resume_at(mr_engine *e, uint64_t step)
{
	if (e->started)
		mr_engine_stop_loader(e);
	for (uint32_t q = 0; q < e->n_runs; q++) {
		mr_run *run = e->runs[q];

		for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
			run->weights[i].latest = mr_run_version_at(run, (uint16_t)(i % run->n_stages), step);
		MR_TRY(mr_run_reset(run));
		run->start_ns = e->run->start_ns; /* all shares have one time axis */
		MR_TRY(mr_run_stand_at(run, step));
		mr_loader_seek(e->loader[q], step, UINT64_MAX);
	}
	if (e->shares)
		mr_shares_reset(e->shares);
	e->step = step;
	e->restored = step > 0;
	return MR_OK;
}

mr_status mr_engine_restart(mr_engine *e)
{
	if (e->started)
		mr_engine_stop_loader(e);
	clear_stops(e);
	MR_TRY(order_all(e, MR_ENGINE_SETUP, NULL));
	return mr_engine_resume_at(e, 0);
}
