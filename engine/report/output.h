/* output.h - the destination of a command's report: the file of -o, or standard output. */
#ifndef MR_REPORT_OUTPUT_H
#define MR_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/** Check that @path can be written, before long work whose result goes there; leaves no empty file behind. Errors:
 * MR_EIO. */
mr_status mr_output_check(const char *path) MR_MUST_USE;

/** Open @path for writing; "" and "-" are standard output. Errors: MR_EIO. */
mr_status mr_output_open(const char *path, FILE **out) MR_MUST_USE;

/** Close the file; @st is the status of writing it, and takes precedence. A reader of standard output that has left
 * (| head) is no failure. A file that failed is removed. Errors: @st, or MR_EIO with the name. */
mr_status mr_output_close(const char *path, FILE *out, mr_status st) MR_MUST_USE;

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
