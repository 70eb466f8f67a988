/*
 * param_cut.h - the part of a whole parameter that one share of a worker has (nn/share.h).
 *
 * A cut goes through one dimension of the whole. That dimension is one block, or several that follow each other, as
 * q, k and v do in the columns of their projection; of each block a share has as many rows or columns as every other,
 * in the order of shares. So heads stay whole.
 */
#ifndef MR_PLANNER_PARAM_CUT_H
#define MR_PLANNER_PARAM_CUT_H

#include <stdint.h>

#include "nn/tensor.h"

#define MR_CUT_BLOCKS 3

typedef struct mr_param_cut {
	uint32_t of;      /* parts; 0: the parameter is whole, and each share has a copy. Of fewer parts than shares
	                     those that follow each other have the same, and sum its gradient */
	uint32_t self;    /* which of them this is */
	uint32_t axis;    /* the dimension that is cut */
	uint32_t n_blocks;
	int64_t block[MR_CUT_BLOCKS]; /* their lengths in the whole */
} mr_param_cut;

/**
 * The element of the whole at which element @i of the part lies, where the dimensions behind the axis have @inner
 * elements. From there on *@n elements follow each other in both.
 */
int64_t mr_param_cut_at(const mr_param_cut *c, int64_t inner, int64_t i, int64_t *n);

/** Copy a part of @n elements of @bytes each to its places in the @whole, or back. */
void mr_param_cut_join(const mr_param_cut *c, int64_t inner, int64_t n, size_t bytes, const void *part, void *whole);
void mr_param_cut_take(const mr_param_cut *c, int64_t inner, int64_t n, size_t bytes, const void *whole, void *part);

#endif
