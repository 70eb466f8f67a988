/*
 * number_rows.h - samples that a caller has as rows of numbers, as a trained model takes them: of CSV a number for each
 * column that the model reads, in the order of the training file, and NaN where there is none; of LIBSVM the features;
 * of pictures red, green and blue of each pixel, or its grey, from 0 to 255, row by row.
 */
#ifndef MR_READER_NUMBER_ROWS_H
#define MR_READER_NUMBER_ROWS_H

#include "reader/form.h"

typedef struct mr_number_rows {
	const mr_form *form; /* borrowed */
	mr_dtype dtype;      /* of inputs that are numbers */
	size_t width;        /* numbers of a row */
	double *value;       /* of one sample of CSV */
} mr_number_rows;

/** For a model of @f, no language model, whose numbers are of @dtype. The caller calls fini, also after an error.
 * Errors: MR_ERESOURCE. */
mr_status mr_number_rows_init(mr_number_rows *r, const mr_form *f, mr_dtype dtype) MR_MUST_USE;
void mr_number_rows_fini(mr_number_rows *r);

/** The input of the row @row, which is number @number, to @input. Errors: MR_EDATA with row and column. */
mr_status mr_number_rows_put(const mr_number_rows *r, const double *row, uint64_t number, void *input) MR_MUST_USE;

#endif
