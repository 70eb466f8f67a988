/*
 * csv_rows.h - the rows of a CSV file: a line each, or several where a field in quotes has newlines in it.
 *
 * A quote that no later line closes belongs to its line alone, so that one wrong quote damages one row.
 */
#ifndef MR_FORMATS_CSV_ROWS_H
#define MR_FORMATS_CSV_ROWS_H

#include <stdbool.h>

#include "base/str.h"
#include "formats/lines.h"

typedef struct mr_csv_rows {
	mr_lines lines;
	char separator;   /* between fields; 0, as at first: any of comma, semicolon and tab */
	uint64_t number;  /* of the line at which the current row begins, from 1 */
	bool first;       /* the current row is the first one */
	mr_strbuf row;    /* the current row where it has several lines */
	mr_strbuf ahead;  /* lines that were read and are still to be given, each with its newline, */
	size_t given;     /* from here on */
	uint64_t line;    /* number of the line that was last taken */
} mr_csv_rows;

/** Open @path; "-" is standard input. Borrows it until mr_csv_rows_close, which must follow, also after a failure.
 * Errors: MR_EDATA with the path. */
mr_status mr_csv_rows_open(const char *path, mr_csv_rows *out) MR_MUST_USE;

/** Set *@row to the next row that is not blank; it may be written to and is valid until the next call. NULL after the
 * last one. Errors: those of mr_lines_next; MR_ERESOURCE. */
mr_status mr_csv_rows_next(mr_csv_rows *r, char **row) MR_MUST_USE;

void mr_csv_rows_close(mr_csv_rows *r);

#endif
