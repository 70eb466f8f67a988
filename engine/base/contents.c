#include "base/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/file.h"
#include "base/str.h"

struct mr_contents {
	char *path;
	int fd;             /* -1: there is no file */
	uint64_t bytes;
	char *memory;       /* all of them; NULL: they are in the file */
	mr_failure *failure;
};

static void fail(mr_contents *c, const char *what, uint64_t offset)
{
	mr_failure_set(c->failure, "%.300s: %s at byte %llu", c->path, what, (unsigned long long)offset);
}

static mr_status no_memory(uint64_t bytes)
{
	char text[16];

	return mr_fail(MR_ERESOURCE, "no memory for %s of data", mr_bytes_text(bytes, text));
}

mr_status mr_contents_stat(const char *path, uint64_t *bytes)
{
	struct stat st;

	if (stat(path, &st))
		return mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return mr_fail(MR_EDATA, "%s: is a folder, not a file", path);
	if (!S_ISREG(st.st_mode))
		return mr_fail(MR_EDATA, "%s: is not a regular file", path);
	if (st.st_size == 0)
		return mr_fail(MR_EDATA, "%s: the file is empty", path);
	*bytes = (uint64_t)st.st_size;
	return MR_OK;
}

static mr_contents *create(const char *path)
{
	mr_contents *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = -1;
	c->path = strdup(path);
	c->failure = mr_failure_create();
	if (c->path && c->failure)
		return c;
	mr_contents_close(c);
	return NULL;
}

mr_status mr_contents_open(const char *path, mr_contents **out)
{
	mr_contents *c;
	uint64_t bytes;
	mr_status st;

	*out = NULL;
	MR_TRY(mr_contents_stat(path, &bytes));
	c = create(path);
	if (!c)
		return no_memory(sizeof(*c));
	st = mr_file_open(path, &c->fd, &c->bytes);
	if (st == MR_OK && c->bytes) {
		*out = c;
		return MR_OK;
	}
	st = st == MR_OK ? mr_fail(MR_EDATA, "%s: the file is empty", path) : mr_fail(MR_EDATA, "%s", mr_error_text());
	mr_contents_close(c);
	return st;
}

mr_contents *mr_contents_of(const char *path, void *memory, uint64_t bytes)
{
	mr_contents *c = create(path);

	if (!c) {
		free(memory);
		return NULL;
	}
	c->memory = memory;
	c->bytes = bytes;
	return c;
}

void mr_contents_close(mr_contents *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	mr_failure_destroy(c->failure);
	free(c->memory);
	free(c->path);
	free(c);
}

const char *mr_contents_path(const mr_contents *c)
{
	return c->path;
}

uint64_t mr_contents_bytes(const mr_contents *c)
{
	return c->bytes;
}

bool mr_contents_is_kept(const mr_contents *c)
{
	return c->memory != NULL;
}

/* Fill @to, with zeros where it fails. */
static void read_file(mr_contents *c, uint64_t offset, char *to, size_t n)
{
	while (n) {
		ssize_t got = pread(c->fd, to, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			fail(c, got ? strerror(errno) : "the file was shortened while it was in use: nothing is left",
			     offset);
			memset(to, 0, n);
			return;
		}
		to += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
}

mr_status mr_contents_keep(mr_contents *c)
{
	char *memory;

	if (c->memory)
		return MR_OK;
	memory = malloc(c->bytes);
	if (!memory)
		return no_memory(c->bytes);
	read_file(c, 0, memory, c->bytes);
	c->memory = memory;
	return mr_contents_check(c);
}

const void *mr_contents_at(mr_contents *c, uint64_t offset, size_t n, void *room)
{
	if (c->memory)
		return c->memory + offset;
	read_file(c, offset, room, n);
	return room;
}

mr_status mr_contents_check(mr_contents *c)
{
	return c ? mr_failure_check(c->failure) : MR_OK;
}

void mr_contents_has_changed(mr_contents *c, uint64_t offset)
{
	fail(c, "the file was changed while it was in use,", offset);
}
