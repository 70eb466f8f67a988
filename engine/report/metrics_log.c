#include "report/metrics_log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/line_reader.h"
#include "base/room.h"

#define FLUSH_SECONDS 1.0
#define LONGEST_LINE ((size_t)1 << 20) /* bytes; a line of ours has less than a thousand */

struct mr_metrics_log {
	FILE *file;
	char *path;
	double flushed; /* monotonic seconds */
	int error;      /* errno of the first failure: later failures follow from it */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

mr_status mr_metrics_log_open(const char *path, mr_metrics_log **out)
{
	mr_metrics_log *log = calloc(1, sizeof(*log));
	mr_status st;

	if (!log || !(log->path = strdup(path))) {
		free(log);
		return mr_fail(MR_ERESOURCE, "no memory to open %s", path);
	}
	st = mr_file_stream(path, MR_FILE_APPEND, &log->file);
	if (st != MR_OK) {
		free(log->path);
		free(log);
		return st;
	}
	log->flushed = now();
	*out = log;
	return MR_OK;
}

static mr_status cannot_write(const mr_metrics_log *log, int error)
{
	mr_status code = mr_file_no_room(error) ? MR_ERESOURCE : MR_EIO;

	return mr_fail(code, "%s: cannot write: %s", log->path, strerror(error));
}

static mr_status refused(mr_metrics_log *log)
{
	if (!log->error)
		log->error = errno;
	return cannot_write(log, log->error);
}

static mr_status put(mr_metrics_log *log, const mr_figures *row)
{
	mr_json_writer w = mr_json_begin(log->file, false);

	mr_figures_put(row, false, &w);
	if (mr_json_finish(&w) != MR_OK)
		return refused(log);
	return now() - log->flushed >= FLUSH_SECONDS ? mr_metrics_log_flush(log) : MR_OK;
}

mr_status mr_metrics_log_put(mr_metrics_log *log, const mr_figures *row)
{
	mr_status st;

	mr_activity_call("write", fileno(log->file), "", 0);
	mr_fault_slow("metrics.write");
	st = put(log, row);
	mr_activity_done();
	return st;
}

mr_status mr_metrics_log_flush(mr_metrics_log *log)
{
	mr_status st;

	log->flushed = now();
	mr_activity_call("write", fileno(log->file), "", 0);
	st = fflush(log->file) || ferror(log->file) ? refused(log) : MR_OK;
	mr_activity_done();
	return st;
}

mr_status mr_metrics_log_sync(const mr_metrics_log *log)
{
	mr_status st;

	mr_activity_call("fsync", fileno(log->file), "", 0);
	mr_fault_slow("metrics.fsync");
	st = fsync(fileno(log->file)) ? cannot_write(log, errno) : MR_OK;
	mr_activity_done();
	return st;
}

mr_status mr_metrics_log_close(mr_metrics_log *log)
{
	mr_status st = MR_OK;
	bool before;

	if (!log)
		return MR_OK;
	before = ferror(log->file) != 0;
	if (fclose(log->file) || before)
		st = refused(log);
	free(log->path);
	free(log);
	return st;
}

/* Is the line a metrics line? Then *@row is filled. */
static bool parse(const char *line, size_t len, mr_figures *row)
{
	mr_json *j = NULL;
	bool well;

	if (!len || line[len - 1] != '\n' || mr_json_read_text(line, len, &j) != MR_OK)
		return false;
	well = mr_figures_get(j, INFINITY, row);
	mr_json_destroy(j);
	return well;
}

/* Calls @take with each metrics line and the offset after it, until it returns false; a torn last line is skipped. */
static mr_status scan(const char *path, bool (*take)(void *arg, const mr_figures *row, uint64_t end), void *arg)
{
	size_t len, number = 0, bad = 0;
	mr_line_reader in;
	mr_figures row;
	char *line = NULL;
	mr_status st = mr_line_reader_open(&in, path, LONGEST_LINE, NULL);

	while (st == MR_OK && (st = mr_line_reader_next(&in, &line, &len)) == MR_OK && line) {
		number++;
		if (!parse(line, len, &row)) {
			bad = bad ? bad : number;
			continue;
		}
		if (bad || !take(arg, &row, in.offset))
			break;
	}
	mr_line_reader_close(&in);
	if (st == MR_OK && bad && line)
		return mr_fail(MR_EIO, "%s:%zu: no metrics line, but line %zu is one again", path, bad, number);
	return st;
}

struct cut {
	uint64_t step;
	uint64_t end;
};

static bool take_until(void *arg, const mr_figures *row, uint64_t end)
{
	struct cut *cut = arg;

	if (row->step > cut->step)
		return false;
	cut->end = end;
	return true;
}

mr_status mr_metrics_truncate(const char *path, uint64_t step)
{
	struct cut cut = {.step = step};
	mr_status st = MR_OK;
	FILE *f;

	if (access(path, F_OK) && errno == ENOENT)
		return MR_OK;
	MR_TRY(scan(path, take_until, &cut));
	MR_TRY(mr_file_stream(path, MR_FILE_CHANGE, &f));
	if (ftruncate(fileno(f), (off_t)cut.end) || fsync(fileno(f)))
		st = mr_fail(MR_EIO, "%s: cannot cut it to %llu bytes: %s", path, (unsigned long long)cut.end,
			     strerror(errno));
	fclose(f);
	return st;
}

struct rows {
	mr_figures *at;
	size_t n, room;
	const char *path;
	mr_status status;
};

static bool take_row(void *arg, const mr_figures *row, uint64_t end)
{
	struct rows *rows = arg;

	(void)end;
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 256;
		mr_figures *more;

		rows->status = mr_room_check(rows->path, "its lines", room * sizeof(*more));
		if (rows->status != MR_OK)
			return false;
		more = realloc(rows->at, room * sizeof(*more));
		if (!more) {
			rows->status = mr_fail(MR_ERESOURCE, "%s: no memory for %zu lines", rows->path, rows->n);
			return false;
		}
		rows->at = more;
		rows->room = room;
	}
	rows->at[rows->n++] = *row;
	return true;
}

mr_status mr_metrics_read(const char *path, mr_figures **out, size_t *n)
{
	struct rows rows = {.path = path};
	mr_status st = scan(path, take_row, &rows);

	st = st == MR_OK ? rows.status : st;
	if (st != MR_OK) {
		free(rows.at);
		return st;
	}
	*out = rows.at;
	*n = rows.n;
	return MR_OK;
}
