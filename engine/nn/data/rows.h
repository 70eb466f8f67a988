/*
 * rows.h - what the data of the theory's objectives share: a matrix of numbers and one target a row, in order.
 *
 * Training sample g is row g mod n: minibatch k is rows k b .. k b + b - 1, again and again, never permuted, as the theory and
 * the published experiments have it. All rows are the validation part as well, so the validation loss is the objective itself.
 */
#ifndef MR_DATA_ROWS_H
#define MR_DATA_ROWS_H

#include "nn/data/part.h"

typedef struct mr_rows {
	mr_dataset base;
	mr_dtype dtype;
	uint64_t n, d;
	char *x, *y;     /* [n, d] and [n] of dtype */
} mr_rows;

/** Room for @n rows of @d numbers, zeros. @source is the data's name, for messages. */
mr_status mr_rows_create(const char *source, uint64_t n, uint64_t d, const mr_data_want *want, mr_rows **out) MR_MUST_USE;

/** Hash the contents, note the range of the targets and describe them: "@what: N rows of D numbers". Destroys @r on failure. */
mr_status mr_rows_finish(mr_rows *r, const char *what, mr_dataset **out) MR_MUST_USE;

static inline void mr_rows_put(mr_rows *r, uint64_t i, uint64_t j, double value)
{
	mr_data_put(r->dtype, r->x, i * r->d + j, value);
}

static inline void mr_rows_put_target(mr_rows *r, uint64_t i, double value)
{
	mr_data_put(r->dtype, r->y, i, value);
}

/* Members of mr_dataset_ops. */
void mr_rows_close(mr_dataset *d);
void mr_rows_get(const mr_dataset *d, uint64_t g, void *input, void *target);

#endif
