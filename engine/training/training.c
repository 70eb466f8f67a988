/* training.c - the library's interface to a training (millrace/training.h): who may use it, and what it does. */
#include "millrace/training.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/notice.h"
#include "checkpoint/rundir.h"
#include "millrace/millrace.h"
#include "session/plan_file.h"
#include "training/training_internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mr_training *open_ones;

const char *mr_version(void)
{
	return MR_VERSION;
}

/* --- who may use it --- */

/* With the lock: MR_OK if @t is an open training of this process. */
static mr_status find(const mr_training *t, const char *function)
{
	const mr_training *x = open_ones;

	if (!t)
		return mr_fail(MR_EINVAL, "%s: the training is NULL", function);
	while (x && x != t)
		x = x->next;
	if (!x)
		return mr_fail(MR_EINVAL, "%s: this training is not open: it was closed", function);
	if (x->process != getpid())
		return mr_fail(MR_EINVAL,
			       "%s: process %ld opened this training; process %ld, which was forked from it, has its "
			       "memory but not its threads, and cannot use it",
			       function, (long)x->process, (long)getpid());
	return MR_OK;
}

mr_status mr_training_enter(mr_training *t, const char *function)
{
	mr_status st;

	pthread_mutex_lock(&lock);
	st = find(t, function);
	if (st == MR_OK && t->busy)
		st = pthread_equal(t->by, pthread_self())
			     ? mr_fail(MR_EINVAL, "%s: another function of this training has not returned: was it "
						  "called in a callback?", function)
			     : mr_fail(MR_EINVAL, "%s: another thread is in a function of this training", function);
	if (st == MR_OK) {
		t->busy = true;
		t->by = pthread_self();
		mr_notice_to(&t->notices);
	}
	pthread_mutex_unlock(&lock);
	return st;
}

mr_status mr_training_leave(mr_training *t, mr_status st)
{
	pthread_mutex_lock(&lock);
	t->busy = false;
	mr_notice_to(NULL);
	pthread_mutex_unlock(&lock);
	return st;
}

bool mr_training_calls_back(const mr_training *t)
{
	bool mine;

	pthread_mutex_lock(&lock);
	mine = find(t, "") == MR_OK && t->busy && pthread_equal(t->by, pthread_self());
	pthread_mutex_unlock(&lock);
	return mine;
}

