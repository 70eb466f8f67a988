#include "checkpoint/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/notice.h"
#include "base/str.h"
#include "checkpoint/gather.h"
#include "store/checkpoint_io.h"

/* *@made: length of the first folder on the path that did not exist. */
static mr_status make_parents(const char *path, size_t *made)
{
	char *copy = strdup(path);

	if (!copy)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	for (char *c = copy + 1;; c++) {
		char was = *c;

		if (was != '/' && was != 0)
			continue;
		*c = 0;
		if (!mkdir(copy, 0777)) {
			*made = *made ? *made : (size_t)(c - copy);
		} else if (errno != EEXIST) {
			mr_status st = mr_fail(mr_file_no_room(errno) ? MR_ERESOURCE : MR_EIO,
					       "cannot make the folder %s: %s", copy, strerror(errno));

			free(copy);
			return st;
		}
		*c = was;
		if (was == 0)
			break;
	}
	free(copy);
	return MR_OK;
}

mr_status mr_rundir_make(const char *path)
{
	size_t made = 0;

	return make_parents(path, &made);
}

static bool exists(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0;
}

static bool has_lock(const char *path)
{
	char *lock = mr_path_join(path, "LOCK");
	bool has = !lock || exists(lock);

	free(lock);
	return has;
}

static bool holds_step(const char *checkpoints)
{
	DIR *d = opendir(checkpoints);
	bool found = false;

	for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d))
		found = !strncmp(e->d_name, "step-", 5);
	if (d)
		closedir(d);
	return found;
}

/* Checkpoints, or rank 0's parts of some (rank_parts.h). */
static bool holds_some(const char *checkpoints)
{
	char *parts = mr_part_folder(checkpoints, 0);
	bool some = holds_step(checkpoints) || (parts && holds_step(parts));

	free(parts);
	return some;
}

bool mr_rundir_has_checkpoint(const char *path)
{
	char *checkpoints = mr_path_join(path, "checkpoints");
	bool found = checkpoints && holds_some(checkpoints);

	free(checkpoints);
	return found;
}

/* Nothing of a run that ended before its first checkpoint stays in the way of the next one. */
static mr_status begin_anew(const mr_rundir *r)
{
	const char *const file[] = {r->metrics, r->config, r->choices, r->plan,	   r->memory,
				    r->facts,	r->trace,  r->status,  r->counters};
	char *before = mr_path_join(r->path, "metrics.jsonl.before");
	mr_status st = before ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a path");

	if (st == MR_OK)
		unlink(before);
	if (st == MR_OK && link(r->metrics, before) && errno != ENOENT)
		st = mr_fail(MR_EIO, "%s cannot be kept as %s: %s", r->metrics, before, strerror(errno));
	for (size_t i = 0; st == MR_OK && i < sizeof(file) / sizeof(*file); i++)
		unlink(file[i]);
	if (st == MR_OK)
		mr_notice("a run in %s had ended before its first checkpoint: it begins anew", r->path);
	free(before);
	return st;
}

static mr_status look_inside(const mr_rundir *r, mr_rundir_use use)
{
	bool run = exists(r->config) || exists(r->metrics) || exists(r->checkpoints), some = holds_some(r->checkpoints);

	if (use == MR_RUNDIR_RESUME)
		return some ? MR_OK : mr_fail(MR_ECKPT, "nothing to resume in %s: it holds no checkpoint", r->path);
	if (!run)
		return MR_OK;
	if (some)
		return mr_fail(MR_EUSAGE,
			       "%s already holds a run: continue it with train --resume, or choose another folder with "
			       "--set run.dir=DIR",
			       r->path);
	if (use == MR_RUNDIR_ANEW)
		return begin_anew(r);
	return mr_fail(MR_EUSAGE,
		       "%s already holds a run, which ended before its first checkpoint: begin anew with train "
		       "--continue, or choose another folder with --set run.dir=DIR",
		       r->path);
}

mr_status mr_rundir_open(const char *path, mr_rundir_use use, mr_rundir *out)
{
	mr_status st;

	*out = (mr_rundir){
		.path = strdup(path),
		.config = mr_path_join(path, "resolved.cfg"),
		.choices = mr_path_join(path, "choices.def"),
		.plan = mr_path_join(path, "plan.txt"),
		.metrics = mr_path_join(path, "metrics.jsonl"),
		.memory = mr_path_join(path, "memory.json"),
		.facts = mr_path_join(path, "run.json"),
		.trace = mr_path_join(path, "trace.json"),
		.checkpoints = mr_path_join(path, "checkpoints"),
		.status = mr_path_join(path, "status.json"),
		.counters = mr_path_join(path, "counters.json"),
		.lock = -1,
	};
	if (!out->path || !out->config || !out->choices || !out->plan || !out->metrics || !out->memory || !out->facts ||
	    !out->trace || !out->checkpoints || !out->status || !out->counters)
		st = mr_fail(MR_ERESOURCE, "no memory for paths");
	else if (use == MR_RUNDIR_RESUME && !exists(path))
		st = mr_fail(MR_ECKPT, "nothing to resume: there is no folder %s", path);
	else
		st = make_parents(path, &out->made);
	if (st == MR_OK)
		out->made_lock = !has_lock(path);
	if (st == MR_OK && (st = mr_run_lock(path, &out->lock)) == MR_EIO)
		st = mr_fail_in(st, "%s cannot be used as a run folder", path);
	if (st == MR_OK)
		st = look_inside(out, use);
	if (st == MR_OK) {
		out->fresh = use != MR_RUNDIR_RESUME;
		mr_checkpoint_sweep(out->checkpoints);
	} else {
		mr_rundir_abandon(out);
		mr_rundir_close(out);
	}
	return st;
}

char *mr_rundir_plan(const char *path)
{
	char *plan = mr_path_join(path, "plan.txt");

	if (plan && exists(plan))
		return plan;
	free(plan);
	return NULL;
}

/* Folders that are not empty by now stay. */
static void remove_parents(const mr_rundir *r)
{
	size_t n = strlen(r->path);
	char path[PATH_MAX];

	if (n >= sizeof(path)) /* the system makes no such folder */
		return;
	memcpy(path, r->path, n + 1);
	while (n >= r->made && n && !rmdir(path)) {
		while (n && path[n - 1] == '/')
			n--;
		while (n && path[n - 1] != '/')
			n--;
		path[n] = 0;
	}
}

void mr_rundir_abandon(const mr_rundir *r)
{
	if (!r->path)
		return;
	if (r->fresh) {
		unlink(r->config);
		unlink(r->choices);
		unlink(r->plan);
		unlink(r->metrics);
		unlink(r->status);
		unlink(r->facts);
	}
	if (r->made_lock)
		mr_run_lock_remove(r->path, r->lock);
	if (r->made)
		remove_parents(r);
}

void mr_rundir_close(mr_rundir *r)
{
	if (r->lock >= 0)
		mr_run_unlock(r->lock);
	free(r->path);
	free(r->config);
	free(r->choices);
	free(r->plan);
	free(r->metrics);
	free(r->memory);
	free(r->facts);
	free(r->trace);
	free(r->checkpoints);
	free(r->status);
	free(r->counters);
	*r = (mr_rundir){.lock = -1};
}
