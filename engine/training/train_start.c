#include "training/train.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/notice.h"
#include "base/room.h"
#include "base/result.h"
#include "training/search_limit.h"
#include "training/train_ranks.h"
#include "session/average_trigger.h"
#include "checkpoint/init_weights.h"
#include "checkpoint/rank_parts.h"
#include "session/objective_report.h"
#include "session/plan_file.h"
#include "report/output.h"
#include "host/descriptors.h"
#include "host/signals.h"
#include "session/staleness_warning.h"
#include "host/probe.h"
#include "replay/record.h"
#include "exec/run_plan.h"

/* Open at once from here on, at most: two logs, a status, what a checkpoint is written through (its folders, and a file
 * twice), a picture or a part of the data for each of a few loaders. A training of two workers was seen with 7. */
#define MOST_FILES 16

/* The values, which each checkpoint holds. */
static mr_status take_values(mr_train *t)
{
	mr_strbuf text = {0};
	mr_status st = mr_config_print_values(t->config, &text);

	if (st == MR_OK)
		t->s.resolved = t->resolved = mr_strbuf_take(&text);
	mr_strbuf_fini(&text);
	return st;
}

static mr_status write_config(const mr_train *t)
{
	mr_strbuf text = {0};
	mr_status st = mr_config_print(t->config, &text);

	if (st == MR_OK)
		st = mr_result_write(t->dir.config, mr_strbuf_text(&text), text.len, MR_RESULT_OWN);
	mr_strbuf_fini(&text);
	return st;
}

/* Save the backend's table of choices, so that the run can continue with it if the program has another table. */
static mr_status write_choices(const mr_train *t)
{
	const mr_choices *c = t->s.kernels->choices;
	mr_strbuf text = {0};
	mr_status st;

	if (!c)
		return MR_OK;
	mr_choices_print(c, &text);
	st = text.failed ? mr_fail(MR_ERESOURCE, "no memory for %s", t->dir.choices)
			 : mr_result_write(t->dir.choices, text.data, text.len, MR_RESULT_OWN);
	mr_strbuf_fini(&text);
	return st;
}

/* Keep the metrics of earlier steps. After all checks: metrics of later steps than the checkpoint's are cut off. */
static mr_status take_up_metrics(mr_train *t)
{
	mr_figures *rows = NULL;
	mr_status st = MR_OK;
	size_t n = 0;

	MR_TRY(mr_metrics_truncate(t->dir.metrics, t->step));
	if (access(t->dir.metrics, F_OK) == 0) /* without the file only its rows are lost, not the training */
		MR_TRY(mr_metrics_read(t->dir.metrics, &rows, &n));
	if (n && isfinite(rows[n - 1].seconds))
		t->seconds_before = rows[n - 1].seconds;
	if (n && isfinite(rows[n - 1].val_loss)) {
		t->val_step = rows[n - 1].step;
		st = mr_average_note(&t->s, t->val_step, rows[n - 1].val_loss);
	}
	free(rows);
	return st;
}

/* The rows of the steps before a checkpoint must not be lost where it is not. */
static mr_status sync_metrics(void *metrics)
{
	return mr_metrics_log_sync(metrics);
}

/* The files that are there before the first step, and those who write to them. */
static mr_status prepare_files(mr_train *t, const char *resume)
{
	mr_fault_slow("train.first");
	if (resume)
		MR_TRY(take_up_metrics(t));
	MR_TRY(write_config(t));
	MR_TRY(take_values(t));
	MR_TRY(write_choices(t));
	if (t->s.plan_path && !t->s.is_record)
		MR_TRY(mr_plan_file_write(t->s.plan, t->dir.plan, MR_RESULT_OWN));
	if (t->step < t->n_steps) /* else there is no session to write about */
		MR_TRY(mr_run_facts_begin(&t->facts, &t->s, t->dir.facts, t->step, t->peak_gflops, t->isa));
	return mr_metrics_log_open(t->dir.metrics, &t->metrics);
}

