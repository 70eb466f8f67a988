/*
 * contents.h - the bytes of a data file, in memory or on the disk.
 *
 * A file of up to a given size is read whole; a larger one stays where it is, and what a sample needs is read when it
 * is asked for, so data larger than memory can be trained on. It is read with pread and not mapped: a file that is
 * shortened meanwhile would turn a mapping into SIGBUS in the middle of a step, and touched pages of a mapping count as
 * the process's. The page cache holds what is read often.
 *
 * A read that fails fills its buffer with zeros and leaves a message, which mr_contents_check returns from then on:
 * the loader calls it behind each batch. So does what finds in a sample bytes that were not there when
 * the file was checked.
 *
 * Thread: open, keep and close on one thread; all else on any, at once.
 */
#ifndef MR_BASE_CONTENTS_H
#define MR_BASE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Read at once where a whole file is looked through. */
#define MR_CONTENTS_PIECE ((size_t)1 << 16)

typedef struct mr_contents mr_contents;

/** Check that @path is a regular, non-empty file; *@bytes is its size. Errors: MR_EDATA with the path. */
mr_status mr_contents_stat(const char *path, uint64_t *bytes) MR_MUST_USE;

/** Open the regular, non-empty file @path. Errors: MR_EDATA with the path; MR_ERESOURCE. */
mr_status mr_contents_open(const char *path, mr_contents **out) MR_MUST_USE;

/** @bytes at @memory, which is freed with the contents, in place of a file: what was unpacked from @path. NULL without
 * memory, which frees @memory too. */
mr_contents *mr_contents_of(const char *path, void *memory, uint64_t bytes);

void mr_contents_close(mr_contents *c); /* accepts NULL */

const char *mr_contents_path(const mr_contents *c);
uint64_t mr_contents_bytes(const mr_contents *c);

/** Read the whole file into memory. Errors: MR_EDATA, MR_ERESOURCE. */
mr_status mr_contents_keep(mr_contents *c) MR_MUST_USE;
bool mr_contents_is_kept(const mr_contents *c);

/** @n bytes from @offset on: where they are kept, or read into @room. */
const void *mr_contents_at(mr_contents *c, uint64_t offset, size_t n, void *room);

/** What has failed so far: MR_EDATA with a message, or MR_OK. @c may be NULL. */
mr_status mr_contents_check(mr_contents *c) MR_MUST_USE;

/** At @offset stands what was not there when the file was opened. */
void mr_contents_has_changed(mr_contents *c, uint64_t offset);

#endif
