/*
 * file.h - whole small files: read with a cap, replace without ever showing half of one.
 */
#ifndef MR_BASE_FILE_H
#define MR_BASE_FILE_H

#include <stddef.h>

#include "base/status.h"

/**
 * Read the file @path of 1 to @max bytes. The caller frees *@buf, which has a NUL behind its *@len bytes.
 * Errors, each a message that begins with the path: MR_EIO when it does not exist, is a directory, is empty, is
 * larger than @max or cannot be read; MR_ERESOURCE without memory. A caller that reads data or configuration changes
 * the code with mr_fail(MR_EDATA, "%s", mr_error_text()).
 */
MR_MUST_USE mr_status mr_file_read(const char *path, size_t max, char **buf, size_t *len);

/**
 * Make @path hold exactly @len bytes of @data, so that a crash at any instant leaves the old file or the new one:
 * temporary file in the same directory (created anew: no existing file is written to), fsync, rename, fsync of the
 * directory. A link to a file is kept, and the file behind it is replaced. A path that is no regular file (a pipe, a
 * device) is written to. Errors: MR_EIO with the path and the system's reason; the temporary file is removed and an
 * old file untouched.
 */
MR_MUST_USE mr_status mr_file_replace(const char *path, const void *data, size_t len);

/** Make creations and renames in the directory @dir survive a power cut. Errors: MR_EIO. */
MR_MUST_USE mr_status mr_file_sync_dir(const char *dir);

#endif
