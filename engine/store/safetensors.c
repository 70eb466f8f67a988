#include "store/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/room.h"
#include "base/size.h"

#define MAX_HEADER 100000000u
#define METADATA "__metadata__"

struct mr_safetensors {
	char *label;
	int fd;
	mr_json *root;             /* owns all names */
	mr_saved_tensor *tensors;  /* by offset */
	mr_saved_tensor **by_name;
	size_t n;
	uint64_t data_bytes, data_start;
};

void mr_safetensors_close(mr_safetensors *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	mr_json_destroy(s->root);
	free(s->tensors);
	free(s->by_name);
	free(s->label);
	free(s);
}

static mr_status read_at(const mr_safetensors *s, void *to, uint64_t len, uint64_t offset)
{
	for (uint64_t done = 0; done < len;) {
		size_t piece = len - done > 1u << 30 ? (size_t)1 << 30 : (size_t)(len - done);
		ssize_t got = pread(s->fd, (char *)to + done, piece, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return mr_fail(MR_EIO, "%s: cannot read: %s", s->label, strerror(errno));
		if (got == 0)
			return mr_fail(MR_ECKPT, "%s: ends at byte %llu, expected at least %llu", s->label,
				       (unsigned long long)(offset + done), (unsigned long long)(offset + len));
		done += (uint64_t)got;
	}
	return MR_OK;
}

/* Read the JSON into s->root. */
static mr_status read_header(mr_safetensors *s, uint64_t file_bytes)
{
	uint8_t size[8];
	uint64_t n = 0;
	char *text;
	mr_status st;

	if (file_bytes < 10)
		return mr_fail(MR_ECKPT, "%s: %llu bytes are too few for a safetensors file", s->label,
			       (unsigned long long)file_bytes);
	MR_TRY(read_at(s, size, 8, 0));
	for (int i = 7; i >= 0; i--)
		n = n << 8 | size[i];
	if (n < 2 || n > MAX_HEADER || n > file_bytes - 8)
		return mr_fail(MR_ECKPT, "%s: header of %llu bytes at offset 0, expected 2 to %llu", s->label,
			       (unsigned long long)n,
			       (unsigned long long)(file_bytes - 8 < MAX_HEADER ? file_bytes - 8 : MAX_HEADER));
	MR_TRY(mr_room_check(s->label, "its header", n));
	text = malloc(n);
	if (!text)
		return mr_fail(MR_ERESOURCE, "%s: no memory for a header of %llu bytes", s->label,
			       (unsigned long long)n);
	st = read_at(s, text, n, 8);
	if (st == MR_OK && text[0] != '{')
		st = mr_fail(MR_ECKPT, "%s: the header at offset 8 does not begin with {", s->label);
	if (st == MR_OK) {
		st = mr_json_read_text(text, (size_t)n, &s->root);
		if (st != MR_OK)
			st = mr_fail(st == MR_ERESOURCE ? st : MR_ECKPT, "%s: header: %s", s->label, mr_error_text());
	}
	free(text);
	s->data_start = 8 + n;
	s->data_bytes = file_bytes - s->data_start;
	return st;
}

static mr_status read_dtype(const mr_safetensors *s, mr_saved_tensor *t, const char *name)
{
	if (name && mr_dtype_find_saved(name, &t->dtype))
		return MR_OK;
	return mr_fail(MR_ECKPT, "%s: tensor \"%s\" has the unknown dtype %s", s->label, t->name,
		       name ? name : "(none)");
}

static mr_status read_shape(const mr_safetensors *s, mr_saved_tensor *t, const mr_json *shape)
{
	size_t bytes = mr_dtype_bytes(t->dtype);

	if (!mr_json_is_array(shape) || mr_json_size(shape) > MR_SAVED_MAX_DIMS)
		return mr_fail(MR_ECKPT, "%s: tensor \"%s\" has no shape of at most %d dimensions", s->label, t->name,
			       MR_SAVED_MAX_DIMS);
	t->n_dims = (uint32_t)mr_json_size(shape);
	for (uint32_t d = 0; d < t->n_dims; d++) {
		const mr_json *length = mr_json_at(shape, d);

		t->shape[d] = mr_json_int(length);
		if (!mr_json_is_int(length) || t->shape[d] < 0 || !mr_size_mul(bytes, (size_t)t->shape[d], &bytes))
			return mr_fail(MR_ECKPT, "%s: tensor \"%s\" has an impossible length in dimension %u", s->label,
				       t->name, d);
	}
	t->bytes = bytes;
	return MR_OK;
}

static mr_status read_offsets(const mr_safetensors *s, mr_saved_tensor *t, const mr_json *offsets)
{
	int64_t begin = mr_json_int(mr_json_at(offsets, 0)), end = mr_json_int(mr_json_at(offsets, 1));

	if (mr_json_size(offsets) != 2 || !mr_json_is_int(mr_json_at(offsets, 0)) ||
	    !mr_json_is_int(mr_json_at(offsets, 1)) || begin < 0 || end < begin || (uint64_t)end > s->data_bytes)
		return mr_fail(MR_ECKPT, "%s: tensor \"%s\" has no data_offsets within the %llu bytes of data",
			       s->label, t->name, (unsigned long long)s->data_bytes);
	if ((uint64_t)(end - begin) != t->bytes)
		return mr_fail(MR_ECKPT,
			       "%s: tensor \"%s\" has %lld bytes at offset %lld, expected %llu by its shape", s->label,
			       t->name, (long long)(end - begin), (long long)begin, (unsigned long long)t->bytes);
	t->offset = (uint64_t)begin + s->data_start;
	return MR_OK;
}

static mr_status check_metadata(const mr_safetensors *s)
{
	const mr_json *metadata = mr_json_get(s->root, METADATA);

	if (metadata && !mr_json_is_object(metadata))
		return mr_fail(MR_ECKPT, "%s: " METADATA " is %s, expected an object", s->label,
			       mr_json_kind(metadata));
	for (const char *key = mr_json_next_key(metadata, NULL); key; key = mr_json_next_key(metadata, key))
		if (!mr_json_is_string(mr_json_get(metadata, key)))
			return mr_fail(MR_ECKPT, "%s: " METADATA " has a value for \"%s\" that is no string", s->label,
				       key);
	return MR_OK;
}

static int by_offset(const void *a, const void *b)
{
	const mr_saved_tensor *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* empty ones first */
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(mr_saved_tensor *const *)a)->name, (*(mr_saved_tensor *const *)b)->name);
}

