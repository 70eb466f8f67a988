/*
 * deal.h - deals samples out to two parts, at random and by a seed: those that train and those that validate.
 *
 * Samples are put in a random order, and by class before that where classes are given. Of n samples in that order,
 * sample i validates
 *
 *	of folds   when i mod folds is `fold`: each sample does in one fold, and folds differ by one sample at most
 *	otherwise  when floor((i + 1) m / n) > floor(i m / n), m the samples that are to validate
 *
 * So each class has its part of the samples that validate, to within one.
 */
#ifndef MR_BASE_DEAL_H
#define MR_BASE_DEAL_H

#include <stdint.h>

#include "base/status.h"

typedef struct mr_deal {
	uint64_t seed, folds, fold; /* folds 0: none */
} mr_deal;

/** Fill @place [n] with where each sample is to be stored: the @n_train that train first, both parts in the order of
 * the samples. @class_of [n] are classes from 0 to below @n_classes; NULL: without classes. Errors: MR_ERESOURCE. */
mr_status mr_deal_out(const mr_deal *d, uint64_t n, uint64_t n_train, const int32_t *class_of, uint64_t n_classes,
		      uint64_t *place) MR_MUST_USE;

#endif
