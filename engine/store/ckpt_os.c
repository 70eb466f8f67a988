#include "store/ckpt_os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

/* @result becomes that of @call, or a failure that a test injects. The point after the call must not change errno. */
#define GUARDED(what, result, call)                                                            \
	do {                                                                                   \
		int err_;                                                                      \
		MR_FAULT_POINT("checkpoint." what ".before");                                  \
		do                                                                             \
			(result) = mr_fault_io("checkpoint." what, &err_) ? -1 : (call);       \
		while ((result) < 0 && errno == EINTR);                                        \
		err_ = errno;                                                                  \
		MR_FAULT_POINT("checkpoint." what ".after");                                   \
		errno = err_;                                                                  \
	} while (0)

int mr_ckpt_mkdir(int dir, const char *name)
{
	int result;

	GUARDED("mkdir", result, mkdirat(dir, name, 0777));
	return result;
}

int mr_ckpt_create(int dir, const char *name)
{
	int fd;

	GUARDED("open", fd, openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
	return fd;
}

int mr_ckpt_allocate(int fd, uint64_t bytes)
{
	int result;

	GUARDED("allocate", result, fallocate(fd, 0, 0, (off_t)bytes));
	return result;
}

ssize_t mr_ckpt_write(int fd, const void *data, size_t len, uint64_t offset)
{
	ssize_t put;
	int err;

	if (len > 1 && mr_fault_io("checkpoint.short", &err))
		len /= 2;
	GUARDED("write", put, pwrite(fd, data, len, (off_t)offset));
	return put;
}

int mr_ckpt_fsync(int fd)
{
	int result;

	GUARDED("fsync", result, fsync(fd));
	return result;
}

int mr_ckpt_sync_dir(int fd)
{
	int result;

	GUARDED("syncdir", result, fsync(fd));
	return result && errno == EINVAL ? 0 : result;
}

int mr_ckpt_rename(int dir, const char *from, const char *to)
{
	int result;

	GUARDED("rename", result, renameat(dir, from, dir, to));
	return result;
}

int mr_ckpt_unlink(int dir, const char *name)
{
	int result;

	GUARDED("unlink", result, unlinkat(dir, name, 0));
	return result;
}

int mr_ckpt_rmdir(int dir, const char *name)
{
	int result;

	GUARDED("rmdir", result, unlinkat(dir, name, AT_REMOVEDIR));
	return result;
}
