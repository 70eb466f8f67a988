#include "host/sched_delay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Read "4180 1290 7\n": nanoseconds on a core, nanoseconds of delay, times it got a core. False: no such line. */
static bool read_counter(int fd, uint64_t *delay_ns, uint64_t *n_times)
{
	char text[96], *end;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	(void)strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	*delay_ns = strtoull(end + 1, &end, 10);
	if (*end != ' ')
		return false;
	*n_times = strtoull(end + 1, NULL, 10);
	return true;
}

bool mr_sched_delay_open(mr_sched_delay *d, const char *path)
{
	int fd = open(path ? path : "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	uint64_t delay_ns, n_times;

	d->fd_plus_1 = 0;
	if (fd < 0)
		return false;
	/* A thread that runs has got a core at least once: a kernel that says 0 does not count. */
	if (!read_counter(fd, &delay_ns, &n_times) || n_times == 0) {
		close(fd);
		return false;
	}
	d->fd_plus_1 = fd + 1;
	return true;
}

void mr_sched_delay_close(mr_sched_delay *d)
{
	if (d->fd_plus_1)
		close(d->fd_plus_1 - 1);
	d->fd_plus_1 = 0;
}

bool mr_sched_delay_known(const mr_sched_delay *d)
{
	return d->fd_plus_1 != 0;
}

uint64_t mr_sched_delay_ns(const mr_sched_delay *d)
{
	uint64_t delay_ns = 0, n_times;

	if (!d->fd_plus_1 || !read_counter(d->fd_plus_1 - 1, &delay_ns, &n_times))
		return 0;
	return delay_ns;
}