/* The tensors must cover the data exactly. */
static mr_status check_cover(const mr_safetensors *s)
{
	uint64_t at = s->data_start;

	for (size_t i = 0; i < s->n; i++) {
		if (s->tensors[i].offset != at)
			return mr_fail(MR_ECKPT, "%s: tensor \"%s\" begins at offset %llu, expected %llu: data %s",
				       s->label,
				       s->tensors[i].name, (unsigned long long)s->tensors[i].offset,
				       (unsigned long long)at, s->tensors[i].offset < at ? "overlap" : "have a gap");
		at += s->tensors[i].bytes;
	}
	if (at != s->data_start + s->data_bytes)
		return mr_fail(MR_ECKPT, "%s: tensors end at offset %llu, the file at %llu", s->label,
			       (unsigned long long)at, (unsigned long long)(s->data_start + s->data_bytes));
	return MR_OK;
}

static mr_status read_tensors(mr_safetensors *s)
{
	size_t entries = mr_json_size(s->root);

	MR_TRY(check_metadata(s));
	MR_TRY(mr_room_check(s->label, "its tensors", entries * (sizeof(*s->tensors) + sizeof(*s->by_name))));
	s->tensors = calloc(entries + 1, sizeof(*s->tensors));
	s->by_name = calloc(entries + 1, sizeof(*s->by_name));
	if (!s->tensors || !s->by_name)
		return mr_fail(MR_ERESOURCE, "%s: no memory for %zu tensors", s->label, entries);
	for (const char *key = mr_json_next_key(s->root, NULL); key; key = mr_json_next_key(s->root, key)) {
		const mr_json *entry = mr_json_get(s->root, key);
		mr_saved_tensor *t = &s->tensors[s->n];

		if (!strcmp(key, METADATA))
			continue;
		t->name = key;
		MR_TRY(read_dtype(s, t, mr_json_string(mr_json_get(entry, "dtype"))));
		MR_TRY(read_shape(s, t, mr_json_get(entry, "shape")));
		MR_TRY(read_offsets(s, t, mr_json_get(entry, "data_offsets")));
		s->n++;
	}
	qsort(s->tensors, s->n, sizeof(*s->tensors), by_offset);
	for (size_t i = 0; i < s->n; i++)
		s->by_name[i] = &s->tensors[i];
	qsort(s->by_name, s->n, sizeof(*s->by_name), by_name);
	return check_cover(s);
}

