/*
 * row_sum.h - the gradient of a table (nn/lazy_rows.h), summed over the micro-batches of a step, as rows and their
 * values: its memory and the work on it follow from the rows that a step can meet, not from the table.
 *
 * A row that a micro-batch meets first begins with zeros and is added to from then on, as it would be in a gradient of
 * the whole table, so the sums have the same bits. Norms and steps go over the rows in ascending order: the squares are
 * added in the order of the whole table, with the zeros between the rows left out.
 *
 * The memory is the caller's, in place of the whole gradient (mr_layer_call.dw), and holds everything between the
 * micro-batches. A mr_row_sum is a view of it. All functions are for the leader of the team.
 */
#ifndef MR_NN_ROW_SUM_H
#define MR_NN_ROW_SUM_H

#include "nn/kernels.h"

typedef struct mr_row_sum {
	int64_t cols, most; /* numbers of a row, and most rows */
	size_t row_bytes;
	int32_t *n;         /* rows so far */
	int32_t *row;       /* [n] their numbers, in the order in which they were met */
	int32_t *slot;      /* a hash table of @slots, a power of 2: 1 + index into @row; 0: free */
	uint32_t slots;
	int32_t *order;     /* [most] work memory: rows in ascending order */
	uint8_t *value;     /* [n, cols] */
	uint8_t *room;      /* [most, padded cols] work memory for norms */
} mr_row_sum;

/** Is it worth while, for a table of @rows rows of which a step meets @most? */
bool mr_row_sum_pays(int64_t most, int64_t rows);

/** Bytes of memory for up to @most rows of @cols numbers of type @t. */
size_t mr_row_sum_bytes(int64_t most, int64_t cols, mr_dtype t);

/** The view of @memory, aligned to a cache line. */
mr_row_sum mr_row_sum_at(void *memory, int64_t most, int64_t cols, mr_dtype t);

/** Begin an empty sum. */
void mr_row_sum_clear(mr_row_sum *x);

/** The place of @row among the values; one that is new is filled with zeros if @zero. */
int32_t mr_row_sum_place(mr_row_sum *x, int32_t row, bool zero);

/** Put the rows in ascending order, to @order. */
void mr_row_sum_sort(mr_row_sum *x);

/** The place of @row, which is in the sum. */
int32_t mr_row_sum_find(const mr_row_sum *x, int32_t row);

/** The sum of the squares, with the bits of mr_squares of the whole gradient, unless gradients are bf16. */
mr_status mr_row_sum_squares(mr_row_sum *x, const mr_kernels *k, mr_kctx *kc, double *sum) MR_MUST_USE;

#endif