/* What the course goes by, before a step. */
static void init_course(mr_train *t)
{
	const mr_job *job = t->s.job;

	t->n_steps = (uint64_t)job->train.steps;
	t->eval_every = (uint64_t)job->train.eval_every;
	t->save_every = t->opts.no_folder ? 0 : (uint64_t)job->checkpoint.every;
	t->traced = t->s.plan && mr_job_trace_steps(job, &t->trace_first, &t->trace_last);
	t->best = t->least = t->virtual_bubble = NAN;
	t->evaluation = mr_figures_at(0);
	t->flops = mr_graph_flops_train(mr_session_model(&t->s));
	t->drawn = mr_figures_at(0);
	t->guard.loss = NAN;
}

static mr_status prepare(mr_train *t)
{
	const char *resume = t->opts.resume;
	mr_status st;

	init_course(t);
	if (t->opts.no_folder)
		return MR_OK;
	t->peak_gflops = t->s.job->machine.peak_gflops;
	if (t->peak_gflops <= 0)
		t->peak_gflops = mr_probe_peak_gflops(&t->isa);
	t->peak_gflops *= t->s.place.n_cores_used;
	t->saved = resume ? MR_TRAIN_UNKNOWN : 0;
	MR_TRY(mr_train_watch(t));
	MR_TRY(mr_rank_parts_begin(&t->s, t->dir.path));
	if (resume)
		MR_TRY(mr_checkpoints_resume(&t->s, t->dir.checkpoints, resume, &t->step, &t->best));
	t->least = t->best;
	if (!isfinite(t->best) || !mr_checkpoints_best(t->dir.checkpoints, &t->least_step))
		t->least_step = 0;
	t->saved = t->step;
	MR_TRY(mr_checkpoints_guard_init(&t->s, t->step, &t->guard));
	if (t->step >= t->trace_last) /* an earlier session did those steps, and has its trace */
		t->traced = false;
	MR_TRY(mr_descriptors_reserve(MOST_FILES));
	MR_TRY(mr_checkpoints_preflight(&t->s, t->dir.checkpoints, t->step));
	if (t->opts.owns_process)
		mr_signals_catch(); /* from here on there are files that must not be left half written */
	mr_activity_begin("writes the first files of the run");
	st = prepare_files(t, resume);
	mr_activity_end();
	MR_TRY(st);
	if (!t->clock) /* in virtual time a save takes none */
		MR_TRY(mr_checkpoint_writer_open(&t->s, t->dir.checkpoints, sync_metrics, t->metrics, &t->writer));
	if (t->writer)
		MR_TRY(mr_checkpoints_open_snapshots(&t->s));
	t->drawn = mr_figures_at(t->step);
	return MR_OK;
}

static mr_status make_clock(mr_train *t, mr_session_opts *so)
{
	const mr_train_opts *o = &t->opts;

	if (!o->virtual_time)
		return MR_OK;
	MR_TRY(mr_virtual_create(&t->s, o->virtual_time, &t->clock));
	so->clock = mr_virtual_clock(t->clock);
	so->source = so->clock ? NULL : mr_virtual_next;
	so->source_arg = t->clock;
	return MR_OK;
}

/* A record covers a run from its first step to its last, and so does carrying it out again. */
static mr_status make_record(const mr_train *t, mr_session_opts *so)
{
	const mr_train_opts *o = &t->opts;
	uint64_t steps = (uint64_t)t->s.job->train.steps;
	uint64_t end = mr_run_last_step(t->s.plan);

	if ((o->record || o->replay) && o->resume)
		return mr_fail(MR_EUSAGE,
			       "--%s goes from a run's first step to its last, so it does not go with --resume",
			       o->record ? "record" : "replay");
	if (t->s.plan_path && steps > end)
		return mr_fail(MR_ECONFIG, "%s: the plan has %llu steps, and train.steps asks for %llu", t->s.plan_path,
			       (unsigned long long)end, (unsigned long long)steps);
	if (!o->record)
		return MR_OK;
	if (!t->s.plan || !(t->s.plan->contract.racing || t->s.plan->contract.steal) || o->replay)
		return mr_fail(MR_EUSAGE,
			       "--record writes the order that a racing system took, or which worker took which "
			       "weight gradient with steal = true; this one's order is fixed, and its weights with it");
	if (steps > MR_RECORD_MAX / t->s.n_micro)
		return mr_fail(MR_EUSAGE,
			       "--record keeps the order of at most %u micro-batches, and %llu steps of %u are more",
			       MR_RECORD_MAX, (unsigned long long)steps, t->s.n_micro);
	so->record_micro = steps * t->s.n_micro;
	return mr_output_check(o->record);
}

