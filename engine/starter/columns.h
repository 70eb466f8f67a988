/* columns.h - what the columns of a CSV file are good for, as far as their values show. */
#ifndef MR_STARTER_COLUMNS_H
#define MR_STARTER_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct mr_columns {
	uint64_t n_rows;     /* that can be read and have a target */
	uint32_t n_columns;
	bool header;
	char *target;        /* its name, or its number from 1 where there is no header; owned */
	const char *reason;  /* why it is the target */
	bool classes;        /* its values are classes */
	uint64_t n_values;   /* different ones, at most 1001 */
	double low, high;    /* of a target that is a number */
	mr_strbuf ignored, categories; /* numbers of the columns that are left out, and of those of text, with commas
	                                  between; "" for none */
	mr_strbuf why;       /* a sentence in a line for each column that is left out, and for the rows */
	mr_strbuf texts;     /* "colour (3 values), town (800 values)" */
	uint32_t n_read;     /* columns that are left */
	uint32_t n_tables;   /* categories that are no numbers of 0 or 1 */
	uint64_t n_damaged, n_without; /* n_without: rows without a target */
} mr_columns;

/**
 * Read all of the file at @path. The target is @target, or, where that is empty, the column whose name says so, else
 * the last one. Columns that are empty, do not vary, number the rows or have another text in almost each row are left
 * out. The caller calls fini, also after a failure. Errors: MR_EDATA with file and line; MR_ERESOURCE.
 */
mr_status mr_columns_look(const char *path, const char *target, mr_columns *out) MR_MUST_USE;
void mr_columns_fini(mr_columns *c);

#endif
