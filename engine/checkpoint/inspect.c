#include "checkpoint/inspect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "checkpoint/checkpoints.h"
#include "millrace/inspect.h"

/* --- finding it --- */

static bool has(const char *dir, const char *name)
{
	char *path = mr_path_join(dir, name);
	bool there = path && access(path, F_OK) == 0;

	free(path);
	return there;
}

mr_status mr_inspect_find(const char *path, char **out)
{
	char *inner;
	mr_status st;

	*out = NULL;
	if (has(path, "MANIFEST.json")) {
		*out = strdup(path);
		return *out ? MR_OK : mr_fail(MR_ERESOURCE, "%s: no memory", path);
	}
	if (!has(path, "checkpoints"))
		return mr_checkpoint_latest(path, out);
	inner = mr_path_join(path, "checkpoints");
	if (!inner)
		return mr_fail(MR_ERESOURCE, "%s: no memory", path);
	st = mr_checkpoint_latest(inner, out);
	free(inner);
	return st;
}

mr_status mr_inspect_find_best(const char *path, char **out)
{
	char *inner = mr_path_join(path, "checkpoints");
	uint64_t step;
	mr_status st;

	*out = NULL;
	if (!inner)
		return mr_fail(MR_ERESOURCE, "%s: no memory", path);
	st = mr_checkpoints_best(inner, &step) ? mr_checkpoints_find(inner, "best", out) : mr_inspect_find(path, out);
	free(inner);
	return st;
}

/* --- what it holds --- */

static void put_tensor(mr_json_writer *w, const mr_saved_tensor *t)
{
	mr_json_begin_object(w);
	mr_json_field_string(w, "name", t->name);
	mr_json_field_string(w, "type", mr_dtype_saved_name(t->dtype));
	mr_json_field_array(w, "shape");
	for (uint32_t i = 0; i < t->n_dims; i++)
		mr_json_put_int(w, t->shape[i]);
	mr_json_end_array(w);
	mr_json_field_uint(w, "bytes", t->bytes);
	mr_json_end_object(w);
}

static mr_status put_file(mr_json_writer *w, const mr_checkpoint *ck, const char *name, uint64_t bytes)
{
	mr_safetensors *f;

	MR_TRY(mr_checkpoint_tensors(ck, name, &f));
	mr_json_begin_object(w);
	mr_json_field_string(w, "name", name);
	mr_json_field_uint(w, "bytes", bytes);
	mr_json_field_array(w, "tensors");
	for (size_t i = 0; i < mr_safetensors_count(f); i++)
		put_tensor(w, mr_safetensors_at(f, i));
	mr_json_end_array(w);
	mr_json_end_object(w);
	mr_safetensors_close(f);
	return MR_OK;
}

mr_status mr_inspect_put(const mr_checkpoint *ck, const char *path, FILE *file)
{
	mr_json_writer w = mr_json_begin(file, true);
	mr_saved_text fact;
	const char *name;
	uint64_t bytes;

	mr_json_field_string(&w, "checkpoint", path);
	mr_json_field_uint(&w, "step", mr_checkpoint_step(ck));
	mr_json_field_object(&w, "facts");
	for (size_t i = 0; (fact = mr_checkpoint_fact_at(ck, i)).key; i++)
		mr_json_field_string(&w, fact.key, fact.value);
	mr_json_end_object(&w);
	mr_json_field_array(&w, "files");
	for (size_t i = 0; (name = mr_checkpoint_file_at(ck, i, &bytes)); i++)
		MR_TRY(put_file(&w, ck, name, bytes));
	mr_json_end_array(&w);
	return mr_json_finish(&w);
}

/* --- the library's --- */

static mr_status verified_text(const char *path, FILE *file)
{
	mr_checkpoint *ck;
	mr_status st;

	MR_TRY(mr_checkpoint_open(path, &ck));
	st = mr_checkpoint_verify(ck);
	if (st == MR_OK)
		st = mr_inspect_put(ck, path, file);
	mr_checkpoint_close(ck);
	return st;
}

mr_status mr_inspect(const char *path, char **json)
{
	char *found, *text = NULL;
	size_t len = 0;
	FILE *file;
	mr_status st;

	if (json)
		*json = NULL;
	if (!path || !json)
		return mr_fail(MR_EINVAL, "mr_inspect: the %s is NULL", path ? "place for the text" : "path");
	MR_TRY(mr_inspect_find(path, &found));
	file = open_memstream(&text, &len);
	st = file ? verified_text(found, file) : mr_fail(MR_ERESOURCE, "no memory for a text");
	if (file && fclose(file) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for a text");
	free(found);
	if (st == MR_OK)
		*json = text;
	else
		free(text);
	return st;
}
