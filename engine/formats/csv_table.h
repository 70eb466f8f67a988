/*
 * csv_table.h - the table in a CSV file: its columns, and the fields of a line.
 *
 * A row (csv_rows.h) has fields with one separator between them. A field may be enclosed in double quotes; inside them
 * a separator or a newline is text and "" is a quote. Blanks around a field are ignored. The first row may name the
 * columns. One column is the target, some may be left out, some are categories, all others are numbers.
 */
#ifndef MR_FORMATS_CSV_TABLE_H
#define MR_FORMATS_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "formats/cell_style.h"

#define MR_CSV_COLUMNS 65536u

typedef struct mr_csv_table {
	const char *path;     /* of the current file, for messages; borrowed */
	char separator;
	bool header;          /* the first line names the columns */
	bool bare;            /* messages name no key of a configuration: there is none that could change something */
	uint32_t n_columns, n_features;
	uint32_t n_categories; /* of the features */
	uint32_t target;      /* index of the target's column */
	char **name;          /* [n_columns], those of the header or "column 1", ... */
	bool *left_out, *category; /* [n_columns] */
	char **field;         /* [n_columns] of the current line, NUL-terminated, in the line's memory */
} mr_csv_table;

/**
 * Find separator, columns and target from the first line of @path and the keys separator, header, target, ignore and
 * categories of @values. @t is zeroed; borrows @path; mr_csv_table_close follows, also after a failure. Errors:
 * MR_EDATA with the file, MR_ECONFIG with the key, MR_ERESOURCE.
 */
mr_status mr_csv_table_open(mr_csv_table *t, const char *path, const mr_values *values) MR_MUST_USE;
void mr_csv_table_close(mr_csv_table *t);

/** The same from the first @line of a file, which is written into, where path, separator and header of @t are set: no
 * column is a target, left out or a category. Errors: MR_EDATA, MR_ERESOURCE. */
mr_status mr_csv_table_take(mr_csv_table *t, char *line) MR_MUST_USE;

/** Split the row @line, which begins at line @number of the file, into t->field. Writes into @line. Errors: MR_EDATA
 * with file and line. */
mr_status mr_csv_table_split(mr_csv_table *t, char *line, uint64_t number) MR_MUST_USE;

/** MR_OK if the first line of @path has the same columns, by their names if there is a header. Errors: MR_EDATA. */
mr_status mr_csv_table_same(mr_csv_table *t, const char *path) MR_MUST_USE;

/** The number of @style in column @column of the current row, which begins at line @number of the file. Errors:
 * MR_EDATA with file, line and column. */
mr_status mr_csv_table_number(const mr_csv_table *t, uint32_t column, uint64_t number, mr_cell_style style,
			      double *out) MR_MUST_USE;

/** Is @text a finite number of the style plain, and nothing else? Then *@out is set to it. */
bool mr_csv_is_number(const char *text, double *out);

#endif
