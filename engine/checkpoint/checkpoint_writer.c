#include "checkpoint/checkpoint_writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/log.h"
#include "checkpoint/state_copy.h"
#include "host/background.h"
#include "host/backtrace.h"
#include "host/memory.h"
#include "host/pin.h"

struct mr_checkpoint_writer {
	char *dir;
	mr_checkpoint_writer_before *before;
	void *arg;
	const mr_place *place;
	mr_region copy;
	mr_checkpoint_draft draft;
	pthread_t thread;
	bool busy; /* the thread was started and is not joined */
	mr_status status;
	char text[1024];
	_Atomic bool failed; /* C0: set after `status` and `text`, which are read after the join */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	bool finished;        /* the thread is about to end */
	bool given_up;        /* it hangs, and nobody waits for it */
};

mr_status mr_checkpoint_writer_write(mr_checkpoint_writer *w)
{
	mr_status st = MR_OK;

	mr_activity_begin("saves a checkpoint");
	if (w->before)
		st = w->before(w->arg);
	if (st == MR_OK)
		st = mr_checkpoint_save(w->dir, &w->draft.content, NULL);
	mr_activity_end();
	return st;
}

static void *write_behind(void *arg)
{
	mr_checkpoint_writer *w = arg;

	pthread_setname_np(pthread_self(), MR_CHECKPOINT_WRITER_THREAD);
	mr_background();
	if (w->place->bindable && w->place->n_cores_idle)
		(void)mr_pin(w->place->idle, w->place->n_cores_idle); /* not allowed: then it runs where it may */
	MR_FAULT_POINT("checkpoint.background.before");
	w->status = mr_checkpoint_writer_write(w);
	if (w->status != MR_OK) {
		snprintf(w->text, sizeof(w->text), "%s", mr_error_text());
		atomic_store_explicit(&w->failed, true, memory_order_release);
	}
	MR_FAULT_POINT("checkpoint.background.after");
	pthread_mutex_lock(&w->lock);
	w->finished = true;
	pthread_cond_signal(&w->change);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Copy the present state, so that the memory is touched by the threads that will write it. */
static mr_status touch(mr_session *s, mr_checkpoint_writer *w)
{
	const mr_saved_tensor *bad;
	double squares;
	uint64_t bytes;
	mr_state st;
	mr_status err = MR_OK;

	MR_TRY(mr_executor_state(&s->executor, &st));
	bytes = mr_state_copy_bytes(&st);
	if (bytes <= w->copy.asked_bytes) {
		err = mr_state_copy(&st, &s->place, w->copy.base, &squares, &bad);
		mr_region_prefault(&w->copy, bytes, w->copy.asked_bytes - bytes); /* for work under way */
	}
	mr_state_fini(&st);
	return err;
}

mr_status mr_checkpoint_writer_open(mr_session *s, const char *dir, mr_checkpoint_writer_before *before, void *arg,
				    mr_checkpoint_writer **out)
{
	mr_checkpoint_writer *w;
	mr_node_list spare;
	mr_status st;

	*out = NULL;
	if (!s->copy_bytes)
		return MR_OK;
	w = calloc(1, sizeof(*w));
	if (!w || !(w->dir = strdup(dir))) {
		free(w);
		return mr_fail(MR_ERESOURCE, "no memory to write checkpoints");
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->change, NULL);
	w->place = &s->place;
	w->before = before;
	w->arg = arg;
	mr_place_count_free(&s->place);
	spare = mr_place_spare(&s->place, s->copy_bytes);
	st = mr_region_map(&w->copy, s->copy_bytes, s->place.bindable ? &spare : NULL);
	if (st == MR_OK)
		st = touch(s, w);
	if (st == MR_OK)
		*out = w;
	else
		mr_checkpoint_writer_close(w);
	return st;
}

void mr_checkpoint_writer_close(mr_checkpoint_writer *w)
{
	bool written;

	if (!w)
		return;
	if (mr_checkpoint_writer_wait(w, &written) != MR_OK)
		mr_log(MR_LOG_WARN, "checkpoint", "%s", mr_error_text());
	if (w->busy) /* it hangs and still uses the memory; the process is about to end */
		return;
	mr_region_unmap(&w->copy);
	pthread_cond_destroy(&w->change);
	pthread_mutex_destroy(&w->lock);
	free(w->dir);
	free(w);
}

mr_checkpoint_draft *mr_checkpoint_writer_draft(mr_checkpoint_writer *w)
{
	return &w->draft;
}

void *mr_checkpoint_writer_room(mr_checkpoint_writer *w, uint64_t *bytes)
{
	*bytes = w->copy.asked_bytes;
	return w->copy.base;
}

mr_status mr_checkpoint_writer_begin(mr_checkpoint_writer *w)
{
	sigset_t all, before;
	int err;

	w->draft.content.n_threads = w->place->n_cores_idle ? w->place->n_cores_idle : w->place->n_cores_used;
	MR_FAULT_POINT("checkpoint.copied.before");
	w->finished = w->given_up = false;
	sigfillset(&all); /* only the main thread handles signals */
	sigdelset(&all, MR_BACKTRACE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&w->thread, NULL, write_behind, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return mr_fail(MR_ERESOURCE, "cannot start the thread that writes a checkpoint: %s", strerror(err));
	w->busy = true;
	return MR_OK;
}

bool mr_checkpoint_writer_busy(const mr_checkpoint_writer *w)
{
	return w && w->busy;
}

bool mr_checkpoint_writer_over(mr_checkpoint_writer *w)
{
	bool over;

	pthread_mutex_lock(&w->lock);
	over = w->busy && w->finished;
	pthread_mutex_unlock(&w->lock);
	return over;
}

bool mr_checkpoint_writer_failed(const mr_checkpoint_writer *w)
{
	return w && atomic_load_explicit(&w->failed, memory_order_acquire);
}

void mr_checkpoint_writer_give_up(mr_checkpoint_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->given_up = true;
	pthread_cond_signal(&w->change);
	pthread_mutex_unlock(&w->lock);
}

bool mr_checkpoint_writer_hangs(mr_checkpoint_writer *w)
{
	bool hangs;

	if (!w || !w->busy)
		return false;
	pthread_mutex_lock(&w->lock);
	hangs = w->given_up && !w->finished;
	pthread_mutex_unlock(&w->lock);
	return hangs;
}

mr_status mr_checkpoint_writer_wait(mr_checkpoint_writer *w, bool *written)
{
	bool finished;
	mr_status st;

	*written = false;
	if (!w || !w->busy)
		return MR_OK;
	pthread_mutex_lock(&w->lock);
	while (!w->finished && !w->given_up)
		pthread_cond_wait(&w->change, &w->lock);
	finished = w->finished;
	pthread_mutex_unlock(&w->lock);
	if (!finished)
		return mr_fail(MR_ESTALLED, "the checkpoint of step %llu is not written yet: its write hangs",
			       (unsigned long long)w->draft.content.step);
	pthread_join(w->thread, NULL);
	w->busy = false;
	mr_state_fini(&w->draft.state);
	st = w->status;
	atomic_store_explicit(&w->failed, false, memory_order_relaxed);
	*written = st == MR_OK;
	return st == MR_OK ? MR_OK : mr_fail(st, "%s", w->text);
}
