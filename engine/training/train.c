#include "training/train.h"

#include <math.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/notice.h"
#include "observe/evaluation.h"
#include "session/average_trigger.h"
#include "host/service.h"
#include "host/signals.h"
#include "host/clock.h"
#include "host/memory.h"

#define DRAW_NS 1000000000u /* between two windows of the figures where nobody shows them */

/* --- while it runs --- */

uint64_t mr_train_now_ns(const mr_train *t)
{
	if (!t->clock)
		return mr_clock_ns();
	return t->last.step ? t->last.time_ns : t->start_ns;
}

/* As now_ns; a simulated clock continues to the end of the last instruction of all workers, which may be after the last
 * step. */
static uint64_t clock_ns(const mr_train *t)
{
	return t->clock ? mr_executor_run_of(&t->s.executor)->start_ns + mr_executor_stands_ns(&t->s.executor)
			: mr_clock_ns();
}

static uint64_t samples_per_step(const mr_train *t)
{
	return (uint64_t)t->s.samples * t->s.n_micro;
}

/* Seconds since the start, by the real clock. */
static double elapsed_s(const mr_train *t)
{
	return (double)(mr_clock_ns() - t->begun_ns) / 1e9;
}

/* What follows from other figures of @p. */
static void derive(const mr_train *t, mr_figures *p)
{
	double units = (double)samples_per_step(t) * fmax(1, (double)mr_session_tokens_per_sample(&t->s));

	mr_figures_take(p, &t->evaluation, MR_FIGURE_EVALUATION);
	p->steps = (double)t->n_steps;
	p->step_ms = 1e3 * units / p->rate;
	p->eta_seconds = (p->steps - (double)p->step) * p->step_ms / 1e3;
	p->peak_gflops = t->peak_gflops > 0 ? t->peak_gflops : (double)NAN;
	p->peak_part = p->gflops / p->peak_gflops;
}

/* Rates end with the last known step, not now: of short steps many become known at once. */
mr_figures mr_train_progress(const mr_train *t, uint64_t least_ns)
{
	mr_figures p = t->since.n_rows ? mr_figures_folded(&t->since) : t->drawn;

	if (isnan(p.rate) || (t->last.time_ns < t->drawn_ns + least_ns && !isnan(t->drawn.rate))) {
		p.rate = t->drawn.rate;
		p.gflops = t->drawn.gflops;
	}
	if (t->clock)
		p.bubble = t->virtual_bubble;
	derive(t, &p);
	return p;
}

mr_figures mr_train_figures(const mr_train *t)
{
	mr_figures p = mr_train_progress(t, 0);

	if (t->sum.n_rows)
		mr_figures_take(&p, &t->sum.last, MR_FIGURE_STEP);
	p.resident_bytes = (double)mr_memory_resident_bytes();
	p.peak_bytes = (double)mr_memory_peak_bytes();
	p.predicted_bytes = (double)t->predicted_bytes;
	return p;
}

mr_figures mr_train_result(mr_train *t)
{
	mr_figures r = mr_figures_folded(&t->sum);

	r.step = t->step;
	mr_worker_window_whole(&t->shares, &t->s.executor, t->train_ns, &r);
	r.peak_bytes = (double)(t->peak_bytes ? t->peak_bytes : mr_memory_peak_bytes());
	r.predicted_bytes = (double)t->predicted_bytes;
	derive(t, &r);
	return r;
}

static void settle(const mr_train *t)
{
	if (t->hooks.settle)
		t->hooks.settle(t->hooks.arg);
}

static bool is_due(const mr_train *t)
{
	if (t->hooks.due)
		return t->hooks.due(t->hooks.arg, t->last.step, elapsed_s(t));
	return !t->drawn_at_ns || mr_clock_ns() - t->drawn_at_ns >= DRAW_NS;
}

