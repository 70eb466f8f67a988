#include "base/activity.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mr_activity place[MR_ACTIVITIES]; /* guarded by the lock */
static uint64_t beats;                   /* likewise */

/* This thread's place, and how many works it has begun. */
static _Thread_local mr_activity *mine;
static _Thread_local unsigned depth;

/* With the lock: this thread's place, a free one if it has none; NULL: there is none. */
static mr_activity *take_place(void)
{
	for (unsigned i = 0; i < MR_ACTIVITIES && !mine; i++)
		if (!place[i].tid) {
			mine = &place[i];
			*mine = (mr_activity){.tid = (int)gettid(), .what = "", .call = "", .fd = -1};
		}
	if (mine)
		mine->beat = ++beats;
	return mine;
}

/* With the lock. */
static void give_back(void)
{
	if (mine)
		*mine = (mr_activity){0};
	mine = NULL;
}

void mr_activity_begin(const char *what)
{
	if (depth++)
		return;
	pthread_mutex_lock(&lock);
	if (take_place())
		mine->what = what;
	pthread_mutex_unlock(&lock);
}

void mr_activity_end(void)
{
	if (--depth)
		return;
	pthread_mutex_lock(&lock);
	give_back();
	pthread_mutex_unlock(&lock);
}

void mr_activity_call(const char *call, int fd, const char *name, uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	if (take_place()) {
		mine->call = call;
		mine->fd = fd;
		snprintf(mine->name, sizeof(mine->name), "%s", name);
		mine->bytes = bytes;
	}
	pthread_mutex_unlock(&lock);
}

void mr_activity_done(void)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (depth && take_place()) {
		mine->call = "";
		mine->bytes = 0;
	} else {
		give_back();
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

bool mr_activity_at(unsigned i, mr_activity *out)
{
	bool any;

	pthread_mutex_lock(&lock);
	*out = place[i];
	any = out->tid != 0;
	pthread_mutex_unlock(&lock);
	return any;
}

void mr_activity_file(const mr_activity *a, char *path, int size)
{
	char link[40];
	ssize_t n = -1;

	if (a->fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", a->fd);
		n = readlink(link, path, (size_t)size - 1);
	}
	path[n < 0 ? 0 : n] = '\0';
	n = (ssize_t)strlen(path);
	if (*a->name)
		snprintf(path + n, (size_t)(size - n), "%s%s", n ? "/" : "", a->name);
}
