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

/* Read file @name, if there is one, as text or as JSON. */
static mr_status read_file(const char *folder, const char *name, char **text, mr_json **root)
{
	char path[PATH_MAX];
	size_t len;
	mr_status st;

	snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 32, folder, name);
	if (access(path, F_OK) != 0)
		return MR_OK;
	st = text ? mr_file_read_regular(path, MAX_BYTES, text, &len) : mr_json_read_file(path, MAX_BYTES, root);
	return st == (text ? MR_EIO : MR_ECONFIG) ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
}

mr_status mr_run_folder_read_all(const char *path, mr_run_folder *out)
{
	char folder[PATH_MAX], metrics[PATH_MAX];

	MR_TRY(mr_run_folder_read(path, out));
	split(path, folder, metrics);
	MR_TRY(read_file(folder, "resolved.cfg", &out->config, NULL));
	MR_TRY(read_file(folder, "roofline.svg", &out->roofline, NULL));
	MR_TRY(read_file(folder, "memory.json", NULL, &out->memory));
	MR_TRY(read_file(folder, "errors.json", NULL, &out->errors));
	return read_file(folder, "run.json", NULL, &out->facts);
}

char *mr_run_folder_path(const char *path)
{
	char folder[PATH_MAX], metrics[PATH_MAX];

	split(path, folder, metrics);
	return strdup(folder);
}

void mr_run_folder_fini(mr_run_folder *r)
{
	free(r->name);
	free(r->rows);
	free(r->config);
	free(r->roofline);
	free(r->no_errors);
	mr_json_destroy(r->errors);
	mr_json_destroy(r->memory);
	mr_json_destroy(r->facts);
	*r = (mr_run_folder){0};
}