/* Rows of a simulated training have no windows: a step's record comes when some workers are already beyond it. */
static void take_virtual_window(mr_train *t)
{
	mr_figures all = {.bubble = t->virtual_bubble};

	if (t->clock)
		mr_worker_window_take(&t->window, &t->s.executor, clock_ns(t), true, &all);
	t->virtual_bubble = all.bubble;
}

static void draw(mr_train *t, bool force)
{
	mr_figures p;

	if (t->last.step == 0 || (!force && !is_due(t)))
		return;
	p = mr_train_progress(t, 0);
	if (t->hooks.show)
		t->hooks.show(t->hooks.arg, &p, elapsed_s(t), force);
	t->drawn = p;
	t->drawn_at_ns = mr_clock_ns();
	t->drawn_ns = t->last.time_ns;
	t->since = (mr_figures_sum){0};
}

static void keep_error(mr_train *t, mr_status st)
{
	if (st == MR_OK || t->error != MR_OK)
		return;
	t->error = st;
	snprintf(t->error_text, sizeof(t->error_text), "%s", mr_error_text());
}

/* A row of metrics.jsonl and, if asked for, of the events. */
static mr_status log_row(mr_train *t, const mr_figures *row)
{
	mr_figures_add(&t->sum, row);
	if (t->opts.no_folder)
		return MR_OK;
	MR_TRY(mr_metrics_log_put(t->metrics, row));
	if (t->s.job->tensorboard && !t->events)
		MR_TRY(mr_tensorboard_open(t->dir.path, t->begun_step, &t->events));
	return mr_events_row(t->events, row);
}

static double seconds_at(const mr_train *t, uint64_t ns)
{
	return t->seconds_before + (double)(ns - t->start_ns) / 1e9;
}

static mr_figures row_of_step(mr_train *t, const mr_step_rec *rec)
{
	mr_figures row = mr_figures_at(rec->step);
	int64_t tokens = mr_session_tokens_per_sample(&t->s);

	row.loss = rec->loss;
	row.lr = rec->lr;
	row.grad_norm = rec->norm;
	row.stage_grad_norm = rec->stage_norm;
	row.samples = (double)(rec->step * samples_per_step(t));
	row.tokens = tokens ? row.samples * (double)tokens : (double)NAN;
	row.seconds = seconds_at(t, rec->time_ns);
	if (rec->time_ns > t->row_ns) {
		double seconds = (double)(rec->time_ns - t->row_ns) / 1e9, samples = (double)samples_per_step(t);

		row.rate = samples * (tokens ? (double)tokens : 1) / seconds;
		row.gflops = round(t->flops * samples / seconds / 1e6) / 1e3;
	}
	t->row_ns = rec->time_ns;
	if (!t->clock)
		mr_worker_window_take(&t->window, &t->s.executor, mr_clock_ns(), false, &row);
	row.busy = NAN; /* which is the bubble's other part */
	return row;
}

/* A sign of life for the service manager, if the process is there for this training alone. */
static void alive(const mr_train *t)
{
	if (t->opts.owns_process)
		mr_service_alive();
}

/* Does nothing and nobody ask for a pause? */
static bool goes_on(mr_train *t)
{
	if (t->hooks.goes_on && !t->hooks.goes_on(t->hooks.arg))
		t->halted = true;
	return !t->halted && !mr_signals_pending() && t->error == MR_OK && !mr_checkpoint_writer_failed(t->writer) &&
	       !t->ends_hung;
}

static void take(mr_train *t, const mr_step_rec *rec)
{
	mr_figures row = row_of_step(t, rec);

	keep_error(t, log_row(t, &row));
	if (!isnan(row.grad_norm) || !isnan(row.stage_grad_norm))
		t->normed = row;
	if (t->last.step == 0) { /* rates count from the first step on: before it caches were cold */
		t->drawn_ns = rec->time_ns;
		row.rate = row.gflops = NAN;
	}
	mr_figures_add(&t->since, &row);
	t->last = *rec;
	if (t->copying && rec->step == t->writing.step)
		t->writing.loss = rec->loss;
	if (isnan(t->guard.loss))
		t->guard.loss = rec->loss;
	if (t->hooks.step && !t->hooks.step(t->hooks.arg, rec) && !t->told_stop) {
		uint64_t at = rec->step + mr_train_lag(t);

		t->told_stop = true;
		t->halted = t->halted || !t->obeys;
		t->target = t->obeys && at < t->target ? at : t->target;
	}
}

