/*
 * contents.h - the bytes of a data file, in memory or on the disk.
 *
 * A file of up to a given size is read whole; a larger one stays where it is, and what a sample needs is read when it
 * is asked for, so data larger than memory can be trained on. It is read with pread and not mapped: a file that is
 * shortened meanwhile would turn a mapping into SIGBUS in the middle of a step, and touched pages of a mapping count as
 * the process's. The page cache holds what is read often.
 *
 * A read that fails fills its buffer with zeros and keeps a message, which mr_contents_check returns from then on; the
 * loader calls that after each batch. A decoder that finds other bytes in a sample than were there when the file was
 * checked reports it the same way (mr_contents_has_changed).
 *
 * Thread: open, keep and close on one thread; all else on any, at once.
 */
#ifndef MR_BASE_CONTENTS_H
#define MR_BASE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Bytes read at once by code that scans a whole file. */
#define MR_CONTENTS_PIECE ((size_t)1 << 16)

typedef struct mr_contents mr_contents;

/** Check that @path is a regular, non-empty file; *@bytes is its size. Errors: MR_EDATA with the path. */
mr_status mr_contents_stat(const char *path, uint64_t *bytes) MR_MUST_USE;

/** Open the regular, non-empty file @path. Errors: MR_EDATA with the path; MR_ERESOURCE. */
mr_status mr_contents_open(const char *path, mr_contents **out) MR_MUST_USE;

/** Contents that lie in memory instead of a file: @bytes at @memory, unpacked from @path. Takes @memory over and frees
 * it with the contents. NULL without memory; @memory is then freed, too. */
mr_contents *mr_contents_of(const char *path, void *memory, uint64_t bytes);

void mr_contents_close(mr_contents *c); /* accepts NULL */

const char *mr_contents_path(const mr_contents *c);
uint64_t mr_contents_bytes(const mr_contents *c);

/** Read the whole file into memory, where later reads find it. Errors: MR_EDATA, MR_ERESOURCE. */
mr_status mr_contents_keep(mr_contents *c) MR_MUST_USE;
bool mr_contents_is_kept(const mr_contents *c);

/** @n bytes from @offset on: a pointer into memory if the file is kept there, else @room with the bytes read into it.
 */
const void *mr_contents_at(mr_contents *c, uint64_t offset, size_t n, void *room);

/** The first failure so far: MR_EDATA with a message, or MR_OK. @c may be NULL. */
mr_status mr_contents_check(mr_contents *c) MR_MUST_USE;

/** Report that the bytes at @offset are not those that the file had when it was opened; mr_contents_check fails then.
 */
void mr_contents_has_changed(mr_contents *c, uint64_t offset);

#endif
