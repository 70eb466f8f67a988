/*
 * result.h - a file that is being written: it gets its name when it is whole, and until then the old one stands.
 *
 * What the name leads to decides. A regular file, or nothing yet: the bytes go to a temporary file in the same folder,
 * which takes the name at the end; a link is kept, and the file behind it replaced. A pipe, a terminal or another
 * character device (/dev/null) is written to and stays what it is; /dev/stdout, /dev/stderr and /dev/fd/N are the open
 * file of that number, whose position is kept. A folder, a disk and a socket are refused, and so is a file that this
 * process has read (base/inputs.h).
 */
#ifndef MR_BASE_RESULT_H
#define MR_BASE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

typedef enum mr_result_kind {
	MR_RESULT_NAMED,    /* a user gave the name */
	MR_RESULT_OWN,      /* a file of the program's own: only a regular file, which the process may have read */
	MR_RESULT_UNSYNCED, /* as MR_RESULT_OWN, and worth nothing after a crash of the machine */
} mr_result_kind;

typedef struct mr_result {
	FILE *file;          /* what is written goes here */
	char *path;          /* as it was given, for messages */
	char *target, *temp; /* temp becomes target; NULL: @file is written to directly */
	mr_result_kind kind;
} mr_result;

/** Check that the result @path can be written, before long work whose result goes there. Makes no file. Errors: as
 * mr_result_begin; a pipe need not have its reader yet. */
MR_MUST_USE mr_status mr_result_check(const char *path);

/** Begin to write @path. mr_result_end must follow if it succeeds. A pipe that nothing reads within two seconds is an
 * error. Errors: MR_EIO with the path; MR_EUSAGE when @path is a file that this process has read; MR_ERESOURCE without
 * memory, or without room for a file of the program's own. */
MR_MUST_USE mr_status mr_result_begin(mr_result *r, const char *path, mr_result_kind kind);

/** Write @len bytes of @data. Errors: as mr_result_begin. */
MR_MUST_USE mr_status mr_result_put(mr_result *r, const void *data, size_t len);

/** Is the result written to directly, as a pipe or a device, where nothing can be taken back? */
bool mr_result_is_stream(const mr_result *r);

/** Give the file its name, durably, if @st, the status of what was written, is MR_OK and no write has failed; else
 * remove what was written, and the old file stands. Closes and frees @r. Errors: as mr_result_begin; @st. If @st
 * is MR_EIO because the stream failed, the message gets the path and the system's reason. */
MR_MUST_USE mr_status mr_result_end(mr_result *r, mr_status st);

/** Write the whole result @path: @len bytes of @data. At any instant the path has the old contents or the new ones.
 * Errors: as above. */
MR_MUST_USE mr_status mr_result_write(const char *path, const void *data, size_t len, mr_result_kind kind);

/** Let @put write the whole result @folder/@name. Errors: as above; those of @put. */
MR_MUST_USE mr_status mr_result_make(const char *folder, const char *name, mr_result_kind kind,
				     mr_status (*put)(const void *arg, FILE *out), const void *arg);

#endif