static bool on_progress(void *arg, const mr_step_rec *rec)
{
	mr_train *t = arg;

	if (rec)
		take(t, rec);
	if (is_due(t))
		take_virtual_window(t);
	draw(t, false);
	alive(t);
	mr_train_tell_status(t, "trains", NULL);
	if (mr_signals_status() && t->hooks.status)
		t->hooks.status(t->hooks.arg);
	if (!rec && !t->told_stop && goes_on(t))
		keep_error(t, mr_train_save_passing(t));
	return !t->told_stop && !t->postponed && goes_on(t);
}

/* --- due events --- */

static bool go_on_evaluating(void *arg)
{
	mr_train *t = arg;

	alive(t);
	if (t->hooks.goes_on && !t->hooks.goes_on(t->hooks.arg))
		t->halted = true;
	return !t->halted && !mr_signals_end();
}

static mr_status validate(mr_train *t, mr_figures *out)
{
	mr_status st;

	MR_TRY(mr_average_exchange(&t->s));
	st = mr_evaluate(&t->s, go_on_evaluating, t, out);
	if (st != MR_ESTALLED)
		MR_TRY(mr_average_exchange(&t->s));
	return st;
}

static mr_status evaluate(mr_train *t)
{
	uint64_t begin = mr_train_now_ns(t);
	mr_figures row;
	mr_status st;

	if (t->s.data->n_valid == 0)
		return MR_OK;
	MR_FAULT_POINT("train.eval");
	mr_train_tell_status(t, "evaluates", NULL);
	st = validate(t, &row);
	t->eval_ns += mr_train_now_ns(t) - begin;
	/* the loss of a part of the validation data is not reported: no row, and no loss beside the checkpoint */
	if (st == MR_ESTOPPED)
		return MR_OK;
	MR_TRY(st);
	MR_TRY(mr_average_note(&t->s, t->step, row.val_loss));
	row.step = t->val_step = t->step;
	row.seconds = seconds_at(t, mr_train_now_ns(t));
	t->evaluation = row;
	MR_TRY(log_row(t, &row));
	draw(t, true);
	t->drawn_ns += mr_train_now_ns(t) - begin;
	return MR_OK;
}

/* The failure that ends the training, with the state from which it can be resumed. */
static mr_status ended_by(mr_train *t, mr_status st)
{
	char why[1024], lost[512], advice[128] = "";
	uint64_t best;

	if (t->opts.no_folder)
		return st;
	snprintf(why, sizeof(why), "%s", mr_error_text());
	if (mr_checkpoint_writer_hangs(t->writer)) /* and so might reading what is there */
		return mr_fail(st,
			       "%s; the training stands at step %llu, and its newest checkpoint is that of step %llu",
			       why, (unsigned long long)t->step, (unsigned long long)t->saved);
	if (mr_train_finish_save(t) != MR_OK)
		mr_log(MR_LOG_WARN, "checkpoint", "%s", mr_error_text());
	if (st == MR_EDIVERGED)
		snprintf(advice, sizeof(advice), ", with a smaller optimizer.lr");
	if (st == MR_EDIVERGED && mr_checkpoints_best(t->dir.checkpoints, &best) && best != t->saved)
		snprintf(advice, sizeof(advice), ", with a smaller optimizer.lr (--resume --from best: from step %llu)",
			 (unsigned long long)best);
	if (!t->saved)
		return mr_fail(st, "%s; no checkpoint had been saved before%s", why,
			       st == MR_EDIVERGED ? "; begin again with a smaller optimizer.lr" : "");
	/* the folder may have been deleted meanwhile */
	if (mr_checkpoints_check(t->dir.checkpoints, t->saved) != MR_OK) {
		snprintf(lost, sizeof(lost), "%s", mr_error_text());
		return mr_fail(st, "%s; and the checkpoint of step %llu, saved before, cannot be used: %s", why,
			       (unsigned long long)t->saved, lost);
	}
	return mr_fail(st, "%s; the checkpoint of step %llu is intact, and --resume goes on from there%s", why,
		       (unsigned long long)t->saved, advice);
}

