/*
 * pair.h - a pair of sequences of tokens as one sample: a source, and the target that a model shall write for it.
 *
 *	input    s_1 .. s_n EOS, padded to `source` rows; then BOS t_1 .. t_m, padded to `target` rows
 *	target   t_1 .. t_m EOS, padded to `target` rows
 *
 * So the second part of the input is the target one row later: each row of it is followed by the token that is to be
 * predicted there. Padding stands behind the tokens.
 */
#ifndef MR_DATA_PAIR_H
#define MR_DATA_PAIR_H

#include "data/dataset.h"

/* The first tokens of both vocabularies. */
enum { MR_PAIR_PAD = MR_PADDING, MR_PAIR_UNKNOWN, MR_PAIR_BEGIN, MR_PAIR_END, MR_PAIR_FIRST };

/** Refuse a model of single sequences. */
mr_status mr_pair_check_context(const char *name, const mr_data_want *want) MR_MUST_USE;

/** Set shapes and vocabularies of @d for sequences of up to @source and @target tokens, without BEGIN and END. */
void mr_pair_shapes(mr_dataset *d, int64_t source, int64_t target, int64_t source_classes, int64_t classes);

/** Write @target[m] to @wanted, and to @begun one row later; both have @rows rows. */
void mr_pair_put_target(int64_t rows, const int32_t *target, int64_t m, int32_t *begun, int32_t *wanted);

/** Write the sample of @source[n] and @target[m] for a dataset with such shapes. */
void mr_pair_put(const mr_dataset *d, const int32_t *source, int64_t n, const int32_t *target, int64_t m, void *input,
		 void *wanted);

#endif
