/* scratch.h - where tests keep files: below $TMPDIR, in memory (hundreds of fsyncs cost nothing there), or in /tmp. */
#ifndef MR_TESTS_SCRATCH_H
#define MR_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The template of a name for mkdtemp and mkstemp, in @path of @n bytes. Returns @path. */
static inline char *mr_scratch(char *path, size_t n, const char *name)
{
	const char *base = getenv("TMPDIR");

	if (!base || !*base || strlen(base) > 32) /* @path is short */
		base = access("/dev/shm", W_OK | X_OK) ? "/tmp" : "/dev/shm";
	snprintf(path, n, "%s/millrace-%s-XXXXXX", base, name);
	return path;
}

#endif