static bool eval_is_due(const mr_train *t)
{
	return (t->step == t->n_steps && t->s.job->train.eval_at_end) ||
	       (t->eval_every && t->step % t->eval_every == 0);
}

static mr_status write_trace(mr_train *t)
{
	mr_status st;

	mr_activity_begin("writes the trace");
	mr_fault_slow("train.trace");
	st = mr_train_write_trace(t);
	if (st == MR_OK)
		st = mr_run_facts_trace(&t->facts, t->trace_first, t->trace_last);
	mr_activity_end();
	return st;
}

/* The best evaluation so far, if that of this step is better than all before: its step is kept. */
static bool note_evaluation(mr_train *t)
{
	double loss = t->val_step == t->step ? t->evaluation.val_loss : (double)NAN;
	bool better = isfinite(loss) && !(loss >= t->least);

	if (better) {
		t->least = loss;
		t->least_step = t->step;
	}
	return better;
}

/* train.patience: have evaluations not become better for so long? */
static bool loses_patience(const mr_train *t)
{
	uint64_t patience = (uint64_t)t->s.job->train.patience;

	return patience && t->val_step == t->step && t->step < t->n_steps && t->least_step &&
	       (t->step - t->least_step) / t->eval_every >= patience;
}

/* *@leave: a signal has requested the end, and all its work is done. A later signal is handled in the next round: it
 * pauses the executor at once. */
static mr_status do_due(mr_train *t, bool *leave)
{
	bool end = t->step == t->n_steps, better = false, asked, due;

	if (t->traced && (t->step >= t->trace_last || (end && t->step >= t->trace_first))) {
		MR_TRY(t->opts.no_folder ? MR_OK : write_trace(t));
		t->traced = false;
		t->trace_written = true;
	}
	if (eval_is_due(t)) {
		MR_TRY(evaluate(t));
		better = note_evaluation(t) && t->s.job->train.patience;
	}
	t->early = loses_patience(t);
	if (t->early)
		mr_notice("step %llu: no evaluation since that of step %llu has a lower validation loss, so the "
			  "training ends (train.patience)",
			  (unsigned long long)t->step, (unsigned long long)t->least_step);
	asked = mr_signals_save();
	*leave = mr_signals_end() != 0;
	due = t->save_again ? t->step >= t->save_again : t->save_every && t->step % t->save_every == 0;
	if ((end && (due || t->s.job->checkpoint.at_end)) || *leave || asked || better || t->early)
		return mr_train_save_now(t, false, !end && !*leave && !t->early);
	return due ? mr_train_save_now(t, true, true) : MR_OK;
}

/* Repeat an evaluation that a signal broke off. It may show that the checkpoint saved then is the best; it is then
 * saved again and marked. */
static mr_status take_up_eval(mr_train *t)
{
	mr_checkpoints_case c;

	if (!t->step || t->val_step == t->step || !eval_is_due(t))
		return MR_OK;
	MR_TRY(evaluate(t));
	if (t->val_step != t->step)
		return MR_OK;
	note_evaluation(t);
	t->early = loses_patience(t);
	c = (mr_checkpoints_case){.val_loss = t->evaluation.val_loss, .best_loss = t->best};
	return mr_checkpoints_is_best(&c) ? mr_train_save_now(t, false, false) : MR_OK;
}

