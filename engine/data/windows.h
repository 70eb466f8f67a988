/*
 * windows.h - samples of a fixed length from a long sequence of tokens; shared by text, sources and tokens.
 *
 * With a context of T, a sample is T tokens and the T tokens one place further on. The windows of training epoch e
 * start at r_e + k T, so they do not overlap and an epoch sees each token once. r_e is drawn from [0, R) with R =
 * min(T, N - T) for N training tokens; the number of windows, n = (N - R) / T rounded down, therefore holds for every
 * r_e. Their order is permuted. Read in columns, the windows are dealt to as many columns as a step has samples, each a
 * part of the sequence, and sample g of an epoch is window g / columns of column g mod columns; what does not fill a
 * window of all columns is dropped. Validation windows start at k T in file order; a remainder that does not fill one
 * is dropped.
 */
#ifndef MR_DATA_WINDOWS_H
#define MR_DATA_WINDOWS_H

#include "base/contents.h"
#include "data/dataset.h"

/* Tokens that follow each other in a file, one, two or four bytes each. */
typedef struct mr_token_range {
	mr_contents *in;
	uint64_t offset;      /* of the first one */
	uint64_t n;
	const int16_t *token; /* [256] token of each byte, -1: none; NULL: the file has numbers of tokens */
	bool wide;            /* these numbers are uint32_t, else uint16_t */
} mr_token_range;

/* The order of training windows. */
#define MR_DATA_ORDER \
	{ \
		"order", MR_OPT_ENUM, "random", 0, 0, "random|columns", NULL, \
			"windows in a random order, or in columns, one for each sample of a step, so that a state " \
			"can be carried" \
	}

/* First member of a dataset made of windows. */
typedef struct mr_token_windows {
	mr_dataset base;
	mr_token_range train, valid; /* borrowed from the embedding dataset */
	uint64_t seed;
	uint64_t reach; /* R */
} mr_token_windows;

/** A model without a context cannot read windows: MR_ECONFIG. */
mr_status mr_token_windows_check_context(const char *source, const mr_data_want *want) MR_MUST_USE;

/**
 * Fill in shapes and counts from @w->train and @w->valid, and the order from the options MR_DATA_ORDER. @name begins
 * messages, and @valid_name the message that the validation part is too short for a window; NULL: such a part means no
 * validation. Errors: MR_EDATA.
 */
mr_status mr_token_windows_init(mr_token_windows *w, const char *name, const char *valid_name,
				const mr_values *values, const mr_data_want *want) MR_MUST_USE;

/* As in mr_dataset_ops, for datasets whose first member is an mr_token_windows. */
void mr_token_windows_train(const mr_dataset *d, uint64_t g, void *input, void *target);
void mr_token_windows_valid(const mr_dataset *d, uint64_t i, void *input, void *target);
mr_status mr_token_windows_check(const mr_dataset *d);

#endif
