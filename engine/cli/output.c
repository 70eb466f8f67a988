#include "cli/output.h"

#include <errno.h>
#include <string.h>

mr_status mr_output_open(const char *path, FILE **out)
{
	*out = *path ? fopen(path, "we") : stdout;
	return *out ? MR_OK : mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
}

mr_status mr_output_close(const char *path, FILE *out, mr_status st)
{
	if (!*path)
		return st == MR_EIO && ferror(out) && errno == EPIPE ? MR_OK : st;
	if (fclose(out) && st == MR_OK)
		return mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	return st;
}
