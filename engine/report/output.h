/* output.h - where a command's report goes: the file of -o, or standard output. */
#ifndef MR_REPORT_OUTPUT_H
#define MR_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/** Can @path be written? Asked before long work, so that it is not in vain; leaves no empty file behind. Errors:
 * MR_EIO. */
mr_status mr_output_check(const char *path) MR_MUST_USE;

/** Open @path for writing; "" and "-" are standard output. Errors: MR_EIO. */
mr_status mr_output_open(const char *path, FILE **out) MR_MUST_USE;

/** Close what was opened; @st is the status of writing it, and wins. A reader of standard output that has left (| head)
 * is no failure. A file that failed is removed. Errors: @st, or MR_EIO with the name. */
mr_status mr_output_close(const char *path, FILE *out, mr_status st) MR_MUST_USE;

/** Columns for a picture of characters on @out: what COLUMNS says, or else the terminal, but 40 to 1000; 118 where @out
 * is none. */
unsigned mr_output_columns(FILE *out);

/** Standard output failed because its reader has left (| head): the rest is not wanted, and that is no failure. */
bool mr_output_abandoned(void);

#endif
