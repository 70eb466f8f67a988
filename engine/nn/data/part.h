/*
 * part.h - what the data sources of this folder share: paths, whole files, and how many samples validate.
 *
 * Files are read whole when a source is opened, not mapped: a file that someone shortens later would turn a mapping
 * into SIGBUS in the middle of a step, and open looks at every byte anyway, to check ranges and to hash. A file larger
 * than the machine's memory is refused.
 */
#ifndef MR_DATA_PART_H
#define MR_DATA_PART_H

#include "nn/dataset.h"

/* The option "validation" of sources that can split off their last part. */
#define MR_DATA_VALIDATION                                                           \
	{                                                                            \
		"validation", MR_OPT_FLOAT, "0.1", 0, 0.99, NULL, NULL,              \
			"part of the data, taken from its end, that only validates"  \
	}

/** @path, or base_dir/@path when it is relative. The caller frees it; NULL without memory. */
char *mr_data_path(const mr_data_want *want, const char *path);

/** The sentence for a failed allocation of @bytes, MR_ERESOURCE. */
mr_status mr_data_no_memory(uint64_t bytes) MR_MUST_USE;

/** Refuse a block of @bytes that the machine's memory cannot hold: malloc may promise it and the kernel kill us
 * later. */
mr_status mr_data_check_memory(uint64_t bytes) MR_MUST_USE;

/** Check that @path is a regular, non-empty file of at most the machine's memory; *@bytes is its size. MR_EDATA or
 * MR_ERESOURCE. */
mr_status mr_data_stat(const char *path, uint64_t *bytes) MR_MUST_USE;

/** Read the whole of @path. The caller frees *@buf, which is aligned as malloc does and has a NUL behind it. */
mr_status mr_data_read(const char *path, char **buf, size_t *len) MR_MUST_USE;

/** How many of @n remain for training when the last @fraction validates: floor(n (1 - fraction)), immune to the
 * rounding of a decimal fraction. */
uint64_t mr_data_train_part(uint64_t n, double fraction);

/** Refuse a model that wants token sequences from a source that has none. */
mr_status mr_data_refuse_context(const char *source, const mr_data_want *want) MR_MUST_USE;

/** Fold figures that are not in the files (splits, vocabularies) into a fingerprint. */
uint64_t mr_data_fold(uint64_t fingerprint, uint64_t figure);

/** Store @value as element @i of an array of @dtype. */
static inline void mr_data_put(mr_dtype dtype, void *array, uint64_t i, double value)
{
	if (dtype == MR_F64)
		((double *)array)[i] = value;
	else
		((float *)array)[i] = (float)value;
}

/** Which sample stands at place @g mod @n of epoch @g / @n. */
uint64_t mr_data_order(uint64_t n, uint64_t seed, uint64_t g);

#endif
