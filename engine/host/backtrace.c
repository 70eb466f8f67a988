#include "host/backtrace.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/activity.h"

/* Calls whose first argument is a file. For all other calls the report has only the name. */
static const struct {
	long number;
	const char *name;
} calls[] = {
	{SYS_read, "read"},           {SYS_write, "write"},         {SYS_pread64, "read"},
	{SYS_pwrite64, "write"},      {SYS_readv, "read"},          {SYS_writev, "write"},
	{SYS_fsync, "fsync"},         {SYS_fdatasync, "fdatasync"}, {SYS_fallocate, "fallocate"},
	{SYS_ftruncate, "ftruncate"}, {SYS_close, "close"},         {SYS_fstat, "stat"},
	{SYS_getdents64, "read"},     {SYS_lseek, "lseek"},         {SYS_openat, "open"},
	{SYS_renameat2, "rename"},    {SYS_unlinkat, "unlink"},     {SYS_mkdirat, "mkdir"},
#ifdef SYS_rename
	{SYS_rename, "rename"},       {SYS_open, "open"},           {SYS_unlink, "unlink"},
#endif
};

bool mr_backtrace_call(int tid, char *text, int size)
{
	char path[64], file[512];
	long number = -1;
	unsigned long fd = 0;
	const char *name = NULL;
	mr_activity a = {.what = "", .call = "", .fd = -1};
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "re");
	n = f ? fscanf(f, "%ld %lx", &number, &fd) : 0;
	if (f)
		fclose(f);
	for (size_t i = 0; n == 2 && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			name = calls[i].name;
	if (!name)
		return false;
	if (number != SYS_openat && number != SYS_unlinkat && number != SYS_mkdirat && fd < 1u << 20)
		a.fd = (int)fd;
	mr_activity_file(&a, file, sizeof(file));
	snprintf(text, (size_t)size, "%s%s%s", name, *file ? " of " : "", file);
	return true;
}

#ifdef __GLIBC__
#include <dlfcn.h>
#include <execinfo.h>

#include "host/clock.h"

enum { N_FRAMES = 32, N_OWN = 2, ANSWER_MS = 500 }; /* N_OWN: the handler and the kernel's frame below it */

static _Atomic int asked, answered; /* the thread that is to answer; frames found, -1: no answer yet */
static void *frame[N_FRAMES];

static void answer(int signal)
{
	int saved = errno;

	(void)signal;
	if (atomic_load_explicit(&asked, memory_order_acquire) == (int)syscall(SYS_gettid)) {
		int n = backtrace(frame, N_FRAMES);

		/* Publishes the frames; pairs with the load in ask(). */
		atomic_store_explicit(&answered, n, memory_order_release);
	}
	errno = saved;
}

void mr_backtrace_arm(void)
{
	struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART};
	void *one[1];

	(void)backtrace(one, 1); /* loads the unwinder, which no handler may do */
	sigfillset(&action.sa_mask);
	sigaction(MR_BACKTRACE_SIGNAL, &action, NULL);
}

/* Frames of thread @tid in `frame`; 0: it does not answer. */
static int ask(int tid)
{
	int n = -1;

	atomic_store_explicit(&answered, -1, memory_order_relaxed);
	atomic_store_explicit(&asked, tid, memory_order_release);
	if (syscall(SYS_tgkill, getpid(), tid, MR_BACKTRACE_SIGNAL))
		return 0;
	for (int i = 0; i < ANSWER_MS && n < 0; i++) {
		mr_clock_sleep(1000000);
		n = atomic_load_explicit(&answered, memory_order_acquire);
	}
	atomic_store_explicit(&asked, 0, memory_order_relaxed);
	return n < 0 ? 0 : n;
}

/* The first line of /proc/self/task/@tid/@file. */
static bool read_line(int tid, const char *file, char *text, int size)
{
	char path[64];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(text, size, f) != NULL;
	fclose(f);
	text[ok ? strcspn(text, "\n") : 0] = '\0';
	return ok;
}

static const char *state_of(int tid)
{
	char text[256], *end;

	if (!read_line(tid, "stat", text, sizeof(text)) || !(end = strrchr(text, ')')) || end[1] != ' ')
		return "gone";
	switch (end[2]) {
	case 'R': return "runs";
	case 'S': return "sleeps";
	case 'D': return "is inside the kernel";
	case 'T': case 't': return "is stopped";
	default: return "has ended";
	}
}

static void show(int tid, const char *name, void (*line)(void *arg, const char *text), void *arg)
{
	char text[700], call[560];
	int n;

	if (!mr_backtrace_call(tid, call, sizeof(call)))
		*call = '\0';
	snprintf(text, sizeof(text), "%s (thread %d) %s%s%s", name, tid, state_of(tid), *call ? " in " : "", call);
	n = ask(tid);
	if (n <= N_OWN)
		strncat(text, ", and does not answer", sizeof(text) - strlen(text) - 1);
	line(arg, text);
	for (int i = N_OWN; i < n; i++) {
		Dl_info d = {0};
		bool known = dladdr(frame[i], &d) != 0;
		const char *file = known && d.dli_fname ? strrchr(d.dli_fname, '/') : NULL;

		snprintf(text, sizeof(text), "    %s (%s+0x%zx)", known && d.dli_sname ? d.dli_sname : "?",
			 file ? file + 1 : known && d.dli_fname ? d.dli_fname : "?",
			 (size_t)((const char *)frame[i] - (known ? (const char *)d.dli_fbase : NULL)));
		line(arg, text);
	}
}

void mr_backtrace_threads(const char *name, void (*line)(void *arg, const char *text), void *arg)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int tid = atoi(e->d_name);
		char comm[32];

		if (tid > 0 && read_line(tid, "comm", comm, sizeof(comm)) && !strcmp(comm, name))
			show(tid, name, line, arg);
	}
	if (d)
		closedir(d);
}

#else

void mr_backtrace_arm(void)
{
}

void mr_backtrace_threads(const char *name, void (*line)(void *arg, const char *text), void *arg)
{
	(void)name;
	(void)line;
	(void)arg;
}

#endif
