/*
 * table.h - tables of text.
 *
 *	stage  worker  layers               parameters  weights  stashes  ...  cores  node
 *	    0  w0      embed .. h.1.mlp         412 k  1.6 MiB  1.6 MiB  ...  0      0
 *
 * Columns are as wide as their widest cell, separated by two blanks; no line ends in blanks. On a terminal that is
 * narrower than the table, the columns that do not fit follow below, again after the first one; in a pipe or a file
 * lines are whole. Widths count bytes, so cells are ASCII.
 */
#ifndef MR_REPORT_TABLE_H
#define MR_REPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef enum mr_table_side {
	MR_TABLE_LEFT,         /* words; columns may be given as false */
	MR_TABLE_RIGHT,        /* numbers; as true */
	MR_TABLE_RIGHT_BESIDE, /* numbers that belong to the column before, and stay beside it when a table is cut */
} mr_table_side;

typedef struct mr_table_column {
	const char *head; /* borrowed */
	mr_table_side side;
} mr_table_column;

typedef struct mr_table mr_table;

/** An empty table of @n columns; @columns is copied. The caller destroys *@out. Errors: MR_EINVAL no column,
 * MR_ERESOURCE. */
mr_status mr_table_create(const mr_table_column *columns, uint32_t n, mr_table **out) MR_MUST_USE;
void mr_table_destroy(mr_table *t);

/** Append the next cell, row by row from left to right. Failure is sticky and shows in mr_table_print. */
void mr_table_put(mr_table *t, const char *fmt, ...) MR_PRINTF(2, 3);

/** Append further cells, which tabs in @fmt separate: for what has no tab of its own. */
void mr_table_cells(mr_table *t, const char *fmt, ...) MR_PRINTF(2, 3);

/**
 * Print heads and rows, each line after @indent. An incomplete last row is printed as far as it goes.
 * Errors: MR_ERESOURCE an append had no memory; MR_EIO @out refuses.
 */
mr_status mr_table_print(const mr_table *t, const char *indent, FILE *out) MR_MUST_USE;

/** Print without an indent and destroy. Errors: as above. */
mr_status mr_table_finish(mr_table *t, FILE *out) MR_MUST_USE;
/** The same as HTML, for a page (page/page.h). */
mr_status mr_table_finish_html(mr_table *t, FILE *out) MR_MUST_USE;

#endif
