#include "checkpoint/rank_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/result.h"
#include "base/str.h"
#include "checkpoint/checkpoints.h"
#include "checkpoint/gather.h"
#include "checkpoint/part_names.h"
#include "checkpoint/rundir.h"

#define CHUNK ((size_t)1 << 20)
#define WHOLE "gathered" /* the folder, among the checkpoints, of the whole */

/* The manifest comes last: without it nothing is a part. */
static const char *const files[] = {MR_PART_FILE, MR_CHECKPOINT_MANIFEST};

/* --- sending a part --- */

static mr_status send_file(const mr_ranks *r, const char *path)
{
	uint8_t *chunk = malloc(CHUNK);
	uint64_t bytes = 0;
	int fd = -1;
	mr_status st = chunk ? mr_file_open(path, &fd, &bytes) : mr_fail(MR_ERESOURCE, "no memory for %s", path);

	if (st == MR_OK)
		st = r->by->send(0, &bytes, sizeof(bytes));
	for (uint64_t at = 0; st == MR_OK && at < bytes;) {
		size_t n = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;
		ssize_t got = read(fd, chunk, n);

		if (got < 0 && errno == EINTR)
			continue;
		st = got > 0 ? r->by->send(0, chunk, (size_t)got)
			     : mr_fail(MR_EIO, "%s: cannot read: %s", path,
				       got < 0 ? strerror(errno) : "it is shorter");
		at += got > 0 ? (uint64_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	free(chunk);
	return st;
}

static char *find_here(const mr_session *s, const mr_note *said)
{
	char *dir = mr_path_join(s->job->run_dir, "checkpoints"), *path = NULL;

	if (dir)
		path = mr_part_find(dir, (uint32_t)said->number[1], said->number[2], said->text);
	free(dir);
	return path;
}

mr_status mr_rank_fetch_have(const mr_session *s, const mr_note *said)
{
	char *path = find_here(s, said);
	mr_note n = {.number = {path != NULL}};

	free(path);
	return mr_rank_answer(s, MR_OK, &n);
}

mr_status mr_rank_fetch_send(const mr_session *s, const mr_note *said)
{
	char *folder, *path;
	mr_status st = MR_OK;

	if (said->number[3] != s->ranks->self)
		return MR_OK;
	folder = find_here(s, said);
	for (size_t i = 0; st == MR_OK && i < 2; i++) {
		path = folder ? mr_path_join(folder, files[i]) : NULL;
		st = path ? send_file(s->ranks, path) : mr_fail(MR_EIO, "a part of a checkpoint is gone");
		free(path);
	}
	free(folder);
	return st;
}

/* --- rank 0 --- */

static mr_status receive_file(const mr_ranks *r, uint32_t from, const char *path)
{
	uint8_t *chunk = malloc(CHUNK);
	uint64_t bytes = 0;
	mr_result file;
	mr_status st = chunk ? r->by->receive(from, &bytes, sizeof(bytes)) : mr_fail(MR_ERESOURCE, "no memory");

	if (st == MR_OK)
		st = mr_result_begin(&file, path, MR_RESULT_OWN);
	if (st == MR_OK) {
		for (uint64_t at = 0; st == MR_OK && at < bytes; at += CHUNK) {
			size_t n = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;

			st = r->by->receive(from, chunk, n);
			if (st == MR_OK)
				st = mr_result_put(&file, chunk, n);
		}
		st = mr_result_end(&file, st);
	}
	free(chunk);
	return st;
}

/* The part of @rank from the rank @from into the folder @to. */
static mr_status receive_part(const mr_session *s, mr_note *n, uint32_t from, const char *to)
{
	mr_status st = mr_rundir_make(to);

	n->number[0] = MR_RANK_SEND;
	n->number[3] = from;
	if (st == MR_OK)
		st = mr_over_ranks_call(s->executor.engine, n);
	for (size_t i = 0; st == MR_OK && i < 2; i++) {
		char *path = mr_path_join(to, files[i]);

		st = path ? receive_file(s->ranks, from, path) : mr_fail(MR_ERESOURCE, "no memory for a path");
		free(path);
	}
	return st;
}

/* Ask all for the part of @rank, and bring it to the checkpoint @name of the folder @dir, if somebody has it. */
static mr_status fetch_part(const mr_session *s, const mr_part_set *set, uint32_t rank, const char *dir,
			    const char *name)
{
	mr_note n = {.number = {MR_RANK_HAVE, rank, set->step}}, told;
	char *folder = mr_part_folder(dir, rank), *to = folder ? mr_path_join(folder, name) : NULL;
	mr_status st = to ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a path");
	uint32_t from = 0;

	snprintf(n.text, sizeof(n.text), "%s", set->save);
	if (st == MR_OK)
		st = mr_over_ranks_call(s->executor.engine, &n);
	for (uint32_t i = 1; st == MR_OK && i < s->ranks->n; i++) {
		st = mr_rank_hear(s, i, &told);
		from = st == MR_OK && told.number[0] && !from ? i : from;
	}
	if (st == MR_OK && from)
		st = receive_part(s, &n, from, to);
	free(to);
	free(folder);
	return st;
}

/* The checkpoint of rank 0's parts, in the folder @first, that is wanted; "": none. */
static void choose(const char *dir, const char *first, const char *from, char name[64])
{
	mr_checkpoint_name *part = NULL, *whole = NULL;
	size_t n = 0, n_whole = 0;

	name[0] = '\0';
	if (mr_checkpoint_names(first, &part, &n) != MR_OK || !n)
		n = 0;
	if (mr_checkpoint_names(dir, &whole, &n_whole) != MR_OK)
		n_whole = 0;
	if (!strcmp(from, "best"))
		mr_checkpoints_best_name(first, name, 64);
	else if (n && *from)
		snprintf(name, 64, "%.63s", from);
	else if (n && (!n_whole || part[0].step > whole[0].step))
		snprintf(name, 64, "%s", part[0].name);
	for (size_t i = 0; i < n_whole && *from; i++)
		if (!strcmp(whole[i].name, name))
			name[0] = '\0';
	free(part);
	free(whole);
}

/* Bring what is missing of the parts of @name, make the whole in the folder @whole, and remove what was brought. */
static mr_status make_whole(const mr_session *s, const char *dir, const char *first, const char *name,
			    const char *whole)
{
	char *path = mr_path_join(first, name);
	const char *const dirs[] = {dir};
	mr_part_set set = {0};
	bool *came = NULL;
	mr_status st = path ? mr_part_set_open(path, dirs, 1, &set) : mr_fail(MR_ERESOURCE, "no memory for a path");
	uint32_t n = set.n;

	if (st == MR_OK && !(came = calloc(n, sizeof(*came))))
		st = mr_fail(MR_ERESOURCE, "no memory for %u parts", n);
	for (uint32_t r = 1; st == MR_OK && r < n; r++) {
		came[r] = !set.part[r];
		if (came[r])
			st = fetch_part(s, &set, r, dir, name);
	}
	mr_part_set_close(&set);
	if (st == MR_OK)
		st = mr_part_set_open(path, dirs, 1, &set);
	if (st == MR_OK)
		st = mr_part_set_write(&set, whole, false);
	mr_part_set_close(&set);
	for (uint32_t r = 1; came && r < n; r++) {
		char *folder = came[r] ? mr_part_folder(dir, r) : NULL;

		if (folder && access(folder, F_OK) == 0)
			mr_checkpoint_remove(folder, name);
		free(folder);
	}
	free(came);
	free(path);
	return st;
}

mr_status mr_rank_fetch(const mr_session *s, const char *dir, const char *from, char **path)
{
	char *first = mr_part_folder(dir, 0), *whole = mr_path_join(dir, WHOLE), name[64];
	mr_status st = first && whole ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a path");

	*path = NULL;
	if (st == MR_OK) {
		choose(dir, first, from, name);
		if (*name)
			st = make_whole(s, dir, first, name, whole);
		if (st == MR_OK && *name)
			st = mr_checkpoint_latest(whole, path);
	}
	free(first);
	free(whole);
	return st;
}

void mr_rank_fetch_drop(const char *dir, char *path)
{
	char *whole = mr_path_join(dir, WHOLE), *latest = whole ? mr_path_join(whole, "LATEST") : NULL;

	if (path && whole && latest) {
		mr_checkpoint_remove(whole, strrchr(path, '/') + 1);
		unlink(latest);
		rmdir(whole);
	}
	free(latest);
	free(whole);
	free(path);
}
