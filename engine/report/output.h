/*
 * output.h - the destination of a command's report: the file of -o, or standard output. What -o may be, and what
 * happens to what stands there, is in base/result.h: the file gets its name when the report is whole.
 */
#ifndef MR_REPORT_OUTPUT_H
#define MR_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/result.h"
#include "base/status.h"

typedef struct mr_output {
	FILE *file; /* write the report here */
	mr_result result;
	bool standard;
} mr_output;

/** Check that @path can be written, before long work whose result goes there. Errors: as mr_output_open. */
mr_status mr_output_check(const char *path) MR_MUST_USE;

/** Open @path for writing; "" and "-" are standard output. Errors: MR_EIO; MR_EUSAGE when it is a file that this
 * command has read. */
mr_status mr_output_open(const char *path, mr_output *out) MR_MUST_USE;

/** Close the file; @st is the status of writing it, and takes precedence. After a failure the old file stands. Errors:
 * @st, or MR_EIO with the name. */
mr_status mr_output_close(mr_output *out, mr_status st) MR_MUST_USE;

/** Flush standard output, to which a report was written with status @st. A reader that has left (| head) is no failure.
 * Errors: @st, or MR_EIO. */
mr_status mr_output_flush(mr_status st) MR_MUST_USE;

/** Let @make write a report into memory, and then the whole to @path, as above: one that cannot be made leaves the file
 * as it was. Errors: those of @make; MR_EIO; MR_ERESOURCE. */
mr_status mr_output_make(const char *path, mr_status (*make)(const void *arg, FILE *out), const void *arg) MR_MUST_USE;

/** Columns for a picture of characters on @out: the value of COLUMNS, or else the terminal's width, limited to 40 to
 * 1000; 118 if @out is no terminal. */
unsigned mr_output_columns(FILE *out);

/** Did standard output fail because its reader has left (| head)? The rest is then not wanted, and that is no failure.
 */
bool mr_output_abandoned(void);

#endif
