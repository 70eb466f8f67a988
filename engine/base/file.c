#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/pipes.h"
#include "base/room.h"
#include "base/str.h"

#define FIRST_BYTES 4096  /* for files without a size beforehand, such as pipes */
#define PIPE_WAIT_MS 2000 /* for a program that opens a pipe's other end at the same time as this one */
#define PIPE_POLL_MS 10

bool mr_file_no_room(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

const char *mr_file_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return NULL;
	case S_IFDIR: return "a directory";
	case S_IFIFO: return "a pipe";
	case S_IFCHR: return "a device";
	case S_IFBLK: return "a disk";
	case S_IFSOCK: return "a socket";
	default: return "of an unknown kind";
	}
}

/* Without O_NONBLOCK a pipe would block until something writes to it. */
static mr_status open_checked(const char *path, int flags, bool or_stream, int *out, struct stat *info)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666), error = errno;
	const char *kind;

	if (fd < 0 && error == ENOENT)
		return mr_fail(MR_EIO, "%s: no such file", path);
	if (fd < 0) {
		/* ENXIO: a pipe to write to that nothing reads, or a socket */
		kind = error == ENXIO && !stat(path, info) ? mr_file_kind(info->st_mode) : NULL;
		return kind ? mr_fail(MR_EIO, "%s: is %s, expected a file", path, kind)
			    : mr_fail(MR_EIO, "%s: cannot open: %s", path, strerror(error));
	}
	if (fstat(fd, info)) {
		error = errno;
		close(fd);
		return mr_fail(MR_EIO, "%s: cannot stat: %s", path, strerror(error));
	}
	kind = mr_file_kind(info->st_mode);
	if (kind && !(or_stream && (S_ISFIFO(info->st_mode) || isatty(fd)))) {
		close(fd);
		return mr_fail(MR_EIO, "%s: is %s, expected a file", path, kind);
	}
	*out = fd;
	return MR_OK;
}

mr_status mr_file_open(const char *path, int *fd, uint64_t *bytes)
{
	struct stat info;

	MR_TRY(open_checked(path, O_RDONLY, false, fd, &info));
	mr_inputs_note(&info);
	if (bytes)
		*bytes = (uint64_t)info.st_size;
	return MR_OK;
}

mr_status mr_file_stream(const char *path, mr_file_use use, FILE **out)
{
	struct stat info;
	int fd;

	MR_TRY(open_checked(path, use == MR_FILE_APPEND ? O_WRONLY | O_CREAT | O_APPEND : O_RDWR, false, &fd, &info));
	*out = fdopen(fd, use == MR_FILE_APPEND ? "a" : "r+");
	if (*out)
		return MR_OK;
	close(fd);
	return mr_fail(MR_ERESOURCE, "%s: no memory for the file", path);
}

/* Wait until the pipe or terminal @fd has bytes or has ended. A pipe that nothing has opened to write reads as ended:
 * @waited counts how long that has been so before its first byte. */
static bool wait_for_bytes(int fd, ssize_t got, bool any, int *waited)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (got < 0)
		return poll(&p, 1, -1) > 0 || errno == EINTR;
	if (any || *waited >= PIPE_WAIT_MS)
		return false;
	poll(NULL, 0, PIPE_POLL_MS);
	*waited += PIPE_POLL_MS;
	return true;
}

/* Double the @cap bytes at *@data, up to @max and two. */
static mr_status grow(const char *path, size_t max, char **data, size_t *cap)
{
	size_t wide = *cap < max / 2 ? 2 * *cap : max + 2;
	char *more;

	MR_TRY(mr_room_check(path, "the file", wide));
	more = realloc(*data, wide);
	if (!more)
		return mr_fail(MR_ERESOURCE, "%s: no memory for the file", path);
	*data = more;
	*cap = wide;
	return MR_OK;
}

/* Read @fd to its end, or to @max + 1 bytes, which is enough to see that it is too large. */
static mr_status read_all(int fd, const char *path, const struct stat *info, size_t max, char **buf, size_t *len)
{
	bool regular = S_ISREG(info->st_mode);
	size_t expected = regular ? (size_t)info->st_size : FIRST_BYTES;
	size_t cap = expected < max ? expected + 2 : max + 2; /* one byte to see the end, one for the NUL */
	size_t n = 0;
	int waited = 0; /* milliseconds, for the other end of a pipe */
	char *data;

	MR_TRY(mr_room_check(path, "the file", cap));
	data = malloc(cap);
	while (data) {
		ssize_t got = read(fd, data + n, cap - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (!regular && (!got || (got < 0 && errno == EAGAIN)) && wait_for_bytes(fd, got, n, &waited))
			continue;
		if (got < 0) {
			free(data);
			return mr_fail(MR_EIO, "%s: cannot read: %s", path, strerror(errno));
		}
		n += (size_t)got;
		if (!got || n > max) {
			data[n] = '\0';
			*buf = data;
			*len = n;
			return MR_OK;
		}
		if (n == cap - 1) {
			mr_status st = grow(path, max, &data, &cap);

			if (st != MR_OK) {
				free(data);
				return st;
			}
		}
	}
	return mr_fail(MR_ERESOURCE, "%s: no memory for the file", path);
}

static mr_status read_checked(int fd, const char *path, const struct stat *info, size_t max, char **buf, size_t *len)
{
	char limit[16];

	mr_bytes_text(max, limit);
	if (S_ISREG(info->st_mode) && (uint64_t)info->st_size > max)
		return mr_fail(MR_EIO, "%s: is larger than %s", path, limit);
	MR_TRY(read_all(fd, path, info, max, buf, len));
	if (*len && *len <= max)
		return MR_OK;
	free(*buf);
	return *len ? mr_fail(MR_EIO, "%s: is larger than %s", path, limit) : mr_fail(MR_EIO, "%s: is empty", path);
}

/* Replace the pipe @*fd by what is kept of it, if it was read before. */
static void reopen(int *fd, struct stat *info)
{
	int kept = mr_pipes_open(info);

	if (kept < 0)
		return;
	close(*fd);
	*fd = kept;
	(void)fstat(kept, info);
}

static mr_status read_file(const char *path, size_t max, bool or_stream, char **buf, size_t *len)
{
	struct stat info;
	char *data = NULL;
	size_t n = 0;
	mr_status st;
	int fd;

	if (max > SIZE_MAX - 2)
		max = SIZE_MAX - 2;
	MR_TRY(open_checked(path, O_RDONLY, or_stream, &fd, &info));
	if (!S_ISREG(info.st_mode))
		reopen(&fd, &info);
	st = read_checked(fd, path, &info, max, &data, &n);
	close(fd);
	if (st != MR_OK)
		return st;
	if (S_ISREG(info.st_mode))
		mr_inputs_note(&info);
	else
		mr_pipes_keep(&info, data, n);
	*buf = data;
	*len = n;
	return MR_OK;
}

mr_status mr_file_read(const char *path, size_t max, char **buf, size_t *len)
{
	return read_file(path, max, true, buf, len);
}

mr_status mr_file_read_regular(const char *path, size_t max, char **buf, size_t *len)
{
	return read_file(path, max, false, buf, len);
}

mr_status mr_file_sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_status st = MR_OK;

	if (fd < 0)
		return mr_fail(MR_EIO, "%s: cannot open directory: %s", dir, strerror(errno));
	if (fsync(fd) && errno != EINVAL) /* EINVAL: the file system has no such operation */
		st = mr_fail(MR_EIO, "%s: cannot fsync directory: %s", dir, strerror(errno));
	close(fd);
	return st;
}
