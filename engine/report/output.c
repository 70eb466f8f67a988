#include "report/output.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COLUMNS 118 /* for a file that is no terminal */
#define MOST_COLUMNS 1000
#define LEAST_COLUMNS 40

static bool is_standard(const char *path)
{
	return !*path || !strcmp(path, "-");
}

mr_status mr_output_check(const char *path)
{
	struct stat s;
	bool is_new = lstat(path, &s) != 0;
	FILE *f;

	if (is_standard(path))
		return MR_OK;
	f = fopen(path, "abe");
	if (!f)
		return mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	fclose(f);
	if (is_new)
		unlink(path);
	return MR_OK;
}

mr_status mr_output_open(const char *path, FILE **out)
{
	*out = is_standard(path) ? stdout : fopen(path, "we");
	return *out ? MR_OK : mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
}

bool mr_output_abandoned(void)
{
	struct pollfd p = {.fd = fileno(stdout)};

	return ferror(stdout) && poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

unsigned mr_output_columns(FILE *out)
{
	const char *text = getenv("COLUMNS");
	long n = text ? strtol(text, NULL, 10) : 0;
	struct winsize size;

	if (!isatty(fileno(out)))
		return COLUMNS;
	if (n <= 0 && !ioctl(fileno(out), TIOCGWINSZ, &size))
		n = size.ws_col;
	if (n <= 0)
		return COLUMNS;
	return n < LEAST_COLUMNS ? LEAST_COLUMNS : n > MOST_COLUMNS ? MOST_COLUMNS : (unsigned)n;
}

/* Delete a truncated or empty report; never delete a device. */
static void remove_file(const char *path)
{
	struct stat s;

	if (!lstat(path, &s) && S_ISREG(s.st_mode))
		unlink(path);
}

/* @err: errno of a write that has failed already, or 0 */
static mr_status close_after(const char *path, FILE *out, mr_status st, int err)
{
	bool failed, standard = is_standard(path);

	errno = 0;
	failed = fflush(out) || ferror(out) || st == MR_EIO;
	err = err ? err : errno;
	if (standard && failed && mr_output_abandoned())
		return st == MR_EIO ? MR_OK : st;
	if (!standard && fclose(out)) { /* some systems report only now that there was no room */
		err = err ? err : errno;
		failed = true;
	}
	if (failed && (st == MR_OK || st == MR_EIO))
		st = mr_fail(MR_EIO, "%s%s%s%s", standard ? "" : path,
			     standard ? "cannot write to standard output" : ": cannot write", err ? ": " : "",
			     err ? strerror(err) : "");
	if (st != MR_OK && !standard)
		remove_file(path);
	return st;
}

mr_status mr_output_close(const char *path, FILE *out, mr_status st)
{
	return close_after(path, out, st, 0);
}

mr_status mr_output_make(const char *path, mr_status (*make)(const void *arg, FILE *out), const void *arg)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len), *out;
	mr_status st;

	if (!memory)
		return mr_fail(MR_ERESOURCE, "no memory for a report");
	st = make(arg, memory);
	if (fclose(memory) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for a report");
	if (st == MR_OK)
		st = mr_output_open(path, &out);
	if (st == MR_OK) {
		errno = 0;
		fwrite(text, 1, len, out);
		st = close_after(path, out, MR_OK, ferror(out) ? errno : 0);
	}
	free(text);
	return st;
}
