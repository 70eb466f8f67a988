/*
 * ckpt_os.h - the system calls that write checkpoints, each repeated after EINTR and placed between two fault points.
 *
 * Call X passes MR_FAULT_POINT("checkpoint.X.before"), fails if mr_fault_io("checkpoint.X") is true, and passes
 * "checkpoint.X.after". X is mkdir, open, allocate, write, fsync, rename, syncdir, unlink or rmdir. One injected
 * failure of the call "checkpoint.short" makes a write take only half of its data. Everything that changes a checkpoint
 * folder goes through here, so that a test which kills or fails at every point has really tried every point.
 *
 * A watchdog sees each call under way (base/activity.h).
 *
 * All return -1 with errno set on failure, like the system calls. A failed fsync is never repeated (except
 * after EINTR): the kernel may have dropped the pages that it could not write, and would then report success.
 */
#ifndef MR_STORE_CKPT_OS_H
#define MR_STORE_CKPT_OS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int mr_ckpt_mkdir(int dir, const char *name);
/** Create the file for writing; it must not exist, not even as a symbolic link. */
int mr_ckpt_create(int dir, const char *name);
/** Reserve the first @bytes bytes of a file, which is as long then. */
int mr_ckpt_allocate(int fd, uint64_t bytes);
/** May write less than @len, as pwrite does. Thread: any. */
ssize_t mr_ckpt_write(int fd, const void *data, size_t len, uint64_t offset);
int mr_ckpt_fsync(int fd);
/** fsync of a directory: makes creations, removals and renames in it durable. File systems that cannot do that (EINVAL,
 * such as a virtual machine's shared folders) keep to an order of their own: no failure. */
int mr_ckpt_sync_dir(int fd);
int mr_ckpt_rename(int dir, const char *from, const char *to);
int mr_ckpt_unlink(int dir, const char *name);
int mr_ckpt_rmdir(int dir, const char *name);

#endif
