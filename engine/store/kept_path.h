/*
 * kept_path.h - files of measurements that are kept for this user: $XDG_CACHE_HOME/millrace, or ~/.cache/millrace.
 */
#ifndef MR_STORE_KEPT_PATH_H
#define MR_STORE_KEPT_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** The path of the file @name there, in @path[@size]; false: neither variable gives a folder. */
bool mr_kept_path(const char *name, char *path, size_t size);

/** The same for writing: makes the folder and the one above it. Errors: MR_EIO if there is no place for a folder;
 * whether it could be made shows when the file is written. */
mr_status mr_kept_path_make(const char *name, char *path, size_t size) MR_MUST_USE;

#endif
