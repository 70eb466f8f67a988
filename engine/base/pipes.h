/*
 * pipes.h - what was read from pipes and terminals, kept to be read again.
 *
 * Users name pipes, as <(command) or /dev/stdin, where a configuration or a plan is read; a pipe gives its bytes once.
 * But the program reads some of these files twice, and it may start itself again after it has read them (host/env.h).
 * So the command line keeps such bytes in files without a name (memfd_create), which a second start inherits. A pipe is
 * identified by device and inode. A program that uses the library reads its pipes itself, and nothing is kept.
 *
 * Thread: the main thread alone, before others exist.
 */
#ifndef MR_BASE_PIPES_H
#define MR_BASE_PIPES_H

#include <stddef.h>
#include <sys/stat.h>

/** Keep from now on what is read from pipes, and take over what the first start of this program has read. */
void mr_pipes_begin(void);

/** Keep the @n bytes at @data, which the pipe @s gave. Without memory or a descriptor they are not kept. */
void mr_pipes_keep(const struct stat *s, const char *data, size_t n);

/** Open what the pipe @s gave, at its beginning; the caller closes it. -1: nothing is kept of it. */
int mr_pipes_open(const struct stat *s);

/** The process is about to start itself again: leave to it what is kept. */
void mr_pipes_leave(void);

#endif