static mr_status course(mr_train *t)
{
	mr_status begun = take_up_eval(t);
	bool leave = mr_signals_end() != 0;

	if (begun != MR_OK)
		return ended_by(t, begun);
	while (t->step < t->target && !leave && !t->halted && !t->early) {
		uint64_t begin = clock_ns(t);
		mr_status st;

		t->row_ns = mr_train_now_ns(t);
		mr_worker_window_begin(&t->window, &t->s.executor, t->clock ? begin : t->row_ns);
		t->postponed = false;
		st = mr_executor_run(&t->s.executor, mr_train_next_stop(t, t->step), on_progress, t, &t->step);
		t->train_ns += clock_ns(t) - begin;
		take_virtual_window(t);
		st = mr_train_save_passed(t, st);
		if (st == MR_OK)
			t->predicted_bytes = mr_session_predicted_bytes(&t->s);
		if (st != MR_ESTALLED && t->error != MR_OK) /* which came before an error of the run */
			st = mr_fail(t->error, "%s", t->error_text);
		if (st == MR_OK && (mr_checkpoint_writer_failed(t->writer) || t->ends_hung))
			st = mr_train_finish_save(t);
		if (st == MR_OK)
			st = do_due(t, &leave);
		if (st != MR_OK) {
			settle(t);
			return ended_by(t, st);
		}
	}
	t->end_ns = mr_train_now_ns(t);
	draw(t, true);
	settle(t);
	return MR_OK;
}

/* --- what the caller does with it --- */

/* The clock of this session stands between two calls of mr_train_go. */
static void start_clock(mr_train *t)
{
	uint64_t now = mr_clock_ns(), stood = now - t->paused_ns;

	if (t->begun_ns && !t->clock) {
		t->begun_ns += stood;
		t->start_ns += stood;
		t->drawn_ns += stood;
	}
	if (t->begun_ns)
		return;
	t->begun_ns = now;
	t->begun_step = t->step;
	mr_worker_window_begin(&t->shares, &t->s.executor, now);
	t->predicted_bytes = mr_session_predicted_bytes(&t->s);
	t->start_ns = t->drawn_ns = t->clock ? mr_executor_run_of(&t->s.executor)->start_ns : now;
}

/* @st, which is remembered if it ends the training. */
mr_status mr_train_keep(mr_train *t, mr_status st)
{
	char why[sizeof(t->error_text)];

	snprintf(why, sizeof(why), "%s", mr_error_text());
	t->error = st;
	snprintf(t->error_text, sizeof(t->error_text), "%s", st == MR_OK ? "" : why);
	return st;
}

mr_status mr_train_go(mr_train *t, uint64_t until, bool obey)
{
	mr_status st;

	if (t->error != MR_OK)
		return mr_fail(t->error, "%s", t->error_text);
	start_clock(t);
	t->target = until;
	t->obeys = obey;
	t->told_stop = t->halted = false;
	if (t->s.executor.engine)
		mr_engine_obey(t->s.executor.engine, obey);
	st = mr_train_keep(t, course(t));
	t->paused_ns = mr_clock_ns();
	return st;
}

uint32_t mr_train_lag(const mr_train *t)
{
	return t->s.executor.engine ? mr_engine_lag(t->s.executor.engine) : 0;
}

mr_status mr_train_save(mr_train *t)
{
	if (t->opts.no_folder)
		return mr_fail(MR_EINVAL, "there is no folder to save to: the job names no run.dir");
	if (!t->step)
		return mr_fail(MR_EINVAL, "there is nothing to save: no step has been made");
	return t->saved == t->step ? MR_OK : mr_train_save_now(t, false, false);
}

mr_status mr_train_evaluate(mr_train *t, mr_figures *out)
{
	if (!t->s.data->n_valid)
		return mr_fail(MR_EDATA, "%s has no validation part", t->s.data->ops->name);
	t->halted = false;
	return validate(t, out);
}
