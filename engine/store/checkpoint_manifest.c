/*
 * checkpoint_manifest.c - MANIFEST.json, written and read.
 *
 * The last member, "manifest_crc32c", is the checksum of all bytes in front of the comma before it, and the rest of the
 * file is a fixed text. So a flipped bit anywhere in the manifest is found before a parser sees it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/room.h"
#include "store/checkpoint_part.h"

#define MAX_MANIFEST (64u << 20)
#define TAIL ",\n\t\"manifest_crc32c\": \"%08x\"\n}\n"
#define TAIL_BYTES 35u

struct mr_checkpoint {
	char *path;
	int dir;
	mr_json *root; /* owns the facts */
	uint64_t step;
	mr_manifest_file *files;
	size_t n_files;
};

/* --- writing --- */

static void put_file(mr_json_writer *w, const mr_manifest_file *f)
{
	mr_json_begin_object(w);
	mr_json_field_string(w, "name", f->name);
	mr_json_field_uint(w, "bytes", f->size);
	mr_json_field_array(w, "crc32c_per_mib");
	for (size_t i = 0; i < f->n_crcs; i++)
		mr_json_put_uint(w, f->crcs[i]);
	mr_json_end_array(w);
	mr_json_end_object(w);
}

static void put_all(mr_json_writer *w, const mr_checkpoint_content *c, const mr_manifest_file *files)
{
	mr_json_begin_object(w);
	mr_json_field_string(w, "format", MR_MANIFEST_FORMAT);
	mr_json_field_int(w, "version", 1);
	mr_json_field_uint(w, "step", c->step);
	mr_json_field_object(w, "facts");
	for (size_t i = 0; i < c->n_facts; i++)
		mr_json_field_string(w, c->facts[i].key, c->facts[i].value);
	mr_json_end_object(w);
	mr_json_field_array(w, "files");
	for (size_t i = 0; i < c->n_parts; i++)
		put_file(w, &files[i]);
	mr_json_end_array(w);
	mr_json_end_object(w);
}

/* The manifest without its tail; NULL: no memory. */
static char *make_text(const mr_checkpoint_content *c, const mr_manifest_file *files, size_t *len)
{
	char *text = NULL;
	mr_json_writer w;
	FILE *f = open_memstream(&text, len);
	bool good;

	if (!f)
		return NULL;
	mr_json_init(&w, f, true);
	put_all(&w, c, files);
	good = mr_json_finish(&w) == MR_OK;
	if (fclose(f) || !good) {
		free(text);
		return NULL;
	}
	while (*len && text[*len - 1] != '}') /* the tail has the closing bracket of the object */
		--*len;
	do
		--*len;
	while (*len && text[*len - 1] == '\n');
	return text;
}

mr_status mr_manifest_write(int dir, const mr_checkpoint_content *c, const mr_manifest_file *files)
{
	char tail[TAIL_BYTES + 1];
	size_t len;
	char *text = make_text(c, files, &len);
	mr_crc_file f;
	mr_status st;

	if (!text)
		return mr_fail(MR_ERESOURCE, MR_MANIFEST ": no memory");
	snprintf(tail, sizeof(tail), TAIL, mr_crc32c(0, text, len));
	st = mr_crc_file_create(&f, dir, MR_MANIFEST);
	if (st == MR_OK) {
		st = mr_crc_file_write(&f, text, len);
		if (st == MR_OK)
			st = mr_crc_file_write(&f, tail, strlen(tail));
		if (st == MR_OK)
			st = mr_crc_file_finish(&f);
		mr_crc_file_fini(&f);
	}
	free(text);
	return st;
}

/* --- reading --- */

