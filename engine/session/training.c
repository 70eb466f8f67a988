/* training.c - the library's interface to a session (millrace/training.h). */
#include "millrace/training.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/job.h"
#include "millrace/millrace.h"
#include "session/session.h"

struct mr_training {
	mr_training *next;        /* in the list of open trainings; guarded by its lock */
	pid_t process;            /* that opened it */
	bool busy;                /* a function of it is under way, on thread `by`; guarded by the same lock */
	pthread_t by;
	mr_job job;               /* its own, checked */
	mr_session s;
	_Atomic uint64_t steps;
	_Atomic double loss;
	_Atomic bool stop;        /* mr_training_stop was called */
	mr_training_wait *wait;   /* NULL: none */
	void *wait_arg;
	bool hangs;               /* a thread of it hangs, and uses its memory */
	mr_state state;           /* of the last mr_training_tensors */
	bool has_state;
	mr_strbuf ignored;
};

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

/* Begin @function of @t. A function that a training calls may not call one of the same training. */
static mr_status enter(mr_training *t, const char *function)
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
	}
	pthread_mutex_unlock(&lock);
	return st;
}

static mr_status leave(mr_training *t, mr_status st)
{
	pthread_mutex_lock(&lock);
	t->busy = false;
	pthread_mutex_unlock(&lock);
	return st;
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

/* What a training of the library does not do, as the keys that ask for it. */
static void list_ignored(const mr_job *from, mr_strbuf *out)
{
	static const mr_job_group groups[] = {MR_JOB_CHECKPOINT, MR_JOB_TRACE, MR_JOB_SAMPLE};
	char usual[256];

	mr_strbuf_init(out);
	snprintf(usual, sizeof(usual), "runs/%s", from->name ? from->name : "");
	if (from->run_dir && *from->run_dir && strcmp(from->run_dir, usual) != 0)
		mr_strbuf_append(out, "run.dir, ");
	if (from->tensorboard)
		mr_strbuf_append(out, "run.tensorboard, ");
	if (from->train.eval_every)
		mr_strbuf_append(out, "train.eval_every, ");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		mr_job_changed(from, groups[i], out);
	if (out->len)
		out->data[out->len -= 2] = '\0';
}

static void release(mr_training *t)
{
	if (t->hangs) /* the thread that hangs uses all of it */
		return;
	if (t->has_state)
		mr_state_fini(&t->state);
	mr_session_close(&t->s);
	mr_job_fini(&t->job);
	mr_strbuf_fini(&t->ignored);
	free(t);
}

static mr_status open_all(const mr_job *job, mr_training *t)
{
	MR_TRY(mr_job_copy(job, &t->job));
	MR_TRY(mr_job_check(&t->job));
	MR_TRY(mr_session_open(&t->job, &t->s));
	return mr_session_start(&t->s, NULL);
}

mr_status mr_training_open(const mr_job *job, mr_training **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	mr_training *t;
	mr_status st;

	if (out)
		*out = NULL;
	if (!job || !out)
		return mr_fail(MR_EINVAL, "mr_training_open: %s is NULL",
			       job ? "the place for the training" : "the job");
	pthread_once(&once, prepare_forks);
	t = calloc(1, sizeof(*t));
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a training");
	t->process = getpid();
	t->loss = NAN;
	list_ignored(job, &t->ignored);
	st = t->ignored.failed ? mr_fail(MR_ERESOURCE, "no memory for a training") : open_all(job, t);
	if (st != MR_OK) {
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

mr_status mr_training_close(mr_training *t)
{
	mr_training **at = &open_ones;

	if (!t)
		return MR_OK;
	MR_TRY(enter(t, "mr_training_close"));
	pthread_mutex_lock(&lock);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_mutex_unlock(&lock);
	release(t);
	return MR_OK;
}

const char *mr_training_ignored(const mr_training *t)
{
	const char *text;

	pthread_mutex_lock(&lock);
	text = find(t, "mr_training_ignored") == MR_OK ? mr_strbuf_text(&t->ignored) : "";
	pthread_mutex_unlock(&lock);
	return text;
}

/* --- training --- */

typedef struct watch {
	mr_training *t;
	mr_training_progress *progress;
	void *arg;
} watch;

/* Called only for the decision whether to go on. */
static bool still_wanted(mr_training *t)
{
	if (t->wait && !t->wait(t->wait_arg))
		atomic_store_explicit(&t->stop, true, memory_order_relaxed);
	return !atomic_load_explicit(&t->stop, memory_order_relaxed);
}

static bool follow(void *arg, const mr_step_rec *rec)
{
	watch *w = arg;
	mr_training_step step;

	if (!rec)
		return still_wanted(w->t);
	step = (mr_training_step){.step = rec->step, .loss = rec->loss, .lr = rec->lr};
	w->t->loss = rec->loss;
	w->t->steps = rec->step;
	return !w->progress || w->progress(w->arg, &step);
}

static void forget_state(mr_training *t)
{
	if (t->has_state)
		mr_state_fini(&t->state);
	t->has_state = false;
}

/* The training's threads cannot be waited for any more. */
static mr_status hang_or(mr_training *t, mr_status st)
{
	t->hangs = t->hangs || st == MR_ESTALLED;
	return st;
}

static mr_status not_hanging(const mr_training *t, const char *function)
{
	return t->hangs ? mr_fail(MR_ESTALLED, "%s: a thread of this training hangs; it can only be closed", function)
			: MR_OK;
}

static mr_status run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg)
{
	watch w = {t, progress, arg};
	uint64_t reached = t->steps;
	mr_status st;

	MR_TRY(not_hanging(t, "mr_training_run"));
	forget_state(t);
	atomic_store_explicit(&t->stop, false, memory_order_relaxed);
	if (t->s.executor.engine)
		mr_engine_obey(t->s.executor.engine, progress != NULL);
	st = mr_executor_run(&t->s.executor, until, follow, &w, &reached);
	if (st == MR_OK)
		t->steps = reached;
	return hang_or(t, st);
}

mr_status mr_training_run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg)
{
	MR_TRY(enter(t, "mr_training_run"));
	return leave(t, run(t, until, progress, arg));
}

mr_status mr_training_on_wait(mr_training *t, mr_training_wait *wait, void *arg)
{
	MR_TRY(enter(t, "mr_training_on_wait"));
	t->wait = wait;
	t->wait_arg = arg;
	return leave(t, MR_OK);
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
	if (find(t, "mr_training_lag") == MR_OK && t->s.executor.engine)
		lag = mr_engine_lag(t->s.executor.engine);
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

static bool evaluation_wanted(void *arg)
{
	return still_wanted(arg);
}

static mr_status evaluate(mr_training *t, double *loss, double *accuracy)
{
	MR_TRY(not_hanging(t, "mr_training_evaluate"));
	if (!loss)
		return mr_fail(MR_EINVAL, "mr_training_evaluate: the place for the loss is NULL");
	if (!t->s.data->n_valid)
		return mr_fail(MR_EDATA, "%s has no validation part", t->s.data->ops->name);
	atomic_store_explicit(&t->stop, false, memory_order_relaxed);
	MR_TRY(hang_or(t, mr_executor_eval(&t->s.executor, evaluation_wanted, t, loss)));
	if (accuracy)
		*accuracy = mr_executor_scores(&t->s.executor).accuracy;
	return MR_OK;
}

mr_status mr_training_evaluate(mr_training *t, double *loss, double *accuracy)
{
	MR_TRY(enter(t, "mr_training_evaluate"));
	return leave(t, evaluate(t, loss, accuracy));
}

/* --- its weights --- */

static mr_status tensors(mr_training *t, size_t *n)
{
	MR_TRY(not_hanging(t, "mr_training_tensors"));
	if (!n)
		return mr_fail(MR_EINVAL, "mr_training_tensors: the place for their number is NULL");
	forget_state(t);
	t->state = (mr_state){0};
	t->has_state = true;
	MR_TRY(mr_executor_state(&t->s.executor, &t->state));
	*n = t->state.model.n;
	return MR_OK;
}

mr_status mr_training_tensors(mr_training *t, size_t *n)
{
	MR_TRY(enter(t, "mr_training_tensors"));
	return leave(t, tensors(t, n));
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
				    .dtype = x->dtype == MR_SAVED_F64    ? MR_JOB_F64
					     : x->dtype == MR_SAVED_BF16 ? MR_JOB_BF16
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
	MR_TRY(enter(t, "mr_training_tensor_at"));
	return leave(t, tensor_at(t, i, out));
}
