/*
 * own_part.h - training data of which each of several workers has a part of its own.
 *
 * Part p of n is the p-th n-th of the training samples in the order of the source: of files, rows or pictures. So a
 * file that is sorted by class gives each part classes of its own. Within a part samples come in a random order anew
 * each time it has been gone through; those of sources that read their rows in order (rows.h) come in order.
 */
#ifndef MR_DATA_OWN_PART_H
#define MR_DATA_OWN_PART_H

#include "data/dataset.h"

/** Can @d be divided into @n parts? Errors: MR_ECONFIG data in columns, or fewer samples than @n. */
mr_status mr_own_part_check(const mr_dataset *d, uint32_t n) MR_MUST_USE;

/** Training sample @g of part @part of @n, as ops->train. */
void mr_own_part_train(const mr_dataset *d, uint32_t part, uint32_t n, uint64_t g, void *input, void *target);

#endif
