/*
 * rows.h - shared by the data of the theory's objectives: a matrix of numbers and one target a row, in order.
 *
 * Training sample g is row g mod n: minibatch k is rows k b .. k b + b - 1, again and again, never permuted, as in
 * theory and in the published experiments. The rows after the n training rows validate. Without such rows an
 * evaluation is of the training rows: its loss is the objective itself, and mr_dataset.trains_only is true. A target is
 * a number, or the number of a class. Rows of numbers and categories hold 32-bit words (mr_dataset.numbers).
 */
#ifndef MR_DATA_ROWS_H
#define MR_DATA_ROWS_H

#include <math.h>

#include "data/part.h"

/* First member of its dataset. */
typedef struct mr_rows {
	mr_dataset base;
	mr_dtype dtype;
	mr_dtype cells;  /* of what is in a row: dtype; f32 beside categories */
	uint64_t n, d;   /* all rows; numbers and categories in a row */
	char *x;         /* [n, d] of cells, from mr_rows_take on */
	char *y;         /* [n] of dtype; int32 if base.classes is not 0 */
} mr_rows;

/**
 * Set shapes, counts, bytes and the description "@what: N rows of D numbers" of a zeroed @r, for @n rows of @d numbers,
 * the first @n_train of which train, with @classes (0: the targets are numbers of unknown size). @source is the
 * data's name, for messages. If base.numbers is n > 0, the columns behind the first n are categories.
 */
mr_status mr_rows_init(mr_rows *r, const char *source, const char *what, uint64_t n, uint64_t n_train, uint64_t d,
		       int64_t classes, const mr_data_want *want) MR_MUST_USE;

/** Take memory for all rows, zeroed. */
mr_status mr_rows_take(mr_rows *r) MR_MUST_USE;

/** The fingerprint of rows and targets whose hash is @hash. */
uint64_t mr_rows_fingerprint(const mr_rows *r, uint64_t hash);

/** Hash the rows, after all are filled in. */
void mr_rows_seal(mr_rows *r);

/** Bytes of a target. */
size_t mr_rows_target_bytes(const mr_rows *r);

static inline void mr_rows_put(mr_rows *r, uint64_t i, uint64_t j, double value)
{
	mr_element_put(r->cells, r->x, (int64_t)(i * r->d + j), value);
}

static inline void mr_rows_put_category(mr_rows *r, uint64_t i, uint64_t j, int32_t category)
{
	((int32_t *)(void *)r->x)[i * r->d + j] = category;
}

/* A class is a whole number. */
static inline void mr_rows_put_target(mr_rows *r, uint64_t i, double value)
{
	if (r->base.classes)
		((int32_t *)(void *)r->y)[i] = (int32_t)value;
	else
		mr_element_put(mr_data_target_type(r->dtype), r->y, (int64_t)i, value);
}

/** Is @value a finite number of type @t too? 1e39 is none of f32. */
static inline bool mr_rows_fits(mr_dtype t, double value)
{
	double room;

	mr_element_put(t, &room, 0, value);
	return isfinite(mr_element(t, &room, 0));
}

/** The row of evaluation sample @i. */
static inline uint64_t mr_rows_valid_at(const mr_dataset *d, uint64_t i)
{
	return d->trains_only ? i : d->n_train + i;
}

/** Copy row @i, which is in memory, and its target. */
void mr_rows_get(const mr_rows *r, uint64_t i, void *input, void *target);

/* Members of mr_dataset_ops, for rows in memory. */
void mr_rows_close(mr_dataset *d);
void mr_rows_sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target);
void mr_rows_valid(const mr_dataset *d, uint64_t i, void *input, void *target);

#endif