/* A fork may come while another thread holds the lock. */
static void lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void prepare_forks(void)
{
	pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

/* --- its life --- */

/* Has @job a folder? Without a name of its own mr_job_check calls its folder "runs/job". */
static bool has_folder(const mr_job *job)
{
	bool named = job->name && strcmp(job->name, MR_JOB_UNNAMED) != 0;

	return named || (*job->run_dir && strcmp(job->run_dir, "runs/" MR_JOB_UNNAMED) != 0);
}

/* Keys that ask for files need a folder for them. */
static mr_status check_folder(const mr_job *job, const mr_training_opts *o)
{
	mr_strbuf keys = {0};
	mr_status st = MR_OK;

	if (has_folder(job))
		return MR_OK;
	if (o->resume)
		mr_strbuf_append(&keys, "resume, ");
	if (o->counters)
		mr_strbuf_append(&keys, "counters, ");
	if (job->tensorboard)
		mr_strbuf_append(&keys, "run.tensorboard, ");
	mr_job_changed(job, MR_JOB_CHECKPOINT, &keys);
	mr_job_changed(job, MR_JOB_TRACE, &keys);
	if (keys.len)
		st = mr_fail(MR_ECONFIG, "%.*s: there is no folder for these files: set run.dir or the job's name",
			     (int)keys.len - 2, mr_strbuf_text(&keys));
	mr_strbuf_fini(&keys);
	return st;
}

static void release(mr_training *t)
{
	if (t->hangs) /* the thread that hangs uses all of it */
		return;
	mr_config_destroy(t->config);
	mr_strbuf_fini(&t->notices);
	free(t->own_plan);
	free(t->record);
	free(t->text);
	mr_values_destroy(t->simulated);
	free(t);
}

static bool on_step(void *arg, const mr_step_rec *rec)
{
	mr_training *t = arg;
	mr_training_step step = {.step = rec->step, .loss = rec->loss, .lr = rec->lr};

	step.seconds = (double)(rec->time_ns - t->train->start_ns) / 1e9;
	t->loss = rec->loss;
	t->steps = rec->step;
	return !t->progress || t->progress(t->progress_arg, &step);
}

bool mr_training_wanted(void *arg)
{
	mr_training *t = arg;

	if (t->wait && !t->wait(t->wait_arg))
		atomic_store_explicit(&t->stop, true, memory_order_relaxed);
	return !atomic_load_explicit(&t->stop, memory_order_relaxed);
}

/* The workers, stages and micro-batches of the plan that is trained in place of the system's own. */
static mr_status find_order(const mr_job *job, const mr_training_opts *o, mr_training *t, mr_job_order *order)
{
	char *dir = NULL;
	const char *path = o->plan ? o->plan : o->replay;

	if (!path && o->resume) {
		if (asprintf(&dir, job->run_dir && *job->run_dir ? "%s" : "runs/%s",
			     job->run_dir && *job->run_dir ? job->run_dir : job->name) < 0)
			return mr_fail(MR_ERESOURCE, "no memory for a path");
		path = t->own_plan = mr_rundir_plan(dir);
		free(dir);
	}
	return path ? mr_plan_file_size(path, order) : MR_OK;
}

/* What `millrace simulate` has without options. */
static const mr_option virtual_options[] = {MR_VIRTUAL_OPTIONS, {0}};

static mr_status open_all(const mr_job *job, const mr_training_opts *o, mr_training *t)
{
	mr_train_opts to = {.resume = o->resume, .init = o->init, .init_anyway = o->init_anyway, .plan = o->plan,
			    .replay = o->replay, .counts = o->counters};
	mr_train_hooks hooks = {.arg = t, .step = on_step, .goes_on = mr_training_wanted};
	mr_job_order order = job->order;

	MR_TRY(mr_job_no_nulls(job));
	MR_TRY(mr_train_check(&to));
	MR_TRY(check_folder(job, o));
	to.no_folder = !has_folder(job);
	if (o->record && !(to.record = t->record = strdup(o->record)))
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	t->loss_of = o->loss;
	t->loss_arg = o->loss_arg;
	t->own_loss = (mr_own_loss){.find = mr_training_find_loss, .arg = t};
	to.own_loss = o->loss ? &t->own_loss : NULL;
	if (o->simulate)
		MR_TRY(mr_values_create(virtual_options, &t->simulated));
	to.virtual_time = t->simulated;
	MR_TRY(find_order(job, o, t, &order));
	MR_TRY(mr_config_of_job(job, &order, &t->config));
	MR_TRY(mr_train_open(t->config, &to, &hooks, &t->train));
	t->steps = t->train->step;
	return MR_OK;
}

mr_status mr_training_open(const mr_job *job, mr_training **out)
{
	mr_training_opts none = {0};

	return mr_training_open_with(job, &none, out);
}

mr_status mr_training_open_with(const mr_job *job, const mr_training_opts *opts, mr_training **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	mr_training *t;
	mr_status st;

	if (out)
		*out = NULL;
	if (!job || !opts || !out)
		return mr_fail(MR_EINVAL, "mr_training_open: %s is NULL",
			       !job ? "the job" : !opts ? "the struct of options" : "the place for the training");
	pthread_once(&once, prepare_forks);
	t = calloc(1, sizeof(*t));
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a training");
	t->process = getpid();
	t->loss = NAN;
	mr_notice_to(&t->notices);
	st = open_all(job, opts, t);
	mr_notice_to(NULL);
	if (st != MR_OK) {
		t->hangs = st == MR_ESTALLED;
		release(t);
		return st;
	}
	pthread_mutex_lock(&lock);
	t->next = open_ones;
	open_ones = t;
	pthread_mutex_unlock(&lock);
	*out = t;
	return MR_OK;
}

/* Whatever was derived from the weights is of the past. */
static void forget_state(mr_training *t)
{
	if (t->has_state)
		mr_state_fini(&t->state);
	t->has_state = false;
	mr_logits_destroy(t->predictor);
	t->predictor = NULL;
}

/* As a training that a signal ends: its state is saved, and the files of the end are written. */
static mr_status end(mr_training *t)
{
	mr_train *train = t->train;
	mr_status st = MR_OK;

	if (!t->hangs)
		forget_state(t);
	if (t->hangs || t->fails || !mr_train_is_begun(train))
		return mr_train_close(train);
	if (!train->opts.no_folder && train->last.step)
		st = mr_train_save(train);
	if (st == MR_OK)
		st = mr_train_end(train);
	mr_train_keep(train, st);
	return mr_train_close(train);
}

mr_status mr_training_close(mr_training *t)
{
	mr_training **at = &open_ones;
	bool failed;
	mr_status st;

	if (!t)
		return MR_OK;
	MR_TRY(mr_training_enter(t, "mr_training_close"));
	pthread_mutex_lock(&lock);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_mutex_unlock(&lock);
	failed = t->fails; /* its caller knows */
	st = end(t);
	t->hangs = t->hangs || st == MR_ESTALLED;
	mr_notice_to(NULL);
	release(t);
	return failed ? MR_OK : st;
}

const char *mr_training_notices(const mr_training *t)
{
	const char *text;

	pthread_mutex_lock(&lock);
	text = find(t, "mr_training_notices") == MR_OK && !t->busy ? mr_strbuf_text(&t->notices) : "";
	pthread_mutex_unlock(&lock);
	return text;
}

/* --- training --- */

/* After such a failure @t can only be closed. */
static mr_status note(mr_training *t, mr_status st)
{
	t->hangs = t->hangs || st == MR_ESTALLED;
	t->fails = t->fails || (st != MR_OK && st != MR_ESTOPPED);
	return st;
}

mr_status mr_training_usable(const mr_training *t, const char *function)
{
	if (t->hangs)
		return mr_fail(MR_ESTALLED, "%s: a thread of this training hangs; it can only be closed", function);
	return t->fails ? mr_fail(MR_EINVAL, "%s: this training has failed; it can only be closed", function) : MR_OK;
}

static mr_status run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg)
{
	mr_status st;

	MR_TRY(mr_training_usable(t, "mr_training_run"));
	forget_state(t);
	atomic_store_explicit(&t->stop, false, memory_order_relaxed);
	t->progress = progress;
	t->progress_arg = arg;
	st = note(t, mr_train_go(t->train, until == MR_TRAINING_ALL ? t->train->n_steps : until, progress != NULL));
	if (st == MR_OK)
		t->steps = t->train->step;
	return st;
}

