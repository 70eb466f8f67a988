#include "store/tensor_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"

#define MOST_FILES 1000u
#define MOST_INDEX_BYTES (64u << 20)
#define ONE_FILE "model.safetensors"
#define INDEX "model.safetensors.index.json"

struct mr_tensor_files {
	char *folder;
	mr_safetensors **file;
	size_t n_files;
};

void mr_tensor_files_close(mr_tensor_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_files; i++)
		mr_safetensors_close(f->file[i]);
	free(f->file);
	free(f->folder);
	free(f);
}

/* "FOLDER/NAME"; NULL: no memory. */
static char *joined(const char *folder, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static mr_status add_file(mr_tensor_files *f, const char *path)
{
	mr_safetensors **more = realloc(f->file, (f->n_files + 1) * sizeof(*more));

	if (!more)
		return mr_fail(MR_ERESOURCE, "%s: no memory", path);
	f->file = more;
	MR_TRY(mr_safetensors_open_path(path, &f->file[f->n_files]));
	f->n_files++;
	return MR_OK;
}

/* --- an index --- */

typedef struct opened {
	const char *name[MOST_FILES]; /* of the index, in the order of mr_tensor_files.file */
	size_t n;
} opened;

/* A name in the same folder: an index from elsewhere must not reach other files. */
static bool is_plain(const char *name)
{
	return name && *name && *name != '.' && !strchr(name, '/');
}

static mr_status open_named(mr_tensor_files *f, opened *o, const char *index, const char *name, size_t *at)
{
	mr_status st;
	char *path;

	for (*at = 0; *at < o->n; ++*at)
		if (!strcmp(o->name[*at], name))
			return MR_OK;
	if (o->n == MOST_FILES)
		return mr_fail(MR_ECKPT, "%s: names more than %u files", index, MOST_FILES);
	path = joined(f->folder, name);
	st = path ? add_file(f, path) : mr_fail(MR_ERESOURCE, "%s: no memory", index);
	free(path);
	o->name[o->n++] = name;
	return st;
}

static mr_status check_once(const mr_tensor_files *f, const char *index)
{
	for (size_t i = 0; i < f->n_files; i++)
		for (size_t k = 0; k < mr_safetensors_count(f->file[i]); k++)
			for (size_t j = i + 1; j < f->n_files; j++)
				if (mr_safetensors_find(f->file[j], mr_safetensors_at(f->file[i], k)->name))
					return mr_fail(MR_ECKPT, "%s: tensor \"%s\" is in two of its files", index,
						       mr_safetensors_at(f->file[i], k)->name);
	return MR_OK;
}

static mr_status open_map(mr_tensor_files *f, const char *index, const mr_json *map)
{
	opened o = {.n = 0};

	if (!mr_json_is_object(map) || !mr_json_size(map))
		return mr_fail(MR_ECKPT, "%s: has no \"weight_map\" from tensors to files", index);
	for (const char *key = mr_json_next_key(map, NULL); key; key = mr_json_next_key(map, key)) {
		const char *name = mr_json_string(mr_json_get(map, key));
		size_t at;

		if (!is_plain(name))
			return mr_fail(MR_ECKPT, "%s: \"%s\" is in no file of its folder", index, key);
		MR_TRY(open_named(f, &o, index, name, &at));
		if (!mr_safetensors_find(f->file[at], key))
			return mr_fail(MR_ECKPT, "%s: tensor \"%s\" is not in %s", index, key, name);
	}
	return check_once(f, index);
}

static mr_status open_index(mr_tensor_files *f, const char *path)
{
	mr_json *root = NULL;
	mr_status st = mr_json_read_file(path, MOST_INDEX_BYTES, &root);

	if (st != MR_OK)
		return st == MR_ERESOURCE ? st : mr_fail(MR_ECKPT, "%s", mr_error_text());
	st = open_map(f, path, mr_json_get(root, "weight_map"));
	mr_json_destroy(root);
	return st;
}

/* --- what a path names --- */

static bool is_there(const char *folder, const char *name)
{
	char *path = joined(folder, name);
	struct stat info;
	bool there = path && !stat(path, &info);

	free(path);
	return there;
}

static mr_status open_in(mr_tensor_files *f, const char *path)
{
	bool whole = is_there(path, ONE_FILE);
	char *name;
	mr_status st;

	if (!whole && !is_there(path, INDEX))
		return mr_fail(MR_ECKPT, "%s: is a folder without " ONE_FILE " and " INDEX, path);
	name = joined(path, whole ? ONE_FILE : INDEX);
	if (!name)
		return mr_fail(MR_ERESOURCE, "%s: no memory", path);
	st = whole ? add_file(f, name) : open_index(f, name);
	free(name);
	return st;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n >= len && !strcmp(text + n - len, end);
}

static mr_status open_any(mr_tensor_files *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat info;
	bool folder = !stat(path, &info) && S_ISDIR(info.st_mode);

	if (folder)
		f->folder = strdup(path);
	else
		f->folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
	if (!f->folder)
		return mr_fail(MR_ERESOURCE, "%s: no memory", path);
	if (folder)
		return open_in(f, path);
	return ends_in(path, ".json") ? open_index(f, path) : add_file(f, path);
}

mr_status mr_tensor_files_open(const char *path, mr_tensor_files **out)
{
	mr_tensor_files *f = calloc(1, sizeof(*f));
	mr_status st = f ? open_any(f, path) : mr_fail(MR_ERESOURCE, "%s: no memory", path);

	*out = NULL;
	if (st != MR_OK)
		mr_tensor_files_close(f);
	else
		*out = f;
	return st;
}

/* --- the tensors --- */

size_t mr_tensor_files_count(const mr_tensor_files *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_files; i++)
		n += mr_safetensors_count(f->file[i]);
	return n;
}

/* The file that has tensor @i, and *@at its number there. */
static const mr_safetensors *file_of(const mr_tensor_files *f, size_t i, size_t *at)
{
	for (size_t k = 0; k < f->n_files; k++) {
		size_t n = mr_safetensors_count(f->file[k]);

		if (i < n) {
			*at = i;
			return f->file[k];
		}
		i -= n;
	}
	return NULL;
}

const mr_saved_tensor *mr_tensor_files_at(const mr_tensor_files *f, size_t i)
{
	size_t at = 0;
	const mr_safetensors *file = file_of(f, i, &at);

	return file ? mr_safetensors_at(file, at) : NULL;
}

size_t mr_tensor_files_find(const mr_tensor_files *f, const char *name)
{
	size_t before = 0;

	for (size_t k = 0; k < f->n_files; k++) {
		const mr_saved_tensor *t = mr_safetensors_find(f->file[k], name);

		if (t)
			return before + (size_t)(t - mr_safetensors_at(f->file[k], 0));
		before += mr_safetensors_count(f->file[k]);
	}
	return SIZE_MAX;
}

mr_status mr_tensor_files_read(const mr_tensor_files *f, size_t i, void *to)
{
	size_t at = 0;
	const mr_safetensors *file = file_of(f, i, &at);

	return mr_safetensors_read(file, mr_safetensors_at(file, at), to);
}

const char *mr_tensor_files_folder(const mr_tensor_files *f)
{
	return f->folder;
}

const char *mr_tensor_files_metadata(const mr_tensor_files *f, const char *key)
{
	return mr_safetensors_metadata(f->file[0], key);
}
