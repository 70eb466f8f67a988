/*
 * line_reader.h - a regular file line by line, in memory that does not grow with the file: a line has a largest length,
 * so a file without line ends (a hole of a terabyte) is refused and not read into memory.
 */
#ifndef MR_BASE_LINE_READER_H
#define MR_BASE_LINE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_line_reader {
	const char *path;   /* borrowed */
	int fd;
	char *buf;          /* [room] */
	size_t room, at, n; /* bytes at..n are read and not yet given */
	size_t most;        /* bytes of a line */
	uint64_t offset;    /* in the file, of the next line */
	char behind;        /* the byte whose place the NUL behind the last line has taken */
} mr_line_reader;

/** Open the regular file @path, whose lines have at most @most bytes. Borrows @path until mr_line_reader_close, which
 * must follow, also after a failure. *@bytes gets the file's size and may be NULL. Errors: MR_EIO with the path. */
mr_status mr_line_reader_open(mr_line_reader *r, const char *path, size_t most, uint64_t *bytes) MR_MUST_USE;

/** The same of the open file @fd, which may be a pipe and is closed with the reader; @path is its name in messages.
 * Errors: MR_ERESOURCE. */
mr_status mr_line_reader_of(mr_line_reader *r, const char *path, int fd, size_t most) MR_MUST_USE;

/** Set *@line to the next line with its newline, if it has one, and *@len to its bytes: it may hold NULs, has one more
 * behind it, may be written to, and is valid until the next call. NULL after the last one. Errors: MR_EIO with the path
 * when the read fails or the line is too long; MR_ERESOURCE. */
mr_status mr_line_reader_next(mr_line_reader *r, char **line, size_t *len) MR_MUST_USE;

void mr_line_reader_close(mr_line_reader *r);

#endif
