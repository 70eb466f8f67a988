/*
 * file.h - regular files: opened, and read whole with a cap.
 *
 * Everything that the program reads comes through mr_file_open, mr_file_read or mr_file_stream, and everything that it
 * writes leaves through mr_file_stream or base/result.h; tests/layers/files.txt names what else may
 * open a file, and why. Where a regular file is expected, a link to one is followed, and a folder, a pipe, a device or
 * a socket is refused at once: none of them can make the program wait.
 */
#ifndef MR_BASE_FILE_H
#define MR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"

/** Does the system's @error say that there is no room: a full disk, a quota, a limit on the size of files? */
bool mr_file_no_room(int error);

/** What a file that is no regular one is: "a folder", "a pipe", "a device", ...; NULL for a regular file. */
const char *mr_file_kind(mode_t mode);

/**
 * Open the regular file @path to read; a link is followed. *@bytes gets its size and may be NULL; the caller closes
 * *@fd. The file counts as an input of this process (base/inputs.h). Errors: MR_EIO with a message that begins with
 * the path when it does not exist, is no regular file or cannot be opened.
 */
MR_MUST_USE mr_status mr_file_open(const char *path, int *fd, uint64_t *bytes);

typedef enum mr_file_use {
	MR_FILE_APPEND, /* made if there is none; each write goes to its end */
	MR_FILE_CHANGE, /* read and written from its beginning; must be there */
} mr_file_use;

/** Open the regular file @path as a stream, for a log that grows. Errors: as mr_file_open. */
MR_MUST_USE mr_status mr_file_stream(const char *path, mr_file_use use, FILE **out);

/**
 * Read the file @path of 1 to @max bytes. Besides a regular file it may be a pipe or a terminal, because users name
 * such ("-", <(command)); a pipe that nothing has open to write within two seconds is empty, and one that was read
 * before gives the same bytes again where they are kept (base/pipes.h). The caller frees *@buf, which has a NUL behind
 * its *@len bytes. Errors, each a message that begins with the path: MR_EIO when it does not
 * exist, is a directory or a device, is empty, is larger than @max or cannot be read; MR_ERESOURCE without memory. A
 * caller that reads data or configuration changes the code with mr_fail(MR_EDATA, "%s", mr_error_text()).
 */
MR_MUST_USE mr_status mr_file_read(const char *path, size_t max, char **buf, size_t *len);

/** As mr_file_read, of a regular file alone: what a program of ours has written, such as the files of a run. */
MR_MUST_USE mr_status mr_file_read_regular(const char *path, size_t max, char **buf, size_t *len);

/** Make creations and renames in the directory @dir survive a power cut. Errors: MR_EIO. */
MR_MUST_USE mr_status mr_file_sync_dir(const char *dir);

#endif
