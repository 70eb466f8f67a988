/* train_watch.c - the end of a training whose work with files hangs, on whatever thread. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "training/train.h"
#include "threads/watchdog.h"
#include "host/service.h"

#define PATIENCE_MS 2000 /* for a reader of standard error that does not read */

/* As main does, without the locks and buffers of a thread that may hang. */
static _Noreturn void give_up(const char *text)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&p, 1, PATIENCE_MS) > 0)
		(void)!write(STDERR_FILENO, text, strlen(text));
	mr_service_notify("STOPPING=1");
	_exit(mr_status_exit_code(MR_ESTALLED));
}

/* A library ends no process: the training ends where its caller can still be told. */
static void library_hangs(mr_train *t, const char *thread, const char *text)
{
	mr_log(MR_LOG_WARN, "training", "%s", text);
	if (strcmp(thread, MR_CHECKPOINT_WRITER_THREAD) || !mr_checkpoint_writer_busy(t->writer))
		return;
	mr_checkpoint_writer_give_up(t->writer);
	t->ends_hung = true;
}

static void hangs(void *arg, const char *thread, const char *text)
{
	mr_train *t = arg;
	uint64_t saved = t->saved;
	char line[1400];

	if (t->goes_on && !strcmp(thread, MR_CHECKPOINT_WRITER_THREAD)) {
		mr_checkpoint_writer_give_up(t->writer);
		mr_log(MR_LOG_WARN, "checkpoint", "%s; the training goes on, and until that returns no step is saved",
		       text);
		return;
	}
	if (!t->opts.owns_process) {
		library_hangs(t, thread, text);
		return;
	}
	mr_watchdog_show(thread);
	if (saved == MR_TRAIN_UNKNOWN)
		snprintf(line, sizeof(line), "millrace: %s; nothing has been trained yet\n", text);
	else if (saved)
		snprintf(line, sizeof(line),
			 "millrace: %s; the newest checkpoint is that of step %llu, and --resume goes on from there\n",
			 text, (unsigned long long)saved);
	else
		snprintf(line, sizeof(line), "millrace: %s; no checkpoint had been saved before\n", text);
	give_up(line);
}

mr_status mr_train_watch(mr_train *t)
{
	t->goes_on = t->s.job->checkpoint.hung == MR_HUNG_SKIP; /* the job may be gone before the watch is */
	return mr_watch_start(t->s.job->machine.watchdog, hangs, t, &t->watch);
}
