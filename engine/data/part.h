/*
 * part.h - what the data sources of this folder share: paths, and how many samples validate. Files: contents.h.
 */
#ifndef MR_DATA_PART_H
#define MR_DATA_PART_H

#include "base/contents.h"
#include "data/dataset.h"
#include "nn/element.h"

/* The option "validation" of sources that can split off their last part. */
#define MR_DATA_VALIDATION                                                           \
	{                                                                            \
		"validation", MR_OPT_FLOAT, "0.1", 0, 0.99, NULL, NULL,              \
			"part of the data, taken from its end, that only validates"  \
	}

/* The same of sources of the theory's objectives, which need all rows. */
#define MR_DATA_NO_VALIDATION \
	{ \
		"validation", MR_OPT_FLOAT, "0", 0, 0.99, NULL, NULL, \
			"part of the rows, taken from their end, that only validates; 0: none, and an evaluation is " \
			"of the training rows" \
	}

/** @path, or base_dir/@path when it is relative. The caller frees it; NULL without memory. */
char *mr_data_path(const mr_data_want *want, const char *path);

/** The message for a failed allocation of @bytes, MR_ERESOURCE. */
mr_status mr_data_no_memory(uint64_t bytes) MR_MUST_USE;

/** Count @in in @d->bytes: kept when it is no larger than @want->keep_bytes, and so mr_contents_keep is for load to
 * call, else on the disk. Returns whether it will be kept. */
bool mr_data_will_keep(mr_dataset *d, const mr_contents *in, const mr_data_want *want);

/** How many of @n remain for training when the last @fraction validates: floor(n (1 - fraction)), immune to the
 * rounding of a decimal fraction. */
uint64_t mr_data_train_part(uint64_t n, double fraction);

/** The split of @n samples by the key "validation" of @values into *@n_train and the rest. Errors: MR_EDATA when none
 * is left for training; @name goes in front. */
mr_status mr_data_split(const char *name, const mr_values *values, uint64_t n, uint64_t *n_train) MR_MUST_USE;

/** Refuse a model that needs token sequences if the source has none. */
mr_status mr_data_refuse_context(const char *source, const mr_data_want *want) MR_MUST_USE;

/** Fold figures that are not in the files (splits, vocabularies) into a fingerprint. */
uint64_t mr_data_fold(uint64_t fingerprint, uint64_t figure);

/** Which sample stands at place @g mod @n of epoch @g / @n. */
uint64_t mr_data_order(uint64_t n, uint64_t seed, uint64_t g);

/** ops->train and ops->valid of a source with ops->sample. */
void mr_data_train(const mr_dataset *d, uint64_t g, void *input, void *target);
void mr_data_valid(const mr_dataset *d, uint64_t i, void *input, void *target);

#endif