/* Requested evaluations need validation data. */
static mr_status check_valid(const mr_session *s)
{
	char window[64] = "";

	if (!s->job->train.eval_every || s->data->n_valid)
		return MR_OK;
	if (s->graph->input.tokens && mr_shape_same(s->data->input, s->data->target))
		snprintf(window, sizeof(window), ", or none as long as a window of %lld tokens",
			 (long long)s->graph->input.rows);
	return mr_job_blame(s->job, MR_JOB_TRAIN, "eval_every",
			    mr_fail(MR_ECONFIG, "there is nothing to evaluate: %s has no validation part%s",
				    s->data->ops->name, window));
}

static void warn_large_batch(const mr_session *s)
{
	uint64_t batch = (uint64_t)s->samples * s->n_micro;

	if (batch > s->data->n_train)
		mr_notice("warning: train.batch is %llu samples, and there are %llu to train on: every step "
			  "sees some of them more than once",
			  (unsigned long long)batch, (unsigned long long)s->data->n_train);
}

static void warn_untied(const mr_session *s)
{
	if (s->job->untied)
		mr_notice("warning: train.untie: %s cannot share a parameter between stages, so the tied "
			  "embedding and the head have weights of their own: this is another model, of %lld parameters",
			  s->plan->system, (long long)mr_graph_n_params(mr_session_model(s)));
}

static void undo(const void *dir)
{
	mr_rundir_abandon(dir);
}

static mr_status open_dir(mr_train *t, const char *path)
{
	mr_rundir_use use = t->opts.resume ? MR_RUNDIR_RESUME : t->opts.anew ? MR_RUNDIR_ANEW : MR_RUNDIR_NEW;
	mr_status st;

	if (!t->opts.owns_process)
		return mr_rundir_open(path, use, &t->dir);
	mr_signals_hold();
	st = mr_rundir_open(path, use, &t->dir);
	if (st == MR_OK)
		mr_signals_start(undo, &t->dir);
	mr_signals_let();
	MR_FAULT_POINT("train.folder");
	return st;
}

void mr_train_give_up(mr_train *t)
{
	if (!t->opts.owns_process) {
		mr_rundir_abandon(&t->dir);
		return;
	}
	mr_signals_hold();
	mr_rundir_abandon(&t->dir);
	mr_signals_start(NULL, NULL);
	mr_signals_let();
}

/* A run that was begun with --plan continues with its own copy. */
static mr_status open_session(mr_train *t)
{
	const mr_job *job = mr_config_job(t->config);
	const mr_train_opts *o = &t->opts;

	if (o->ranks)
		return mr_train_open_ranks(t);
	if (o->replay)
		return mr_session_open_record(job, o->replay, &t->s);
	if (o->plan)
		return mr_session_open_plan(job, o->plan, &t->s);
	if (o->resume) {
		t->own_plan = mr_rundir_plan(job->run_dir);
		if (t->own_plan)
			return mr_session_open_plan(job, t->own_plan, &t->s);
	}
	return mr_session_open(job, &t->s);
}

static bool is_built_in(const char *hash)
{
	char own[20];

	snprintf(own, sizeof(own), "%016" PRIx64, mr_choices_hash(&mr_choices_built_in));
	return !strcmp(hash, own);
}

/*
 * A run continues with the kernels that it had: with `fused` if it was begun before there were choices, and with its
 * own copy of the table if that is not the program's, unless the configuration names another. An unreadable table is
 * refused later.
 */