static int open_in(int dir, const char *name, int flags)
{
	return openat(dir, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Read the manifest; *@text has a NUL behind it and is freed by the caller. */
static mr_status read_text(int dir, char **text, size_t *len)
{
	int fd = open_in(dir, MR_MANIFEST, 0);
	struct stat info;
	size_t n = 0;
	mr_status st;

	*text = NULL;
	*len = 0;
	if (fd < 0)
		return mr_fail(MR_ECKPT, MR_MANIFEST ": cannot open: %s", strerror(errno));
	if (fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_size < 2 || info.st_size > (off_t)MAX_MANIFEST) {
		close(fd);
		return mr_fail(MR_ECKPT, MR_MANIFEST ": is not a file of 2 bytes to 64 MiB");
	}
	st = mr_room_check(NULL, MR_MANIFEST, (uint64_t)info.st_size);
	if (st != MR_OK) {
		close(fd);
		return st;
	}
	*len = (size_t)info.st_size;
	*text = malloc(*len + 1);
	while (*text && n < *len) {
		ssize_t got = read(fd, *text + n, *len - n);

		if (got <= 0 && !(got < 0 && errno == EINTR))
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!*text)
		return mr_fail(MR_ERESOURCE, MR_MANIFEST ": no memory for %zu bytes", *len);
	(*text)[n] = '\0';
	return n == *len ? MR_OK : mr_fail(MR_ECKPT, MR_MANIFEST ": ends at byte %zu, expected %zu", n, *len);
}

static mr_status check_tail(const char *text, size_t len)
{
	char tail[TAIL_BYTES + 1];
	uint32_t crc;

	if (len <= TAIL_BYTES)
		return mr_fail(MR_ECKPT, MR_MANIFEST ": %zu bytes are too few", len);
	crc = mr_crc32c(0, text, len - TAIL_BYTES);
	snprintf(tail, sizeof(tail), TAIL, crc);
	if (memcmp(text + len - TAIL_BYTES, tail, TAIL_BYTES) != 0)
		return mr_fail(MR_ECKPT,
			       MR_MANIFEST ": damaged or cut: CRC32C %08x of its first %zu bytes is not what it states",
			       crc, len - TAIL_BYTES);
	return MR_OK;
}

static mr_status read_file(mr_manifest_file *f, const mr_json *j)
{
	const mr_json *crcs = mr_json_get(j, "crc32c_per_mib"), *bytes = mr_json_get(j, "bytes");
	const char *name = mr_json_string(mr_json_get(j, "name"));

	if (!mr_checkpoint_name_ok(name))
		return mr_fail(MR_ECKPT, MR_MANIFEST ": a file is called \"%s\"", name ? name : "");
	if (!mr_json_is_int(bytes) || mr_json_int(bytes) < 0 || !mr_json_is_array(crcs))
		return mr_fail(MR_ECKPT, MR_MANIFEST ": no size and checksums of \"%s\"", name);
	f->size = (uint64_t)mr_json_int(bytes);
	f->n_crcs = mr_json_size(crcs);
	f->name = strdup(name);
	f->crcs = calloc(f->n_crcs + 1, sizeof(*f->crcs));
	if (!f->name || !f->crcs)
		return mr_fail(MR_ERESOURCE, MR_MANIFEST ": no memory");
	for (size_t i = 0; i < f->n_crcs; i++) {
		int64_t crc = mr_json_int(mr_json_at(crcs, i));

		if (!mr_json_is_int(mr_json_at(crcs, i)) || crc < 0 || crc > UINT32_MAX)
			return mr_fail(MR_ECKPT, MR_MANIFEST ": checksum %zu of \"%s\" is not one", i, name);
		f->crcs[i] = (uint32_t)crc;
	}
	return MR_OK;
}

static mr_status read_facts(const mr_json *facts)
{
	if (!mr_json_is_object(facts))
		return mr_fail(MR_ECKPT, MR_MANIFEST ": facts are %s, expected an object", mr_json_kind(facts));
	for (const char *key = mr_json_next_key(facts, NULL); key; key = mr_json_next_key(facts, key))
		if (!mr_json_is_string(mr_json_get(facts, key)))
			return mr_fail(MR_ECKPT, MR_MANIFEST ": fact \"%s\" is no string", key);
	return MR_OK;
}

static mr_status read_manifest(mr_checkpoint *c)
{
	const char *format = mr_json_string(mr_json_get(c->root, "format"));
	const mr_json *version = mr_json_get(c->root, "version"), *step = mr_json_get(c->root, "step");
	const mr_json *files = mr_json_get(c->root, "files");

	if (!format || strcmp(format, MR_MANIFEST_FORMAT) != 0)
		return mr_fail(MR_ECKPT, MR_MANIFEST ": format \"%s\", expected \"" MR_MANIFEST_FORMAT "\"",
			       format ? format : "");
	if (mr_json_int(version) != 1)
		return mr_fail(MR_ECKPT, MR_MANIFEST ": version %lld; this program reads version 1",
			       (long long)mr_json_int(version));
	if (!mr_json_is_int(step) || mr_json_int(step) < 0 || !mr_json_is_array(files))
		return mr_fail(MR_ECKPT, MR_MANIFEST ": has no step or no list of files");
	c->step = (uint64_t)mr_json_int(step);
	if (c->step > MR_CKPT_MAX_STEP)
		return mr_fail(MR_ECKPT, MR_MANIFEST ": step %llu, expected at most %llu", (unsigned long long)c->step,
			       (unsigned long long)MR_CKPT_MAX_STEP);
	MR_TRY(read_facts(mr_json_get(c->root, "facts")));
	if (mr_json_size(files) == 0)
		return mr_fail(MR_ECKPT,
			       MR_MANIFEST ": lists no file, expected at least one: the checkpoint holds no weights");
	c->files = calloc(mr_json_size(files) + 1, sizeof(*c->files));
	if (!c->files)
		return mr_fail(MR_ERESOURCE, MR_MANIFEST ": no memory");
	for (size_t i = 0; i < mr_json_size(files); i++) {
		c->n_files++;
		MR_TRY(read_file(&c->files[i], mr_json_at(files, i)));
		for (size_t k = 0; k < i; k++)
			if (!strcmp(c->files[k].name, c->files[i].name))
				return mr_fail(MR_ECKPT, MR_MANIFEST ": lists \"%s\" twice", c->files[i].name);
	}
	return MR_OK;
}

static mr_status check_sizes(const mr_checkpoint *c)
{
	for (size_t i = 0; i < c->n_files; i++) {
		const mr_manifest_file *f = &c->files[i];
		struct stat info;

		if (fstatat(c->dir, f->name, &info, AT_SYMLINK_NOFOLLOW))
			return mr_fail(MR_ECKPT, "%s: %s", f->name, strerror(errno));
		if (!S_ISREG(info.st_mode))
			return mr_fail(MR_ECKPT, "%s: is not a regular file", f->name);
		if ((uint64_t)info.st_size != f->size)
			return mr_fail(MR_ECKPT, "%s: %lld bytes, expected %llu", f->name, (long long)info.st_size,
				       (unsigned long long)f->size);
	}
	return MR_OK;
}

static mr_status open_checkpoint(mr_checkpoint *c)
{
	char *text;
	size_t len = 0;
	mr_status st;

	c->dir = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->dir < 0)
		return mr_fail(MR_ECKPT, "cannot open: %s", errno == ELOOP ? "is a symbolic link" : strerror(errno));
	st = read_text(c->dir, &text, &len);
	if (st == MR_OK)
		st = check_tail(text, len);
	if (st == MR_OK) {
		st = mr_json_read_text(text, len, &c->root);
		if (st != MR_OK)
			st = st == MR_ERESOURCE ? mr_fail_in(st, MR_MANIFEST)
						: mr_fail(MR_ECKPT, MR_MANIFEST ":%s", mr_error_text());
	}
	free(text);
	MR_TRY(st);
	MR_TRY(read_manifest(c));
	return check_sizes(c);
}

mr_status mr_checkpoint_open(const char *path, mr_checkpoint **out)
{
	mr_checkpoint *c = calloc(1, sizeof(*c));
	mr_status st;

	*out = NULL;
	if (c) {
		c->dir = -1;
		c->path = strdup(path);
	}
	st = c && c->path ? open_checkpoint(c) : mr_fail(MR_ERESOURCE, "no memory");
	if (st != MR_OK) {
		mr_checkpoint_close(c);
		return mr_fail_in(st, "%s", path);
	}
	*out = c;
	return MR_OK;
}

void mr_checkpoint_close(mr_checkpoint *c)
{
	if (!c)
		return;
	if (c->dir >= 0)
		close(c->dir);
	for (size_t i = 0; i < c->n_files; i++) {
		free(c->files[i].name);
		free(c->files[i].crcs);
	}
	free(c->files);
	mr_json_destroy(c->root);
	free(c->path);
	free(c);
}

mr_status mr_manifest_verify(const mr_checkpoint *c, uint32_t n_threads, bool direct)
{
	for (size_t i = 0; i < c->n_files; i++) {
		const mr_manifest_file *f = &c->files[i];
		int past = direct ? open_in(c->dir, f->name, O_DIRECT) : -1;
		int fd = past >= 0 ? past : open_in(c->dir, f->name, 0);
		mr_status st;

		if (fd < 0)
			return mr_fail(MR_ECKPT, "%s: %s: cannot open: %s", c->path, f->name, strerror(errno));
		st = mr_crc_file_verify(fd, f->name, f->size, f->crcs, f->n_crcs, n_threads);
		close(fd);
		if (st != MR_OK)
			return mr_fail_in(st, "%s", c->path);
	}
	return MR_OK;
}

mr_status mr_checkpoint_verify(const mr_checkpoint *c)
{
	return mr_manifest_verify(c, 1, false);
}

uint64_t mr_checkpoint_step(const mr_checkpoint *c)
{
	return c->step;
}

const char *mr_checkpoint_fact(const mr_checkpoint *c, const char *key)
{
	return mr_json_string(mr_json_get(mr_json_get(c->root, "facts"), key));
}

mr_saved_text mr_checkpoint_fact_at(const mr_checkpoint *c, size_t i)
{
	const mr_json *facts = mr_json_get(c->root, "facts");
	const char *key = mr_json_next_key(facts, NULL);

	while (key && i--)
		key = mr_json_next_key(facts, key);
	return (mr_saved_text){key, key ? mr_json_string(mr_json_get(facts, key)) : NULL};
}

const char *mr_checkpoint_file_at(const mr_checkpoint *c, size_t i, uint64_t *bytes)
{
	if (i >= c->n_files)
		return NULL;
	if (bytes)
		*bytes = c->files[i].size;
	return c->files[i].name;
}

mr_status mr_checkpoint_tensors(const mr_checkpoint *c, const char *name, mr_safetensors **out)
{
	*out = NULL;
	for (size_t i = 0; i < c->n_files; i++)
		if (!strcmp(c->files[i].name, name)) {
			mr_status st = mr_safetensors_open(c->dir, name, NULL, out);

			return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", c->path);
		}
	return mr_fail(MR_ECKPT, "%s: has no file \"%s\"", c->path, name);
}