static mr_status open_file(mr_safetensors *s, int dir, const char *name, int links)
{
	struct stat info;

	s->fd = openat(dir, name, O_RDONLY | links | O_NONBLOCK | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &info))
		return mr_fail(MR_ECKPT, "%s: cannot open: %s", s->label,
			       errno == ELOOP ? "is a symbolic link" : strerror(errno));
	if (!S_ISREG(info.st_mode))
		return mr_fail(MR_ECKPT, "%s: is not a regular file", s->label);
	MR_TRY(read_header(s, (uint64_t)info.st_size));
	return read_tensors(s);
}

/* @links: how openat treats symbolic links, O_NOFOLLOW or 0. */
static mr_status open_any(int dir, const char *name, const char *label, int links, mr_safetensors **out)
{
	mr_safetensors *s = calloc(1, sizeof(*s));
	mr_status st;

	*out = NULL;
	if (s) {
		s->fd = -1;
		s->label = strdup(label ? label : name);
	}
	st = s && s->label ? open_file(s, dir, name, links) : mr_fail(MR_ERESOURCE, "%s: no memory", name);
	if (st != MR_OK)
		mr_safetensors_close(s);
	else
		*out = s;
	return st;
}

mr_status mr_safetensors_open(int dir, const char *name, const char *label, mr_safetensors **out)
{
	return open_any(dir, name, label, O_NOFOLLOW, out);
}

mr_status mr_safetensors_open_path(const char *path, mr_safetensors **out)
{
	return open_any(AT_FDCWD, path, NULL, 0, out);
}

const char *mr_safetensors_metadata(const mr_safetensors *s, const char *key)
{
	return mr_json_string(mr_json_get(mr_json_get(s->root, METADATA), key));
}

size_t mr_safetensors_count(const mr_safetensors *s)
{
	return s->n;
}

const mr_saved_tensor *mr_safetensors_at(const mr_safetensors *s, size_t i)
{
	return i < s->n ? &s->tensors[i] : NULL;
}

const mr_saved_tensor *mr_safetensors_find(const mr_safetensors *s, const char *name)
{
	mr_saved_tensor key = {.name = name}, *at = &key;
	mr_saved_tensor **found = s->n ? bsearch(&at, s->by_name, s->n, sizeof(*s->by_name), by_name) : NULL;

	return found ? *found : NULL;
}

mr_status mr_safetensors_read(const mr_safetensors *s, const mr_saved_tensor *t, void *to)
{
	mr_status st = read_at(s, to, t->bytes, t->offset);

	return st == MR_OK ? MR_OK : mr_fail_in(st, "tensor \"%s\"", t->name);
}

/* "[2, 3]" */
static const char *shape_text(const mr_saved_tensor *t, char text[192])
{
	int n = snprintf(text, 192, "[");

	for (uint32_t d = 0; d < t->n_dims; d++)
		n += snprintf(text + n, 192 - (size_t)n, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
	snprintf(text + n, 192 - (size_t)n, "]");
	return text;
}

mr_status mr_safetensors_load(const mr_safetensors *s, const mr_saved_tensor *want)
{
	const mr_saved_tensor *t = mr_safetensors_find(s, want->name);
	char a[192], b[192];

	if (!t)
		return mr_fail(MR_ECKPT, "%s: has no tensor \"%s\"", s->label, want->name);
	if (t->dtype != want->dtype || t->n_dims != want->n_dims ||
	    memcmp(t->shape, want->shape, t->n_dims * sizeof(t->shape[0])) != 0)
		return mr_fail(MR_ECKPT, "%s: tensor \"%s\" is %s %s, expected %s %s", s->label, want->name,
			       mr_dtype_saved_name(t->dtype), shape_text(t, a), mr_dtype_saved_name(want->dtype),
			       shape_text(want, b));
	return mr_safetensors_read(s, t, want->data);
}
