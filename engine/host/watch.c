#include "host/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/backtrace.h"
#include "host/service.h"
#include "host/signals.h"
#include "host/stall.h"

#define LOOK_NS 250000000u /* and at least four times within the limit */

struct mr_watch {
	double seconds;
	mr_watch_hangs *hangs;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool ending;                    /* guarded by the lock */
	mr_stall stall[MR_ACTIVITIES];  /* from here on the thread's own */
	uint64_t reported[MR_ACTIVITIES];   /* the beat that was reported as hanging; 0: none */
};

static double limit_of(const mr_watch *w)
{
	bool automatic = w->seconds < 0 || (w->seconds == 0 && mr_signals_end());

	return automatic ? MR_WATCH_AUTOMATIC_S : w->seconds;
}

static void name_of(int tid, char name[20])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%19s", name) != 1)
		snprintf(name, 20, "a thread");
	if (f)
		fclose(f);
}

/* Report the work @a in place @i, once. */
static void report(mr_watch *w, unsigned i, const mr_activity *a)
{
	char text[1024], file[512], call[560] = "", name[20];
	bool known = *a->call != '\0';

	if (w->reported[i] == a->beat)
		return;
	w->reported[i] = a->beat;
	name_of(a->tid, name);
	mr_activity_file(a, file, sizeof(file));
	if (known)
		snprintf(call, sizeof(call), "%s%s%s", a->call, *file ? " of " : "", file);
	else
		known = mr_backtrace_call(a->tid, call, sizeof(call));
	snprintf(text, sizeof(text), "%s hangs%s%s: %s has not returned for %.1f seconds",
		 a->tid == (int)getpid() ? "the main thread" : name,
		 *a->what ? " where it " : "", a->what, known ? call : "its work", (double)w->stall[i].idle_ns / 1e9);
	w->hangs(w->arg, name, text);
}

/* Look at all places once. */
static void look(mr_watch *w)
{
	double limit = limit_of(w);
	bool busy = false, hangs = false;

	for (unsigned i = 0; i < MR_ACTIVITIES; i++) {
		mr_activity a;

		if (!mr_activity_at(i, &a)) {
			mr_stall_go_on(&w->stall[i]);
			continue;
		}
		busy = true;
		w->stall[i].limit_ns = 0;
		if (limit > 0)
			w->stall[i].limit_ns =
				(uint64_t)(1e9 * limit) + a.bytes * (1000000000u / MR_WATCH_BYTES_PER_S);
		if (mr_stall_look(&w->stall[i], a.beat, 0)) {
			hangs = true;
			report(w, i, &a);
		}
	}
	if (busy && !hangs)
		mr_service_alive();
}

static void *watch(void *arg)
{
	mr_watch *w = arg;
	bool ending = false;

	pthread_setname_np(pthread_self(), "mr-watch");
	while (!ending) {
		double limit = limit_of(w);
		uint64_t ns = limit > 0 && limit * 1e9 / 4 < LOOK_NS ? (uint64_t)(limit * 1e9 / 4) : LOOK_NS;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		ns += (uint64_t)t.tv_nsec;
		t.tv_sec += (time_t)(ns / 1000000000u);
		t.tv_nsec = (long)(ns % 1000000000u);
		pthread_mutex_lock(&w->lock);
		while (!w->ending && !pthread_cond_timedwait(&w->end, &w->lock, &t))
			;
		ending = w->ending;
		pthread_mutex_unlock(&w->lock);
		if (!ending)
			look(w);
	}
	return NULL;
}

mr_status mr_watch_start(double seconds, mr_watch_hangs *hangs, void *arg, mr_watch **out)
{
	mr_watch *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	sigset_t all, before;
	int err;

	*out = NULL;
	if (!w)
		return mr_fail(MR_ERESOURCE, "no memory to watch the work with files");
	w->seconds = seconds;
	w->hangs = hangs;
	w->arg = arg;
	for (unsigned i = 0; i < MR_ACTIVITIES; i++)
		mr_stall_init(&w->stall[i], 0);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->end, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all); /* only the main thread handles signals */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		pthread_cond_destroy(&w->end);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return mr_fail(MR_ERESOURCE, "cannot start the thread that watches the work with files: %s",
			       strerror(err));
	}
	*out = w;
	return MR_OK;
}

void mr_watch_stop(mr_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->end);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->end);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
