#include "base/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/room.h"
#include "base/str.h"

#define FIRST_ROOM ((size_t)1 << 16)

mr_status mr_line_reader_open(mr_line_reader *r, const char *path, size_t most, uint64_t *bytes)
{
	int fd;

	*r = (mr_line_reader){.path = path, .fd = -1, .most = most};
	MR_TRY(mr_file_open(path, &fd, bytes));
	return mr_line_reader_of(r, path, fd, most);
}

mr_status mr_line_reader_of(mr_line_reader *r, const char *path, int fd, size_t most)
{
	*r = (mr_line_reader){.path = path, .fd = fd, .most = most};
	r->room = FIRST_ROOM;
	r->buf = malloc(r->room + 1); /* and a NUL */
	return r->buf ? MR_OK : mr_fail(MR_ERESOURCE, "%s: no memory for its lines", path);
}

/* Make room behind @n, and read. *@got is 0 at the end of the file. */
static mr_status read_more(mr_line_reader *r, ssize_t *got)
{
	char limit[16];

	if (r->at) {
		memmove(r->buf, r->buf + r->at, r->n - r->at);
		r->n -= r->at;
		r->at = 0;
	}
	if (r->n > r->most)
		return mr_fail(MR_EIO, "%s: the line at byte %llu is longer than %s", r->path,
			       (unsigned long long)r->offset, mr_bytes_text(r->most, limit));
	if (r->n == r->room) {
		char *more;

		MR_TRY(mr_room_check(r->path, "a line", 2 * r->room + 1));
		more = realloc(r->buf, 2 * r->room + 1);
		if (!more)
			return mr_fail(MR_ERESOURCE, "%s: no memory for a line", r->path);
		r->buf = more;
		r->room *= 2;
	}
	do
		*got = read(r->fd, r->buf + r->n, r->room - r->n);
	while (*got < 0 && errno == EINTR);
	if (*got < 0)
		return mr_fail(MR_EIO, "%s: cannot read: %s", r->path, strerror(errno));
	r->n += (size_t)*got;
	return MR_OK;
}

mr_status mr_line_reader_next(mr_line_reader *r, char **line, size_t *len)
{
	size_t seen = 0;
	char *end = NULL;
	ssize_t got = 1;

	*line = NULL;
	*len = 0;
	if (r->at < r->n)
		r->buf[r->at] = r->behind;
	while (got && !(end = memchr(r->buf + r->at + seen, '\n', r->n - r->at - seen))) {
		seen = r->n - r->at;
		MR_TRY(read_more(r, &got));
	}
	if (!end && r->at == r->n)
		return MR_OK;
	*line = r->buf + r->at;
	*len = end ? (size_t)(end + 1 - *line) : r->n - r->at;
	r->at += *len;
	r->offset += *len;
	r->behind = r->at < r->n ? r->buf[r->at] : '\0';
	r->buf[r->at] = '\0';
	return MR_OK;
}

void mr_line_reader_close(mr_line_reader *r)
{
	free(r->buf);
	if (r->fd >= 0)
		close(r->fd);
	*r = (mr_line_reader){.fd = -1};
}
