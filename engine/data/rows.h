/*
 * rows.h - what the data of the theory's objectives share: a matrix of numbers and one target a row, in order.
 *
 * Training sample g is row g mod n: minibatch k is rows k b .. k b + b - 1, again and again, never permuted, as the
 * theory and the published experiments have it. The rows behind the n training rows validate. Where there are none an
 * evaluation is of the training rows: its loss is the objective itself, and mr_dataset.trains_only says so. A target is
 * a number, or the number of a class.
 */
#ifndef MR_DATA_ROWS_H
#define MR_DATA_ROWS_H

#include "data/part.h"

/* First member of its dataset. */
typedef struct mr_rows {
	mr_dataset base;
	mr_dtype dtype;
	uint64_t n, d;   /* all rows; numbers in a row */
	char *x;         /* [n, d] of dtype, from mr_rows_take on */
	char *y;         /* [n] of dtype; int32 where base.classes is not 0 */
} mr_rows;

/**
 * @n rows of @d numbers, the first @n_train of which train, with @classes (0: the targets are numbers, of unknown
 * size): shapes, counts and bytes of a zeroed @r, and the description "@what: N rows of D numbers". @source is the
 * data's name, for messages.
 */
mr_status mr_rows_init(mr_rows *r, const char *source, const char *what, uint64_t n, uint64_t n_train, uint64_t d,
		       int64_t classes, const mr_data_want *want) MR_MUST_USE;

/** Room for all rows, zeros. */
mr_status mr_rows_take(mr_rows *r) MR_MUST_USE;

/** The fingerprint of rows and targets whose hash is @hash. */
uint64_t mr_rows_fingerprint(const mr_rows *r, uint64_t hash);

/** Hash what has been filled in. */
void mr_rows_seal(mr_rows *r);

/** Bytes of a target. */
size_t mr_rows_target_bytes(const mr_rows *r);

static inline void mr_rows_put(mr_rows *r, uint64_t i, uint64_t j, double value)
{
	mr_element_put(r->dtype, r->x, (int64_t)(i * r->d + j), value);
}

/* A class is a whole number. */
static inline void mr_rows_put_target(mr_rows *r, uint64_t i, double value)
{
	if (r->base.classes)
		((int32_t *)(void *)r->y)[i] = (int32_t)value;
	else
		mr_element_put(mr_data_target_type(r->dtype), r->y, (int64_t)i, value);
}

/** The row of evaluation sample @i. */
static inline uint64_t mr_rows_valid_at(const mr_dataset *d, uint64_t i)
{
	return d->trains_only ? i : d->n_train + i;
}

/** Row @i, which was taken, and its target. */
void mr_rows_get(const mr_rows *r, uint64_t i, void *input, void *target);

/* Members of mr_dataset_ops, for rows that were taken. mr_rows_close frees the dataset, mr_rows_fini what is in it. */
void mr_rows_fini(mr_rows *r);
void mr_rows_close(mr_dataset *d);
void mr_rows_train(const mr_dataset *d, uint64_t g, void *input, void *target);
void mr_rows_valid(const mr_dataset *d, uint64_t i, void *input, void *target);

#endif
