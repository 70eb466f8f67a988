#include "report/run_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_BYTES (64u << 20) /* of each file but the metrics */

/* The last part of the path, that of "." by its own name. */
static char *name_of(char *folder)
{
	char *whole, *slash, *name;

	for (size_t len = strlen(folder); len > 1 && folder[len - 1] == '/'; len--)
		folder[len - 1] = '\0';
	slash = strrchr(folder, '/');
	name = slash && slash[1] ? slash + 1 : folder;
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return strdup(name);
	whole = realpath(folder, NULL);
	slash = whole ? strrchr(whole, '/') : NULL;
	name = strdup(slash && slash[1] ? slash + 1 : folder);
	free(whole);
	return name;
}

/* *@folder gets the folder of the run, *@metrics its file. */
static void split(const char *path, char folder[PATH_MAX], char metrics[PATH_MAX])
{
	struct stat info;
	char *slash;

	snprintf(folder, PATH_MAX, "%s", path);
	snprintf(metrics, PATH_MAX, "%s", path);
	if (!stat(path, &info) && S_ISDIR(info.st_mode)) {
		snprintf(metrics, PATH_MAX, "%.*s/metrics.jsonl", PATH_MAX - 16, path);
		return;
	}
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	else
		strcpy(folder, ".");
}

mr_status mr_run_folder_read(const char *path, mr_run_folder *out)
{
	char folder[PATH_MAX], metrics[PATH_MAX];
	mr_status st;

	*out = (mr_run_folder){0};
	if (access(path, F_OK))
		return mr_fail(MR_EDATA, "%s: there is no such run: %s", path, strerror(errno));
	split(path, folder, metrics);
	if (access(metrics, F_OK))
		return mr_fail(MR_EDATA, "%s: this folder has no metrics.jsonl: it is no run, or one without a step",
			       path);
	st = mr_metrics_read(metrics, &out->rows, &out->n_rows);
	if (st == MR_EIO)
		return mr_fail(MR_EDATA, "%s", mr_error_text());
	MR_TRY(st);
	if (out->n_rows == 0)
		return mr_fail(MR_EDATA, "%s: it holds no step of a run", metrics);
	out->name = name_of(folder);
	return out->name ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a name");
}

static mr_status read_text(const char *folder, const char *name, char **text)
{
	char path[PATH_MAX];
	size_t len;
	mr_status st;

	snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 32, folder, name);
	if (access(path, F_OK) != 0)
		return MR_OK;
	st = mr_file_read_regular(path, MAX_BYTES, text, &len);
	return st == MR_EIO ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
}

static mr_status read_json(const char *folder, const char *name, mr_json **root)
{
	char path[PATH_MAX];
	mr_status st;

	snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 32, folder, name);
	if (access(path, F_OK) != 0)
		return MR_OK;
	st = mr_json_read_file(path, MAX_BYTES, root);
	return st == MR_ECONFIG ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
}

mr_status mr_run_folder_read_all(const char *path, mr_run_folder *out)
{
	char folder[PATH_MAX], metrics[PATH_MAX];

	MR_TRY(mr_run_folder_read(path, out));
	split(path, folder, metrics);
	MR_TRY(read_text(folder, "resolved.cfg", &out->config));
	MR_TRY(read_text(folder, "roofline.svg", &out->roofline));
	MR_TRY(read_json(folder, "memory.json", &out->memory));
	return read_json(folder, "run.json", &out->facts);
}

void mr_run_folder_fini(mr_run_folder *r)
{
	free(r->name);
	free(r->rows);
	free(r->config);
	free(r->roofline);
	mr_json_destroy(r->memory);
	mr_json_destroy(r->facts);
	*r = (mr_run_folder){0};
}
