/* The watch on work with files: a call that hangs is reported once, with thread, call and file; others are not. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "host/backtrace.h"
#include "host/clock.h"
#include "host/watch.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char told[4096];
static unsigned n_told;

static void note(void *arg, const char *thread, const char *text)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	n_told++;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "[%s] %s\n", thread, text);
	pthread_mutex_unlock(&lock);
}

static unsigned count(const char *text)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = text && !strstr(told, text) ? 0 : n_told;
	pthread_mutex_unlock(&lock);
	return n;
}

static void forget(void)
{
	pthread_mutex_lock(&lock);
	n_told = 0;
	told[0] = '\0';
	pthread_mutex_unlock(&lock);
}

static void wait_for(const char *text)
{
	for (int i = 0; i < 1000 && !count(text); i++)
		mr_clock_sleep(20000000);
	CU_ASSERT_TRUE(count(text) > 0);
}

static _Atomic bool go;

#define LIMIT_S 0.3

/* Saves, and hangs in a call until `go`. */
static void *hang(void *arg)
{
	int *fd = arg;

	pthread_setname_np(pthread_self(), "mr-test");
	mr_activity_begin("saves a test");
	mr_activity_call("fsync", *fd, "", 0);
	while (!atomic_load(&go))
		mr_clock_sleep(1000000);
	mr_activity_done();
	mr_activity_end();
	return NULL;
}

/* Makes calls that end, for longer than the limit in all. Returns for how many ns it stood at most, as it does where
 * others have its core. */
static void *work(void *arg)
{
	static uint64_t longest;
	uint64_t last = mr_clock_ns();
	int *fd = arg;

	longest = 0;
	mr_activity_begin("works");
	for (int i = 0; i <= 300; i++) {
		uint64_t now;

		if (i < 300) {
			mr_activity_call("write", *fd, "", 1);
			mr_clock_sleep(2000000);
			mr_activity_done();
		} else {
			mr_activity_end();
		}
		now = mr_clock_ns();
		longest = now - last > longest ? now - last : longest;
		last = now;
	}
	return &longest;
}

static void test_hangs(void)
{
	char path[] = "/tmp/mr-watch-XXXXXX", want[128];
	pthread_t thread[2];
	mr_watch *w;
	void *stood;
	int fd = mkstemp(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	atomic_store(&go, false);
	forget();
	MR_CHECK_OK(mr_watch_start(LIMIT_S, note, NULL, &w));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[0], NULL, hang, &fd), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[1], NULL, work, &fd), 0);
	snprintf(want, sizeof(want),
		 "[mr-test] mr-test hangs where it saves a test: fsync of %s has not returned for 0.", path);
	wait_for(want);
	pthread_join(thread[1], &stood);
	mr_clock_sleep(600000000);
	/* once, and nobody else */
	CU_ASSERT(count(NULL) == 1 || (double)*(uint64_t *)stood >= 1e9 * LIMIT_S);
	if (count(NULL) != 1)
		fprintf(stderr, "\n%s", told);
	atomic_store(&go, true);
	pthread_join(thread[0], NULL);

	/* A call outside of any work, with a name and no descriptor. The next one is reported again. */
	for (int i = 0; i < 2; i++) {
		forget();
		mr_activity_call("rename", -1, "nowhere", 0);
		wait_for("the main thread hangs: rename of nowhere has not returned");
		mr_activity_done();
	}

	/* A call that moves much has longer. */
	forget();
	mr_activity_call("write", fd, "", 100 * (uint64_t)MR_WATCH_BYTES_PER_S);
	mr_clock_sleep(1000000000);
	mr_activity_done();
	CU_ASSERT_EQUAL(count(NULL), 0);

	/* Work without a call. */
	mr_activity_begin("thinks");
	mr_activity_begin("thinks deeper");
	mr_activity_end();
	wait_for("the main thread hangs where it thinks:");
	mr_activity_end();
	mr_watch_stop(w);

	/* Without a limit nothing hangs. */
	forget();
	MR_CHECK_OK(mr_watch_start(0, note, NULL, &w));
	mr_activity_begin("thinks");
	mr_clock_sleep(800000000);
	mr_activity_end();
	mr_watch_stop(w);
	CU_ASSERT_EQUAL(count(NULL), 0);
	close(fd);
	unlink(path);
}

static _Atomic int reader;

static void *read_pipe(void *arg)
{
	char c;

	atomic_store(&reader, (int)gettid());
	CU_ASSERT_EQUAL(read(*(int *)arg, &c, 1), 1);
	return NULL;
}

/* Of a thread that names no call the kernel tells it: so a loader that hangs is found with its file. */
static void test_call_of(void)
{
	char text[300] = "", link[40], file[100];
	pthread_t thread;
	int p[2];
	ssize_t n;

	CU_ASSERT_EQUAL_FATAL(pipe(p), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_pipe, &p[0]), 0);
	for (int i = 0; i < 6000 && strncmp(text, "read of ", 8); i++) {
		mr_clock_sleep(10000000);
		if (atomic_load(&reader))
			(void)mr_backtrace_call(atomic_load(&reader), text, sizeof(text));
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", p[0]);
	n = readlink(link, file, sizeof(file) - 1);
	file[n < 0 ? 0 : n] = '\0';
	if (access("/proc/self/syscall", R_OK)) { /* a kernel without it */
		CU_ASSERT_STRING_EQUAL(text, "");
	} else {
		CU_ASSERT_TRUE(!strncmp(text, "read of ", 8) && !strcmp(text + 8, file));
	}
	CU_ASSERT_EQUAL(write(p[1], "x", 1), 1);
	pthread_join(thread, NULL);
	close(p[0]);
	close(p[1]);
}

static void *take(void *arg)
{
	pthread_barrier_t *b = arg;

	mr_activity_begin("holds a place");
	pthread_barrier_wait(b);
	pthread_barrier_wait(b);
	mr_activity_end();
	return NULL;
}

/* More threads than there are places work unseen, and give no place back that is not theirs. */
static void test_places(void)
{
	enum { N = MR_ACTIVITIES + 5 };
	pthread_t thread[N];
	pthread_barrier_t b;
	unsigned n = 0;
	mr_activity a;

	pthread_barrier_init(&b, NULL, N + 1);
	for (int i = 0; i < N; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, take, &b), 0);
	pthread_barrier_wait(&b);
	for (unsigned i = 0; i < MR_ACTIVITIES; i++)
		n += mr_activity_at(i, &a) && !strcmp(a.what, "holds a place");
	CU_ASSERT_EQUAL(n, MR_ACTIVITIES);
	pthread_barrier_wait(&b);
	for (int i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	n = 0;
	for (unsigned i = 0; i < MR_ACTIVITIES; i++)
		n += mr_activity_at(i, &a);
	CU_ASSERT_EQUAL(n, 0);
	pthread_barrier_destroy(&b);
}

void mr_suite_watch(void); /* the runner declares it too */

void mr_suite_watch(void)
{
	MR_SUITE("watch");
	MR_TEST(test_hangs);
	MR_TEST(test_places);
	MR_TEST(test_call_of);
}
