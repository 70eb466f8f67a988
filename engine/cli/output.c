#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

mr_status mr_output_open(const char *path, FILE **out)
{
	*out = *path ? fopen(path, "we") : stdout;
	return *out ? MR_OK : mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
}

bool mr_output_abandoned(void)
{
	struct pollfd p = {.fd = fileno(stdout)};

	return ferror(stdout) && poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

mr_status mr_output_close(const char *path, FILE *out, mr_status st)
{
	if (!*path)
		return st == MR_EIO && mr_output_abandoned() ? MR_OK : st;
	if (fclose(out) && st == MR_OK)
		return mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	return st;
}
