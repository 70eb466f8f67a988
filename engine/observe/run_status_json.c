/* run_status_json.c - status.json, written and read. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/result.h"
#include "observe/run_status.h"

#define MOST_BYTES (16u << 20)

static double age_of(const mr_run_status *s)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return fmax(0, (double)t.tv_sec + (double)t.tv_nsec * 1e-9 - s->row.updated);
}

/* On another host it cannot be seen, and counts as alive. */
static bool lives(const mr_run_status *s)
{
	char host[sizeof(s->row.host)] = "";

	if (gethostname(host, sizeof(host) - 1) || strcmp(host, s->row.host) || !s->row.pid)
		return true;
	return !kill((pid_t)s->row.pid, 0) || errno == EPERM;
}

bool mr_run_status_over(const mr_run_status *s)
{
	const char *state = s->row.state;

	return !strcmp(state, "ended") || !strcmp(state, "stopped") || !strcmp(state, "failed") || !lives(s);
}

mr_status mr_run_status_json(const mr_run_status *s, bool judged, FILE *out)
{
	mr_json_writer w = mr_json_begin(out, true);

	mr_json_field_uint(&w, "millrace_status", 1);
	mr_record_put(MR_RECORD_STATUS, &s->row, &w);
	mr_figures_put(&s->now, true, &w);
	if (judged) {
		mr_json_field_bool(&w, "alive", !mr_run_status_over(s));
		mr_json_field_double(&w, "age_seconds", age_of(s));
	}
	mr_json_field_array(&w, "workers");
	for (uint32_t i = 0; i < s->n_workers; i++) {
		mr_json_begin_object(&w);
		mr_record_put(MR_RECORD_WORKER, &s->worker[i].row, &w);
		mr_record_put(MR_RECORD_TIMES, &s->worker[i].part, &w);
		mr_json_end_object(&w);
	}
	mr_json_end_array(&w);
	mr_record_put_all(MR_RECORD_WEIGHTS, "stages", s->stage, s->n_stages, sizeof(*s->stage), &w);
	return mr_json_finish(&w);
}

/* A reader sees the old status or the new one. */
static mr_status replace(const mr_run_status *s, const char *path)
{
	mr_result r;

	MR_TRY(mr_result_begin(&r, path, MR_RESULT_UNSYNCED));
	return mr_result_end(&r, mr_run_status_json(s, false, r.file));
}

mr_status mr_run_status_write(const mr_run_status *s, const char *path)
{
	mr_status st;

	mr_activity_call("write", -1, path, 0);
	mr_fault_slow("status.write");
	st = replace(s, path);
	mr_activity_done();
	return st;
}

/* --- reading --- */

static mr_status fill(const mr_json *root, mr_run_status *out)
{
	const mr_json *workers = mr_json_get(root, "workers"), *stages = mr_json_get(root, "stages");

	mr_figures_get(root, NAN, &out->now);
	mr_record_get(MR_RECORD_STATUS, root, &out->row);
	out->worker = calloc(mr_json_size(workers) + 1, sizeof(*out->worker));
	out->stage = calloc(mr_json_size(stages) + 1, sizeof(*out->stage));
	if (!out->worker || !out->stage)
		return mr_fail(MR_ERESOURCE, "no memory for a status");
	out->n_workers = (uint32_t)mr_json_size(workers);
	out->n_stages = (uint32_t)mr_json_size(stages);
	for (uint32_t i = 0; i < out->n_workers; i++) {
		mr_record_get(MR_RECORD_WORKER, mr_json_at(workers, i), &out->worker[i].row);
		mr_record_get(MR_RECORD_TIMES, mr_json_at(workers, i), &out->worker[i].part);
	}
	for (uint32_t i = 0; i < out->n_stages; i++)
		mr_record_get(MR_RECORD_WEIGHTS, mr_json_at(stages, i), &out->stage[i]);
	return MR_OK;
}

mr_status mr_run_status_read(const char *path, mr_run_status *out)
{
	char file[4096];
	struct stat info;
	mr_json *root;
	mr_status st;

	*out = (mr_run_status){0};
	if (stat(path, &info))
		return mr_fail(MR_EDATA, "%s: there is no such run: %s", path, strerror(errno));
	if (snprintf(file, sizeof(file), S_ISDIR(info.st_mode) ? "%s/" MR_RUN_STATUS_FILE : "%s", path) >=
	    (int)sizeof(file))
		return mr_fail(MR_EDATA, "%s: the path is too long", path);
	if (stat(file, &info))
		return mr_fail(MR_EDATA, "%s: this folder has no %s: it is no run, or one of an older program", path,
			       MR_RUN_STATUS_FILE);
	st = mr_json_read_file(file, MOST_BYTES, &root);
	if (st != MR_OK)
		return st == MR_ECONFIG ? mr_fail(MR_EDATA, "not the status of a run: %s", mr_error_text()) : st;
	if (!mr_json_is_int(mr_json_get(root, "millrace_status")))
		st = mr_fail(MR_EDATA, "%s: not the status of a run: it has no key millrace_status", file);
	else
		st = fill(root, out);
	mr_json_destroy(root);
	if (st != MR_OK)
		mr_run_status_fini(out);
	return st;
}
