/* columns.h - what the columns of a CSV file are good for, as far as their values show. */
#ifndef MR_STARTER_COLUMNS_H
#define MR_STARTER_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct mr_columns {
	uint64_t n_rows;
	uint32_t n_columns;
	bool header;
	char *target;      /* its name, or its number from 1 where there is no header; owned */
	bool classes;      /* its values are classes */
	uint32_t n_values; /* different ones, at most 65 */
	double low, high;  /* of a target that is a number */
	bool empty;        /* some field of a column that is read is empty */
	mr_strbuf ignored; /* numbers of the columns that are left out, with commas between; "" for none */
	mr_strbuf why;     /* a sentence in a line for each of them */
	uint32_t n_read;   /* columns of numbers that are left */
} mr_columns;

/**
 * Read all of the file at @path. The target is the column whose name says so, else the last one. Columns that are no
 * numbers, or that number the rows, are left out. The caller calls fini, also after a failure. Errors: MR_EDATA with
 * file and line; MR_ERESOURCE.
 */
mr_status mr_columns_look(const char *path, mr_columns *out) MR_MUST_USE;
void mr_columns_fini(mr_columns *c);

#endif
