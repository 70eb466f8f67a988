/*
 * csv_inputs.h - what the columns of a table become in a sample: numbers first, then categories, both in the order of
 * the columns.
 *
 * A number is one input, less its mean and by its deviation where it is scaled; where a cell may be missing, a second
 * input behind it says so. A category is one number of 0 or 1 for each of its known values, or, with many values, one
 * category: a number from 0 to 2^31 - 1, and -1 where there is none. It is the value's place among the known ones, the
 * number in the cell, or a hash of its text; a model takes it modulo the rows of its table. A missing category is a
 * value of its own where training had such, called "". A value that is not known has zeros only, or no category.
 *
 * Training and prediction make samples by this file, so they make the same ones.
 */
#ifndef MR_FORMATS_CSV_INPUTS_H
#define MR_FORMATS_CSV_INPUTS_H

#include "base/str.h"
#include "formats/cell_style.h"
#include "formats/csv_table.h"
#include "formats/text_set.h"

typedef enum mr_csv_kind { MR_COLUMN_NUMBER, MR_COLUMN_CATEGORY, MR_COLUMN_TARGET, MR_COLUMN_IGNORED } mr_csv_kind;
typedef enum mr_csv_missing { MR_MISSING_REFUSE, MR_MISSING_ZERO, MR_MISSING_MEAN } mr_csv_missing;
typedef enum mr_csv_code { MR_CODE_HASH, MR_CODE_NUMBER, MR_CODE_KNOWN } mr_csv_code;

typedef struct mr_csv_column {
	const char *name;       /* borrowed */
	mr_csv_kind kind;
	mr_cell_style style;    /* of a number, and of a target that is one */
	bool gaps;              /* an input behind the number is 1 where it is missing, else 0 */
	bool scaled;
	double mean, deviation; /* mean: of missing numbers too */
	mr_text_set values;     /* of a category, MR_CODE_KNOWN */
	bool one_hot;           /* it is as many numbers */
	size_t at;              /* its first number, or its category */
} mr_csv_column;

/* Cells of a column that were read and whose value is not known. */
typedef struct mr_csv_unknown {
	uint64_t n;
	char *first;            /* owned; NULL: none */
} mr_csv_unknown;

typedef struct mr_csv_inputs {
	bool log;               /* a number x becomes log(1 + x), and 0 where x < 0 */
	mr_csv_missing missing; /* what becomes of cells without a value */
	mr_csv_code code;
	mr_csv_column *column;  /* [n_columns] owned */
	mr_csv_unknown *unknown; /* [n_columns] owned, counted by what reads; the rest does not change by reading */
	size_t n_columns, n_numbers, n_categories;
} mr_csv_inputs;

/** Take memory for @n columns, zeroed. Errors: MR_ERESOURCE. */
mr_status mr_csv_inputs_init(mr_csv_inputs *s, size_t n) MR_MUST_USE;
void mr_csv_inputs_fini(mr_csv_inputs *s);

/** Set the place of each column, and the counts, from kinds, gaps and known values. */
void mr_csv_inputs_place(mr_csv_inputs *s);

/** The number that column @c has in the current row of @t, which begins at line @number of the file; @field is the
 * column's place in that file. *@missing: it has none, and *@out is 0. Before any scaling. Errors: MR_EDATA with file,
 * line and column; also of the functions below. */
mr_status mr_csv_inputs_number(const mr_csv_inputs *s, size_t c, const mr_csv_table *t, uint32_t field, uint64_t number,
			       double *out, bool *missing) MR_MUST_USE;

/** The same for a category; -1: it has none, or one that is not known, which is counted. */
mr_status mr_csv_inputs_category(const mr_csv_inputs *s, size_t c, const mr_csv_table *t, uint32_t field,
				 uint64_t number, int32_t *out) MR_MUST_USE;

/** All inputs of the current row: @value [n_numbers] and @category [n_categories]. @field: [n_columns] places of the
 * columns; NULL: their own order. */
mr_status mr_csv_inputs_read(const mr_csv_inputs *s, const mr_csv_table *t, const uint32_t *field, uint64_t number,
			     double *value, int32_t *category) MR_MUST_USE;

/** The same of a row of numbers @cell, one for each column that is a number or a category, in their order; NaN: it has
 * none. Errors: MR_EDATA with the column. */
mr_status mr_csv_inputs_take(const mr_csv_inputs *s, const double *cell, double *value,
			     int32_t *category) MR_MUST_USE;

/** Forget what values were not known. */
void mr_csv_inputs_forget_unknown(mr_csv_inputs *s);

/** The column whose numbers have input @at. */
size_t mr_csv_inputs_owner(const mr_csv_inputs *s, size_t at);

/** Append what values were not known, by columns: "; 3 unknown values of colour, such as "green"". */
void mr_csv_inputs_print_unknown(const mr_csv_inputs *s, mr_strbuf *out);

#endif
