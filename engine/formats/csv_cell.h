/*
 * csv_cell.h - what a field of a CSV file becomes in a sample: a number, or a category.
 *
 * A category is a number from 0 to 2^31 - 1, the field's own or a hash of its text, and -1 where the field is empty; a
 * model takes it modulo the rows of its table.
 */
#ifndef MR_FORMATS_CSV_CELL_H
#define MR_FORMATS_CSV_CELL_H

#include "formats/csv_table.h"

typedef struct mr_csv_cell {
	bool log;  /* a number x becomes log(1 + x), and 0 where x < 0 */
	bool zero; /* an empty field is 0, or no category; else it is refused */
	bool hash; /* a category is a text */
} mr_csv_cell;

/** The number in column @column of the current line, line @number of the file. Errors: MR_EDATA with file, line and
 * column; also of the function below. */
mr_status mr_csv_cell_number(const mr_csv_cell *cell, const mr_csv_table *t, uint32_t column, uint64_t number,
			     double *out) MR_MUST_USE;

mr_status mr_csv_cell_category(const mr_csv_cell *cell, const mr_csv_table *t, uint32_t column, uint64_t number,
			       int32_t *out) MR_MUST_USE;

#endif
