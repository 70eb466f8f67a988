/* train_end.c - the end of a training: what was reached, the files that are written once, and closing. */
#include "training/train.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "host/memory.h"
#include "replay/record.h"
#include "session/plan_file.h"

static mr_status write_record(const mr_train *t, const char *path)
{
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_record_plan(mr_executor_run_of(&t->s.executor), &plan));
	st = mr_plan_file_write(plan, path, MR_RESULT_NAMED);
	mr_plan_destroy(plan);
	return st;
}

/* The files that are written once, at the end. */
static mr_status write_ends(mr_train *t, const mr_roofline *roofline)
{
	mr_figures end;

	mr_fault_slow("train.ends");
	if (t->opts.record && t->step)
		MR_TRY(write_record(t, t->opts.record));
	if (!t->train_ns || t->opts.no_folder)
		return MR_OK;
	end = mr_train_result(t);
	MR_TRY(mr_run_facts_end(&t->facts, &end, t->train_ns, roofline));
	return mr_tensorboard_timeline(t->events, &t->facts, t->step);
}

bool mr_train_is_begun(const mr_train *t)
{
	return t->step > 0;
}

mr_status mr_train_end(mr_train *t)
{
	mr_roofline roofline = {0};
	mr_status st;

	if (!mr_train_is_begun(t))
		return MR_OK;
	if (t->train_ns) {
		t->peak_bytes = mr_memory_peak_bytes();
		if (!t->opts.no_folder)
			roofline = mr_train_roofline(t);
	}
	mr_activity_begin("writes what the run was");
	st = write_ends(t, &roofline);
	mr_activity_end();
	if (st == MR_OK && t->last.step && !t->opts.no_folder)
		st = mr_train_write_usage(t);
	if (st == MR_OK && t->last.step && !t->opts.no_folder)
		st = mr_train_write_counts(t);
	return st;
}

static mr_status close_all(mr_train *t)
{
	mr_status closed;

	mr_activity_begin("closes the files of the run");
	mr_checkpoint_writer_close(t->writer);
	closed = mr_metrics_log_close(t->metrics);
	if (mr_events_close(t->events) != MR_OK && closed == MR_OK)
		closed = MR_EIO;
	mr_run_facts_fini(&t->facts);
	mr_worker_window_fini(&t->window);
	mr_worker_window_fini(&t->shares);
	mr_virtual_destroy(t->clock); /* borrows the session's plan */
	mr_session_close(&t->s);
	mr_rundir_close(&t->dir);
	mr_activity_end();
	mr_watch_stop(t->watch);
	free(t->own_plan);
	free(t->resolved);
	free(t);
	return closed;
}

mr_status mr_train_close(mr_train *t)
{
	mr_status st, closed;
	char why[sizeof(t->error_text)];

	if (!t)
		return MR_OK;
	st = t->error;
	snprintf(why, sizeof(why), "%s", t->error_text);
	if (st == MR_OK && !mr_train_is_begun(t))
		mr_train_give_up(t);
	if (t->begun_ns && t->step)
		mr_train_tell_status(t, st != MR_OK ? "failed" : t->step >= t->n_steps ? "ended" : "stopped",
				     st != MR_OK ? why : NULL);
	if (st == MR_ESTALLED) { /* a thread hangs: nothing can be closed in order */
		if (t->opts.owns_process)
			mr_activity_begin("ends the program"); /* the watch goes on to its end */
		return mr_fail(st, "%s", why);
	}
	closed = close_all(t);
	if (st != MR_OK)
		return mr_fail(st, "%s", why); /* a failure of closing matters less */
	return closed;
}
