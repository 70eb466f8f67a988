/* train_save.c - the saves of a training: while its workers pause, and while they go on (exec/snapshot.h). */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "host/service.h"
#include "training/train.h"

/* Steps until a loss depends on the weights that were just made: until every stage has read them. */
static uint64_t steps_to_tell(const mr_train *t)
{
	return 1 + t->s.plan->contract.max_staleness;
}

static mr_checkpoints_case case_of(const mr_train *t, bool can_wait)
{
	return (mr_checkpoints_case){
		.step = t->step,
		.loss = t->last.step ? t->last.loss : (double)NAN,
		.val_loss = t->val_step == t->step ? t->evaluation.val_loss
						   : (double)NAN, /* only that loss is of these weights */
		.best_loss = t->best,
		.can_wait = can_wait,
	};
}

static void note_saved(mr_train *t, const mr_checkpoints_case *c)
{
	t->saved = c->step;
	/* not before it is saved: a failed save must not keep a later one from being marked */
	if (mr_checkpoints_is_best(c))
		t->best = c->val_loss;
}

mr_status mr_train_finish_save(mr_train *t)
{
	uint64_t begin = mr_train_now_ns(t);
	bool written;
	mr_status st = mr_checkpoint_writer_wait(t->writer, &written);

	if (written)
		note_saved(t, &t->writing);
	if (t->skips && st != MR_ESTALLED)
		mr_log(MR_LOG_WARN, "checkpoint", "the write of step %llu has returned: steps are saved again",
		       (unsigned long long)t->writing.step);
	t->skips = st == MR_ESTALLED;
	t->save_ns += mr_train_now_ns(t) - begin;
	return st;
}

mr_status mr_train_save_now(mr_train *t, bool can_wait, bool behind)
{
	mr_checkpoints_case c;
	uint64_t begin;
	bool saved;
	mr_status st;

	if (t->opts.no_folder)
		return MR_OK;
	if (t->opts.owns_process)
		mr_service_alive();
	mr_train_tell_status(t, "saves", NULL);
	st = mr_train_finish_save(t);
	if (st == MR_ESTALLED && behind && t->goes_on) { /* skipped (checkpoint.hung) */
		t->save_again = 0;
		return MR_OK;
	}
	MR_TRY(st);
	c = case_of(t, can_wait);
	begin = mr_train_now_ns(t);
	MR_TRY(mr_metrics_log_flush(t->metrics));
	if (!behind || !t->writer) /* which does this first */
		MR_TRY(mr_metrics_log_sync(t->metrics));
	MR_TRY(mr_checkpoints_put(&t->s, t->dir.checkpoints, behind ? t->writer : NULL, &c, &t->guard, &saved));
	t->save_ns += mr_train_now_ns(t) - begin;
	t->save_again = saved ? 0 : t->step + steps_to_tell(t);
	t->writing = c;
	if (saved && !mr_checkpoint_writer_busy(t->writer))
		note_saved(t, &c);
	return MR_OK;
}

static uint64_t multiple_after(uint64_t step, uint64_t every)
{
	return every ? (step / every + 1) * every : UINT64_MAX;
}

uint64_t mr_train_next_stop(const mr_train *t, uint64_t step)
{
	uint64_t next = t->target, e = multiple_after(step, t->eval_every),
		 s = multiple_after(step, t->save_every);

	next = step < t->n_steps && t->n_steps < next ? t->n_steps : next;
	next = e < next ? e : next;
	next = s < next ? s : next;
	if (t->save_again && t->save_again < next)
		next = t->save_again;
	if (t->traced && t->trace_last > step && t->trace_last < next)
		next = t->trace_last;
	return next;
}

/* --- while the workers go on --- */

/* Is a save the only event that is due at @step? */
static bool only_saves(const mr_train *t, uint64_t step)
{
	return !t->save_again && t->save_every && step % t->save_every == 0 && step < t->n_steps && step < t->target &&
	       !(t->eval_every && step % t->eval_every == 0) && !(t->traced && step == t->trace_last);
}

/* The workers stop next at the step of a save behind that of the last one: let them pass it. */
static mr_status arm(mr_train *t)
{
	uint64_t step = mr_train_next_stop(t, t->writing.step > t->step ? t->writing.step : t->step);

	if (!only_saves(t, step))
		return MR_OK;
	if (mr_checkpoint_writer_over(t->writer))
		MR_TRY(mr_train_finish_save(t));
	if (mr_checkpoint_writer_busy(t->writer))
		return MR_OK;
	MR_TRY(mr_checkpoints_arm(&t->s, t->writer, step, mr_train_next_stop(t, step), t->best, &t->copying));
	if (t->copying)
		t->writing = (mr_checkpoints_case){
			.step = step, .loss = NAN, .val_loss = NAN, .best_loss = t->best, .can_wait = true};
	return MR_OK;
}

static void give_up(mr_train *t)
{
	mr_snapshot_end(mr_executor_run_of(&t->s.executor));
	mr_state_copying_drop(t->copying);
	t->copying = NULL;
}

static mr_status land(mr_train *t)
{
	mr_state_copying *copying = t->copying;
	uint64_t begin = mr_train_now_ns(t);
	bool saved;
	mr_status st = mr_metrics_log_flush(t->metrics);

	if (st != MR_OK) {
		give_up(t);
		return st;
	}
	t->copying = NULL;
	MR_TRY(mr_checkpoints_land(&t->s, t->dir.checkpoints, t->writer, &t->writing, copying, &t->guard, &saved));
	t->save_ns += mr_train_now_ns(t) - begin;
	t->save_again = saved ? 0 : t->writing.step + steps_to_tell(t);
	t->postponed = !saved;
	if (saved && !mr_checkpoint_writer_busy(t->writer))
		note_saved(t, &t->writing);
	return MR_OK;
}

mr_status mr_train_save_passing(mr_train *t)
{
	mr_run *run = mr_executor_run_of(&t->s.executor);

	if (!t->writer || !run->snapshot || t->obeys)
		return MR_OK;
	if (t->copying)
		return mr_snapshot_is_whole(run) && t->last.step >= t->writing.step ? land(t) : MR_OK;
	return arm(t);
}

mr_status mr_train_save_passed(mr_train *t, mr_status st)
{
	mr_run *run = mr_executor_run_of(&t->s.executor);
	mr_status saved = MR_OK;
	char why[1024];

	if (!t->copying || st == MR_ESTALLED) /* whose workers may still copy */
		return st;
	snprintf(why, sizeof(why), "%s", mr_error_text());
	if (mr_snapshot_complete(run) && t->last.step >= t->writing.step)
		saved = land(t);
	else
		give_up(t);
	/* What is wrong with the state of an earlier step comes first, as it does where workers pause for the save. */
	return st == MR_OK || saved != MR_OK ? saved : mr_fail(st, "%s", why);
}
