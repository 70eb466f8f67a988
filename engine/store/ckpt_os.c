#include "store/ckpt_os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"

/* @result becomes that of @call, or a failure that a test injects. The point after the call must not change errno. A
 * watchdog sees the call on @file of folder @fd. */
#define GUARDED(what, fd_, file, bytes_, result, call)                                         \
	do {                                                                                   \
		int err_;                                                                      \
		mr_activity_call(strcmp(what, "syncdir") ? what : "fsync", fd_, file, bytes_); \
		MR_FAULT_POINT("checkpoint." what ".before");                                  \
		do                                                                             \
			(result) = mr_fault_io("checkpoint." what, &err_) ? -1 : (call);       \
		while ((result) < 0 && errno == EINTR);                                        \
		err_ = errno;                                                                  \
		MR_FAULT_POINT("checkpoint." what ".after");                                   \
		mr_activity_done();                                                            \
		errno = err_;                                                                  \
	} while (0)

static uint64_t size_of(int fd)
{
	struct stat info;

	return fstat(fd, &info) || info.st_size < 0 ? 0 : (uint64_t)info.st_size;
}

int mr_ckpt_mkdir(int dir, const char *name)
{
	int result;

	GUARDED("mkdir", dir, name, 0, result, mkdirat(dir, name, 0777));
	return result;
}

int mr_ckpt_create(int dir, const char *name)
{
	int fd;

	GUARDED("open", dir, name, 0, fd,
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
	return fd;
}

int mr_ckpt_allocate(int fd, uint64_t bytes)
{
	int result;

	GUARDED("allocate", fd, "", bytes, result, fallocate(fd, 0, 0, (off_t)bytes));
	return result;
}

ssize_t mr_ckpt_write(int fd, const void *data, size_t len, uint64_t offset)
{
	ssize_t put;
	int err;

	if (len > 1 && mr_fault_io("checkpoint.short", &err))
		len /= 2;
	GUARDED("write", fd, "", len, put, pwrite(fd, data, len, (off_t)offset));
	return put;
}

int mr_ckpt_fsync(int fd)
{
	int result;

	GUARDED("fsync", fd, "", size_of(fd), result, fsync(fd));
	return result;
}

int mr_ckpt_sync_dir(int fd)
{
	int result;

	GUARDED("syncdir", fd, "", 0, result, fsync(fd));
	return result && errno == EINVAL ? 0 : result;
}

int mr_ckpt_rename(int dir, const char *from, const char *to)
{
	int result;

	GUARDED("rename", dir, to, 0, result, renameat(dir, from, dir, to));
	return result;
}

int mr_ckpt_unlink(int dir, const char *name)
{
	int result;

	GUARDED("unlink", dir, name, 0, result, unlinkat(dir, name, 0));
	return result;
}

int mr_ckpt_rmdir(int dir, const char *name)
{
	int result;

	GUARDED("rmdir", dir, name, 0, result, unlinkat(dir, name, AT_REMOVEDIR));
	return result;
}
