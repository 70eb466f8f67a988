/*
 * lines.h - a text file line by line, each with its number for messages.
 */
#ifndef MR_FORMATS_LINES_H
#define MR_FORMATS_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/line_reader.h"
#include "base/status.h"

#define MR_BYTE_ORDER_MARK "\xef\xbb\xbf" /* in UTF-8; some programs begin a file with it */
#define MR_LINES_LONGEST ((size_t)32 << 20) /* more than a row of the most columns that any source takes */

typedef struct mr_lines {
	const char *path;  /* borrowed */
	const char *kind;  /* kind of file, for messages: "LIBSVM"; borrowed */
	mr_line_reader in;
	uint64_t number;   /* of the current line, from 1 */
} mr_lines;

/** Open @path, a regular, non-empty file. Borrows both strings until mr_lines_close, which must follow, also after a
 * failure. Errors: MR_EDATA with the path. */
mr_status mr_lines_open(const char *path, const char *kind, mr_lines *out) MR_MUST_USE;

/** The lines of standard input, whatever it is. Errors: MR_EDATA, MR_ERESOURCE. */
mr_status mr_lines_of_input(const char *kind, mr_lines *out) MR_MUST_USE;

/** Set *@line to the next line, which may be written to and is valid until the next call; NULL after the last one.
 * A byte order mark at the beginning of the file is left out.
 * Errors: MR_EDATA with the path (a NUL in the line, a line beyond MR_LINES_LONGEST, a read that fails). */
mr_status mr_lines_next(mr_lines *l, char **line) MR_MUST_USE;

void mr_lines_close(mr_lines *l);

#endif
