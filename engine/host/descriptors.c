#include "host/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 1024 };

/* How many of @more files can be opened now: all stay open until all were tried. */
static unsigned can_open(unsigned more)
{
	int fd[MOST];
	unsigned n = 0;

	while (n < more && (fd[n] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	for (unsigned i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

mr_status mr_descriptors_reserve(unsigned more)
{
	struct rlimit limit;
	unsigned n;

	more = more < MOST ? more : MOST;
	n = can_open(more);
	if (n == more || getrlimit(RLIMIT_NOFILE, &limit))
		return MR_OK;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = limit;
		rlim_t want = limit.rlim_cur + more - n;

		raised.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
		if (!setrlimit(RLIMIT_NOFILE, &raised)) {
			limit = raised;
			n = can_open(more);
		}
	}
	if (n == more)
		return MR_OK;
	return mr_fail(MR_ERESOURCE,
		       "a process may have %llu files open here (ulimit -n), which leaves %u, and the run needs up to "
		       "%u more for its logs, its data and a checkpoint: raise the limit to %llu",
		       (unsigned long long)limit.rlim_cur, n, more, (unsigned long long)limit.rlim_cur + more - n);
}
