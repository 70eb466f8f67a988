/* millrace gather: whole checkpoints out of the parts that ranks have written into their own folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "checkpoint/checkpoints.h"
#include "checkpoint/gather.h"
#include "cli/args.h"

typedef struct folders {
	char **dir; /* [n] the folders of checkpoints; the first takes the result */
	size_t n;
	char *first; /* of the parts of rank 0 */
} folders;

/* A run has its checkpoints in a folder; a copy may be of that folder alone. */
static char *checkpoints_of(const char *path)
{
	char *inner = mr_path_join(path, "checkpoints");

	if (inner && access(inner, F_OK) == 0)
		return inner;
	free(inner);
	return strdup(path);
}

static void close_folders(folders *f)
{
	for (size_t i = 0; f->dir && i < f->n; i++)
		free(f->dir[i]);
	free(f->dir);
	free(f->first);
}

static mr_status open_folders(const mr_args *args, folders *f)
{
	*f = (folders){.n = (size_t)args->n_operands};
	f->dir = calloc(f->n, sizeof(*f->dir));
	for (size_t i = 0; f->dir && i < f->n; i++) {
		char *first;

		if (access(args->operand[i], F_OK))
			return mr_fail(MR_EIO, "%s: there is no such folder", args->operand[i]);
		f->dir[i] = checkpoints_of(args->operand[i]);
		first = f->dir[i] ? mr_part_folder(f->dir[i], 0) : NULL;
		if (!first)
			return mr_fail(MR_ERESOURCE, "no memory for a path");
		if (access(first, F_OK)) {
			free(first);
			continue;
		}
		if (f->first) {
			mr_status st = mr_fail(MR_EUSAGE, "both %s and %s hold parts of a rank 0: they are of two runs",
					       f->first, first);

			free(first);
			return st;
		}
		f->first = first;
	}
	if (!f->dir)
		return mr_fail(MR_ERESOURCE, "no memory for paths");
	if (!f->first)
		return mr_fail(MR_ECKPT, "none of the folders holds the parts of rank 0 (checkpoints/rank-0)");
	return MR_OK;
}

/* The checkpoint of rank 0 called @name. */
static mr_status gather(const folders *f, const char *name, bool best)
{
	char *path = mr_path_join(f->first, name);
	mr_part_set set = {0};
	mr_status st = path ? mr_part_set_open(path, (const char *const *)f->dir, f->n, &set)
			    : mr_fail(MR_ERESOURCE, "no memory for a path");

	if (st == MR_OK)
		st = mr_part_set_write(&set, f->dir[0], best);
	if (st == MR_OK)
		printf("%s/%s: of %u parts\n", f->dir[0], name, set.n);
	mr_part_set_close(&set);
	free(path);
	return st;
}

/* All of rank 0's, the oldest first, so that the newest one is announced last. Only that must be there. */
static mr_status gather_all(const folders *f)
{
	mr_checkpoint_name *list;
	char best[64];
	size_t n;
	mr_status st = MR_OK;

	MR_TRY(mr_checkpoint_names(f->first, &list, &n));
	if (!n)
		st = mr_fail(MR_ECKPT, "%s: holds no part of a checkpoint", f->first);
	mr_checkpoints_best_name(f->first, best, sizeof(best));
	for (size_t i = n; st == MR_OK && i-- > 0;) {
		if (mr_checkpoint_check(f->dir[0], list[i].name) == MR_OK) {
			printf("%s/%s: was whole before\n", f->dir[0], list[i].name);
			continue;
		}
		st = gather(f, list[i].name, !strcmp(list[i].name, best));
		if (st == MR_ECKPT && i > 0) {
			mr_log(MR_LOG_WARN, "gather", "%s", mr_error_text());
			st = MR_OK;
		}
	}
	free(list);
	return st;
}

static mr_status run(mr_args *args)
{
	folders f;
	mr_status st = open_folders(args, &f);

	if (st == MR_OK)
		st = gather_all(&f);
	close_folders(&f);
	return st;
}

const mr_command mr_command_gather = {
	.name = "gather",
	.operands = "RUN [FOLDER...]",
	.min_operands = 1,
	.max_operands = 65536,
	.summary = "make whole checkpoints of the parts that the hosts of a training have kept",
	.help = "For a training over ranks whose folders are local to each host (checkpoint.parts). RUN is the folder\n"
		"of the run on the host of rank 0, or a copy; FOLDERs are those of the other hosts, mounted or copied\n"
		"here (rsync -a b:x/checkpoints/ from-b). What comes into RUN/checkpoints is in every byte what one\n"
		"process writes. If a part is missing or damaged, one message says whose, and the exit code\n"
		"is 5. Parts stay as they are.\n",
	.run = run,
};
