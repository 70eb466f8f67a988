#include "perf/steps/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"

static void child(const mr_process_params *params, const int fds[3], pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127); /* died before the line above */
	if (params->dir && chdir(params->dir)) {
		dprintf(fds[2], "%s: %s\n", params->dir, strerror(errno));
		_exit(127);
	}
	for (int i = 0; i < 3; i++)
		dup2(fds[i], i);
	signal(SIGPIPE, SIG_DFL);
	for (const char *const *e = params->env; e && *e; e++)
		putenv((char *)(uintptr_t)*e);
	execvp(params->argv[0], (char *const *)(uintptr_t)params->argv);
	dprintf(2, "%s: %s\n", params->argv[0], strerror(errno));
	_exit(127);
}

/* The two ends of its standard output. */
static bool open_output(bool terminal, int *ours, int *its)
{
	int pair[2];

	if (!terminal) {
		if (pipe2(pair, O_CLOEXEC))
			return false;
		*ours = pair[0];
		*its = pair[1];
		return true;
	}
	*ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ours < 0 || grantpt(*ours) || unlockpt(*ours))
		return false;
	*its = open(ptsname(*ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
	return *its >= 0;
}

mr_status mr_process_start(mr_process *p, const mr_process_params *params)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	pid_t parent = getpid();
	bool ok;

	*p = (mr_process){.in = -1, .out = -1};
	ok = !pipe2(in, O_CLOEXEC) && open_output(params->terminal, &out[0], &out[1]) && (p->errors = tmpfile());
	if (ok) {
		int fds[3] = {in[0], out[1], fileno(p->errors)};

		fflush(NULL);
		p->pid = fork();
		if (p->pid == 0)
			child(params, fds, parent);
		ok = p->pid > 0;
		if (ok)
			setpgid(p->pid, p->pid); /* parent or child, the first of them; afterwards signals to the group
			                            arrive */
	}
	p->in = in[1];
	p->out = out[0];
	if (in[0] >= 0)
		close(in[0]);
	if (out[1] >= 0)
		close(out[1]);
	if (ok)
		return MR_OK;
	mr_fail(MR_ERESOURCE, "%s cannot be started: %s", params->argv[0], strerror(errno));
	p->pid = 0;
	mr_process_stop(p);
	return MR_ERESOURCE;
}

/* Why it ended: the last line of its standard error. */
static mr_status ended(mr_process *p)
{
	char line[512], last[512] = "it ended without a word";

	rewind(p->errors);
	while (fgets(line, sizeof(line), p->errors)) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			strcpy(last, line);
	}
	return mr_fail(MR_EIO, "%s", last);
}

mr_status mr_process_say(mr_process *p, const char *line)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s\n", line);

	return write(p->in, text, (size_t)n) == n ? MR_OK : ended(p);
}

static bool take_line(mr_process *p, char *line, size_t size)
{
	char *end = memchr(p->buf, '\n', p->n);
	size_t n;

	if (!end && p->n < sizeof(p->buf))
		return false;
	n = end ? (size_t)(end - p->buf) : p->n;
	snprintf(line, size, "%.*s", (int)(n && p->buf[n - 1] == '\r' ? n - 1 : n), p->buf);
	n += end != NULL;
	memmove(p->buf, p->buf + n, p->n - n);
	p->n -= n;
	return true;
}

mr_status mr_process_line(mr_process *p, double seconds, char *line, size_t size)
{
	uint64_t until = mr_clock_ns() + (uint64_t)(seconds * 1e9);

	while (!take_line(p, line, size)) {
		uint64_t now = mr_clock_ns();
		struct pollfd f = {.fd = p->out, .events = POLLIN};
		ssize_t got;

		if (now >= until)
			return mr_fail(MR_EIO, "it said nothing for %.0f s", seconds);
		if (poll(&f, 1, (int)((until - now) / 1000000 + 1)) <= 0)
			continue;
		got = read(p->out, p->buf + p->n, sizeof(p->buf) - p->n);
		if (got <= 0)
			return ended(p);
		p->n += (size_t)got;
	}
	return MR_OK;
}

uint64_t mr_process_cpu_ns(const mr_process *p)
{
	struct timespec t;
	clockid_t clock;

	if (p->pid == 0 || clock_getcpuclockid(p->at_work ? p->at_work : p->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void mr_process_signal(const mr_process *p, int sig)
{
	if (p->pid > 0)
		kill(-p->pid, sig);
}

void mr_process_stop(mr_process *p)
{
	if (p->pid > 0) {
		mr_process_signal(p, SIGKILL);
		waitpid(p->pid, NULL, 0);
		p->pid = p->at_work = 0;
	}
	if (p->in >= 0)
		close(p->in);
	if (p->out >= 0)
		close(p->out);
	if (p->errors)
		fclose(p->errors);
	p->in = p->out = -1;
	p->errors = NULL;
}
