/* Reading JSON. Only this file includes Jansson: an mr_json is a json_t, and casts drop the const. */
#include "base/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/room.h"

static json_t *node(const mr_json *j)
{
	return (json_t *)(uintptr_t)j;
}

static const mr_json *borrowed(const json_t *j)
{
	return (const mr_json *)j;
}

/* Jansson takes a NUL between tokens for the end of a chunk and reads on after it, so NUL is refused here. */
static mr_status refuse_nul(const char *text, const char *nul)
{
	const char *line = text;
	int n_line = 1;

	for (const char *c = text; c < nul; c++)
		if (*c == '\n') {
			line = c + 1;
			n_line++;
		}
	return mr_fail(MR_ECONFIG, "%d:%d: NUL byte in the text", n_line, (int)(nul - line) + 1);
}

/* What Jansson allocates, with the allocator's own share: an object and its first eight lists of keys; an array and its
 * first eight places; a text, which as a key has its links and, while its object grows, two lists; a value, which is a
 * number at most, and its place in an array that may be twice as large. Measured: 1.1 to 2.1 times what is taken. */
enum { OBJECT_BYTES = 240, ARRAY_BYTES = 144, TEXT_BYTES = 136, VALUE_BYTES = 48 };

uint64_t mr_json_tree_bytes(const char *text, size_t len)
{
	uint64_t bytes = VALUE_BYTES;
	bool within = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '"') {
			within = !within;
			bytes += within ? TEXT_BYTES : 0;
		} else if (within) {
			bytes++;
			i += c == '\\';
		} else {
			bytes += c == '{' ? OBJECT_BYTES : c == '[' ? ARRAY_BYTES : c == ',' ? VALUE_BYTES : 0;
		}
	}
	return bytes;
}

mr_status mr_json_read_text(const char *text, size_t len, mr_json **root)
{
	const char *nul = len ? memchr(text, '\0', len) : NULL;
	json_error_t error;
	json_t *j;

	if (nul)
		return refuse_nul(text, nul);
	if (mr_room_is_limited())
		MR_TRY(mr_room_check(NULL, "its JSON", mr_json_tree_bytes(text, len)));
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!j && json_error_code(&error) == json_error_out_of_memory)
		return mr_fail(MR_ERESOURCE, "no memory for a JSON document of %zu bytes", len);
	if (!j)
		return mr_fail(MR_ECONFIG, "%d:%d: %s", error.line, error.column, error.text);
	*root = (mr_json *)j;
	return MR_OK;
}

mr_status mr_json_read_file(const char *path, size_t max_bytes, mr_json **root)
{
	char *text;
	size_t len;
	mr_status st = mr_file_read_regular(path, max_bytes, &text, &len);

	if (st == MR_EIO)
		return mr_fail(MR_ECONFIG, "%s", mr_error_text());
	if (st != MR_OK)
		return st;
	st = mr_json_read_text(text, len, root);
	free(text);
	if (st == MR_ECONFIG)
		return mr_fail(st, "%s:%s", path, mr_error_text());
	return st == MR_OK ? MR_OK : mr_fail(st, "%s: %s", path, mr_error_text());
}

void mr_json_destroy(mr_json *root)
{
	json_decref(node(root));
}

bool mr_json_is_object(const mr_json *j)
{
	return json_is_object(node(j));
}

bool mr_json_is_array(const mr_json *j)
{
	return json_is_array(node(j));
}

bool mr_json_is_string(const mr_json *j)
{
	return json_is_string(node(j));
}

bool mr_json_is_int(const mr_json *j)
{
	return json_is_integer(node(j));
}

bool mr_json_is_number(const mr_json *j)
{
	return json_is_number(node(j));
}

bool mr_json_is_bool(const mr_json *j)
{
	return json_is_boolean(node(j));
}

bool mr_json_is_null(const mr_json *j)
{
	return json_is_null(node(j));
}

const char *mr_json_kind(const mr_json *j)
{
	if (!j)
		return "nothing";
	switch (json_typeof(node(j))) {
	case JSON_OBJECT: return "object";
	case JSON_ARRAY: return "array";
	case JSON_STRING: return "string";
	case JSON_INTEGER: return "integer";
	case JSON_REAL: return "number";
	case JSON_TRUE:
	case JSON_FALSE: return "true or false";
	case JSON_NULL: break;
	}
	return "null";
}

const mr_json *mr_json_get(const mr_json *obj, const char *key)
{
	return borrowed(json_object_get(node(obj), key));
}

const mr_json *mr_json_at(const mr_json *arr, size_t i)
{
	return borrowed(json_array_get(node(arr), i));
}

size_t mr_json_size(const mr_json *j)
{
	return json_is_object(node(j)) ? json_object_size(node(j)) : json_array_size(node(j));
}

const char *mr_json_next_key(const mr_json *obj, const char *prev)
{
	void *it;

	if (!json_is_object(node(obj)))
		return NULL;
	it = prev ? json_object_iter_next(node(obj), json_object_key_to_iter(prev)) : json_object_iter(node(obj));
	return it ? json_object_iter_key(it) : NULL;
}

int64_t mr_json_int(const mr_json *j)
{
	return json_integer_value(node(j));
}

double mr_json_double(const mr_json *j)
{
	return json_number_value(node(j));
}

const char *mr_json_string(const mr_json *j)
{
	return json_string_value(node(j));
}

bool mr_json_bool(const mr_json *j)
{
	return json_is_true(node(j));
}