mr_status mr_training_run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg)
{
	MR_TRY(mr_training_enter(t, "mr_training_run"));
	return mr_training_leave(t, run(t, until, progress, arg));
}

static mr_status save(mr_training *t)
{
	MR_TRY(mr_training_usable(t, "mr_training_save"));
	return mr_train_save(t->train);
}

mr_status mr_training_save(mr_training *t)
{
	MR_TRY(mr_training_enter(t, "mr_training_save"));
	return mr_training_leave(t, save(t));
}

mr_status mr_training_on_wait(mr_training *t, mr_training_wait *wait, void *arg)
{
	MR_TRY(mr_training_enter(t, "mr_training_on_wait"));
	t->wait = wait;
	t->wait_arg = arg;
	return mr_training_leave(t, MR_OK);
}

mr_status mr_training_stop(mr_training *t)
{
	mr_status st;

	pthread_mutex_lock(&lock);
	st = find(t, "mr_training_stop");
	if (st == MR_OK)
		atomic_store_explicit(&t->stop, true, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return st;
}

uint32_t mr_training_lag(const mr_training *t)
{
	uint32_t lag = 0;

	pthread_mutex_lock(&lock);
	if (find(t, "mr_training_lag") == MR_OK)
		lag = mr_train_lag(t->train);
	pthread_mutex_unlock(&lock);
	return lag;
}

uint64_t mr_training_steps(const mr_training *t)
{
	uint64_t steps;

	pthread_mutex_lock(&lock);
	steps = find(t, "mr_training_steps") == MR_OK ? t->steps : 0;
	pthread_mutex_unlock(&lock);
	return steps;
}

double mr_training_loss(const mr_training *t)
{
	double loss;

	pthread_mutex_lock(&lock);
	loss = find(t, "mr_training_loss") == MR_OK ? t->loss : (double)NAN;
	pthread_mutex_unlock(&lock);
	return loss;
}

static mr_status evaluate(mr_training *t, double *loss, double *accuracy)
{
	mr_figures f;

	MR_TRY(mr_training_usable(t, "mr_training_evaluate"));
	if (!loss)
		return mr_fail(MR_EINVAL, "mr_training_evaluate: the place for the loss is NULL");
	if (!t->train->s.data->n_valid)
		return mr_fail(MR_EDATA, "%s has no validation part", t->train->s.data->ops->name);
	atomic_store_explicit(&t->stop, false, memory_order_relaxed);
	MR_TRY(note(t, mr_train_evaluate(t->train, &f)));
	*loss = f.val_loss;
	if (accuracy)
		*accuracy = f.val_accuracy;
	return MR_OK;
}

mr_status mr_training_evaluate(mr_training *t, double *loss, double *accuracy)
{
	MR_TRY(mr_training_enter(t, "mr_training_evaluate"));
	return mr_training_leave(t, evaluate(t, loss, accuracy));
}

/* --- its weights --- */

static mr_status tensors(mr_training *t, size_t *n)
{
	MR_TRY(mr_training_usable(t, "mr_training_tensors"));
	if (!n)
		return mr_fail(MR_EINVAL, "mr_training_tensors: the place for their number is NULL");
	forget_state(t);
	t->state = (mr_state){0};
	t->has_state = true;
	MR_TRY(mr_executor_state(&t->train->s.executor, &t->state));
	*n = t->state.model.n;
	return MR_OK;
}

mr_status mr_training_tensors(mr_training *t, size_t *n)
{
	MR_TRY(mr_training_enter(t, "mr_training_tensors"));
	return mr_training_leave(t, tensors(t, n));
}

static mr_status tensor_at(const mr_training *t, size_t i, mr_training_tensor *out)
{
	const mr_saved_tensor *x;

	if (!t->has_state)
		return mr_fail(MR_EINVAL, "mr_training_tensor_at: mr_training_tensors has not been called since the "
					  "last run");
	if (i >= t->state.model.n)
		return mr_fail(MR_EINVAL, "mr_training_tensor_at: there is no tensor %zu: the model has %zu", i,
			       t->state.model.n);
	x = &t->state.model.at[i];
	_Static_assert(MR_SAVED_MAX_DIMS <= sizeof(out->dim) / sizeof(out->dim[0]), "room for all dimensions");
	*out = (mr_training_tensor){.name = x->name, .data = x->data, .n_dims = x->n_dims,
				    .dtype = x->dtype == MR_F64    ? MR_JOB_F64
					     : x->dtype == MR_BF16 ? MR_JOB_BF16
									 : MR_JOB_F32};
	for (uint32_t d = 0; d < x->n_dims; d++)
		out->dim[d] = x->shape[d];
	return MR_OK;
}

mr_status mr_training_tensor_at(mr_training *t, size_t i, mr_training_tensor *out)
{
	if (!out)
		return mr_fail(MR_EINVAL, "mr_training_tensor_at: the place for the tensor is NULL");
	*out = (mr_training_tensor){0};
	MR_TRY(mr_training_enter(t, "mr_training_tensor_at"));
	return mr_training_leave(t, tensor_at(t, i, out));
}
