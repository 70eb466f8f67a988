#include "report/output.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
	return is_standard(path) ? MR_OK : mr_result_check(path);
}

mr_status mr_output_open(const char *path, mr_output *out)
{
	*out = (mr_output){.file = stdout, .standard = is_standard(path)};
	if (out->standard)
		return MR_OK;
	fflush(stdout); /* the path may be another name of it: /dev/stdout */
	MR_TRY(mr_result_begin(&out->result, path, MR_RESULT_NAMED));
	out->file = out->result.file;
	return MR_OK;
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

/* @err: errno of a write that has failed already, or 0 */
static mr_status flush(mr_status st, int err)
{
	bool failed;

	errno = 0;
	failed = fflush(stdout) || ferror(stdout) || st == MR_EIO;
	err = err ? err : errno;
	if (failed && mr_output_abandoned())
		return st == MR_EIO ? MR_OK : st;
	if (failed && (st == MR_OK || st == MR_EIO))
		st = mr_fail(MR_EIO, "cannot write to standard output%s%s", err ? ": " : "", err ? strerror(err) : "");
	return st;
}

mr_status mr_output_flush(mr_status st)
{
	return flush(st, 0);
}

mr_status mr_output_close(mr_output *out, mr_status st)
{
	if (out->standard)
		return mr_output_flush(st);
	return mr_result_end(&out->result, st);
}

mr_status mr_output_make(const char *path, mr_status (*make)(const void *arg, FILE *out), const void *arg)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	mr_status st;

	if (!memory)
		return mr_fail(MR_ERESOURCE, "no memory for a report");
	st = make(arg, memory);
	if (fclose(memory) || st == MR_EIO)
		st = mr_fail(MR_ERESOURCE, "no memory for a report");
	if (st == MR_OK && is_standard(path)) {
		errno = 0;
		fwrite(text, 1, len, stdout);
		st = flush(MR_OK, ferror(stdout) ? errno : 0);
	} else if (st == MR_OK) {
		fflush(stdout);
		st = mr_result_write(path, text, len, MR_RESULT_NAMED);
	}
	free(text);
	return st;
}
