/*
 * column_kinds.h - columns whose kind is another one than in training: texts where the model learned numbers, numbers
 * where it learned texts.
 *
 * A column is decided by its first cell of the kind that was learned, and from then on looked at no more. One whose
 * first cells, MR_COLUMN_KINDS_ENOUGH of them, are all of the other kind is of the other kind.
 */
#ifndef MR_READER_COLUMN_KINDS_H
#define MR_READER_COLUMN_KINDS_H

#include "formats/csv_inputs.h"

#define MR_COLUMN_KINDS_ENOUGH 5

typedef struct mr_column_kinds {
	size_t *open;      /* [n_open] columns that are not decided */
	size_t n_open;
	uint32_t *differs; /* [columns] cells of the other kind */
} mr_column_kinds;

/** For the columns of @in. The caller calls fini, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_column_kinds_init(mr_column_kinds *k, const mr_csv_inputs *in) MR_MUST_USE;
void mr_column_kinds_fini(mr_column_kinds *k);

/** Look at the current row of @t; @at [columns] are the places of the columns in its file. Errors: MR_EDATA names a
 * column of another kind; what is read behind it means nothing. */
mr_status mr_column_kinds_take(mr_column_kinds *k, const mr_csv_inputs *in, const mr_csv_table *t,
			       const uint32_t *at) MR_MUST_USE;

/** Did all cells of column @c so far have numbers, where texts were learned? */
bool mr_column_kinds_numbers(const mr_column_kinds *k, const mr_csv_inputs *in, size_t c);

#endif
