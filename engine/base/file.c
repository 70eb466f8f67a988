#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define FIRST_BYTES 4096 /* for files without a size beforehand, such as pipes */
#define MAX_TEMPS 100    /* names tried for a temporary file: crashes may have left some behind */

/* Read @fd to its end, or to @max + 1 bytes, which is enough to see that it is too large. */
static mr_status read_all(int fd, const char *path, size_t expected, size_t max, char **buf, size_t *len)
{
	size_t cap = expected < max ? expected + 2 : max + 2; /* one byte to see the end, one for the NUL */
	size_t n = 0;
	char *data = malloc(cap);

	while (data) {
		ssize_t got = read(fd, data + n, cap - 1 - n);

		if (got < 0 && errno == EINTR)
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
			char *more = realloc(data, cap = cap < max / 2 ? 2 * cap : max + 2);

			if (!more)
				free(data);
			data = more;
		}
	}
	return mr_fail(MR_ERESOURCE, "%s: no memory for the file", path);
}

static mr_status read_checked(int fd, const char *path, size_t max, char **buf, size_t *len)
{
	struct stat st;
	size_t expected = FIRST_BYTES;
	char limit[16];

	if (fstat(fd, &st))
		return mr_fail(MR_EIO, "%s: cannot stat: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return mr_fail(MR_EIO, "%s: is a directory, expected a file", path);
	mr_bytes_text(max, limit);
	if (S_ISREG(st.st_mode)) {
		if ((uint64_t)st.st_size > max)
			return mr_fail(MR_EIO, "%s: is larger than %s", path, limit);
		expected = (size_t)st.st_size;
	}
	MR_TRY(read_all(fd, path, expected, max, buf, len));
	if (*len && *len <= max)
		return MR_OK;
	free(*buf);
	return *len ? mr_fail(MR_EIO, "%s: is larger than %s", path, limit) : mr_fail(MR_EIO, "%s: is empty", path);
}

mr_status mr_file_read(const char *path, size_t max, char **buf, size_t *len)
{
	char *data = NULL;
	size_t n = 0;
	mr_status st;
	int fd;

	if (max > SIZE_MAX - 2)
		max = SIZE_MAX - 2;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return mr_fail(MR_EIO, "%s: no such file", path);
	if (fd < 0)
		return mr_fail(MR_EIO, "%s: cannot open: %s", path, strerror(errno));
	st = read_checked(fd, path, max, &data, &n);
	close(fd);
	if (st != MR_OK)
		return st;
	*buf = data;
	*len = n;
	return MR_OK;
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

static bool write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t put = write(fd, data, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		data += put;
		len -= (size_t)put;
	}
	return true;
}

/* Write, fsync, rename and close. On failure the message names the first call that failed, and the temporary file is
 * removed. */
static mr_status replace_through(int fd, const char *temp, const char *path, const void *data, size_t len)
{
	const char *what = NULL;
	int error = 0;

	if (!write_all(fd, data, len))
		what = "write";
	else if (fsync(fd))
		what = "fsync";
	if (what)
		error = errno;
	if (close(fd) && !what) {
		what = "close";
		error = errno;
	}
	if (!what && rename(temp, path)) {
		what = "rename";
		error = errno;
	}
	if (!what)
		return MR_OK;
	unlink(temp);
	return mr_fail(MR_EIO, "%s: cannot %s: %s", path, what, strerror(error));
}

/*
 * Create a temporary file beside @path under a name that does not exist yet. An existing file or link of that name is
 * neither followed nor written to. Returns < 0 with errno, and the last name tried.
 */
static int create_temp(const char *path, mr_strbuf *temp)
{
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < MAX_TEMPS; i++) {
		mr_strbuf_reset(temp);
		mr_strbuf_printf(temp, "%s.tmp%ld-%u", path, (long)getpid(), i);
		if (temp->failed) {
			errno = ENOMEM;
			return -1;
		}
		fd = open(temp->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

static mr_status write_into(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	mr_status st = MR_OK;

	if (fd < 0)
		return mr_fail(MR_EIO, "%s: cannot open: %s", path, strerror(errno));
	if (!write_all(fd, data, len))
		st = mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	close(fd);
	return st;
}

static mr_status replace_file(const char *path, const void *data, size_t len)
{
	const char *slash = strrchr(path, '/');
	mr_strbuf temp, dir;
	mr_status st;
	int fd;

	mr_strbuf_init(&temp);
	mr_strbuf_init(&dir);
	if (!slash)
		mr_strbuf_append(&dir, ".");
	else
		mr_strbuf_append_n(&dir, path, slash == path ? 1 : (size_t)(slash - path));
	fd = create_temp(path, &temp);
	if (fd < 0)
		st = mr_fail(MR_EIO, "%s: cannot create %s: %s", path, mr_strbuf_text(&temp), strerror(errno));
	else
		st = replace_through(fd, temp.data, path, data, len);
	if (st == MR_OK && dir.failed)
		st = mr_fail(MR_ERESOURCE, "%s: no memory for a file name", path);
	if (st == MR_OK)
		st = mr_file_sync_dir(dir.data);
	mr_strbuf_fini(&temp);
	mr_strbuf_fini(&dir);
	return st;
}

mr_status mr_file_replace(const char *path, const void *data, size_t len)
{
	struct stat link, info;
	char *file = NULL;
	mr_status st;

	if (!stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
		return write_into(path, data, len);
	if (!lstat(path, &link) && S_ISLNK(link.st_mode))
		file = realpath(path, NULL); /* NULL: the link leads nowhere, and is itself replaced */
	st = replace_file(file ? file : path, data, len);
	free(file);
	return st;
}