static mr_status take_up_kernels(mr_config *config, const char *from)
{
	const mr_job *job = mr_config_job(config);
	char dir[PATH_MAX], table[PATH_MAX], path[PATH_MAX], *backend, *choices;
	uint64_t before;
	mr_status st;

	if (!mr_job_kernels(job)->choices)
		return MR_OK;
	snprintf(dir, sizeof(dir), "%s/checkpoints", job->run_dir);
	snprintf(table, sizeof(table), "%s/choices.def", job->run_dir);
	before = mr_room_limit((uint64_t)job->machine.memory_limit); /* no session is open yet that sets it */
	st = mr_checkpoints_backend(dir, from, &backend, &choices);
	mr_room_limit(before);
	if (st == MR_OK && !strcmp(backend, "fused"))
		st = mr_config_take_up(config, MR_JOB_TOP, "backend", backend);
	else if (st == MR_OK && *choices && !*job->machine.choices && !is_built_in(choices) && realpath(table, path))
		st = mr_config_take_up(config, MR_JOB_MACHINE, "choices", path);
	free(backend);
	free(choices);
	return st == MR_ERESOURCE ? st : MR_OK;
}

mr_status mr_train_check(const mr_train_opts *o)
{
	if (o->init && (o->resume || o->replay))
		return mr_fail(MR_EUSAGE, "--init begins a training with weights of its own: it goes neither with "
					  "--resume nor with --replay");
	if (o->init_anyway && !o->init)
		return mr_fail(MR_EUSAGE, "--init-anyway is about the file of --init, and goes with it");
	if (o->plan && o->replay)
		return mr_fail(MR_EUSAGE, "--plan and --replay both say what to train: a record goes with --replay, "
					  "any other plan with --plan");
	return MR_OK;
}

mr_status mr_train_take_up(mr_train *t)
{
	MR_TRY(mr_search_limit_take_up(t->config));
	return take_up_kernels(t->config, t->opts.resume);
}

static mr_status start(mr_train *t)
{
	const mr_train_opts *o = &t->opts;
	mr_session_opts so = {.own_loss = t->opts.own_loss};
	const mr_job *job;
	uint64_t a, b;

	if (o->owns_process)
		mr_signals_start(NULL, NULL);
	if (o->resume)
		MR_TRY(mr_train_take_up(t));
	MR_TRY(open_session(t));
	job = t->s.job;
	t->search_s = t->s.n_tries ? mr_search_limit_of(t->config) : 0;
	MR_TRY(mr_search_limit_settle(t->config, t->s.n_tries));
	MR_TRY(check_valid(&t->s));
	mr_staleness_warn(&t->s);
	warn_large_batch(&t->s);
	warn_untied(&t->s);
	MR_TRY(make_record(t, &so));
	MR_TRY(make_clock(t, &so));
	if (!o->no_folder)
		MR_TRY(open_dir(t, job->run_dir));
	so.counts = o->counts;
	so.trace = !o->no_folder && mr_job_trace_steps(job, &a, &b);
	MR_TRY(mr_session_start(&t->s, &so));
	if (o->init)
		MR_TRY(mr_init_weights(&t->s, o->init, o->init_anyway, &t->n_init));
	MR_TRY(mr_objective_report_create(&t->s, &t->s.known));
	MR_FAULT_POINT("train.memory");
	MR_TRY(prepare(t));
	MR_FAULT_POINT("train.files");
	return MR_OK;
}

mr_status mr_train_open(mr_config *config, const mr_train_opts *opts, const mr_train_hooks *hooks, mr_train **out)
{
	mr_train *t = calloc(1, sizeof(*t));
	mr_status st;

	*out = NULL;
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory");
	t->dir.lock = -1;
	t->config = config;
	t->opts = *opts;
	if (hooks)
		t->hooks = *hooks;
	st = mr_train_keep(t, start(t));
	mr_session_ends_reading(&t->s); /* what is read from now on is planned */
	if (st == MR_OK) {
		*out = t;
		return MR_OK;
	}
	mr_train_give_up(t);
	return mr_train_close(t);
}

