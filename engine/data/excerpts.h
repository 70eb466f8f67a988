/*
 * excerpts.h - samples of a fixed length from a long sequence of tokens; shared by text, sources and tokens.
 *
 * With a context of T, a sample is T tokens and the T tokens one place further on. The excerpts of training epoch e
 * start at r_e + k T, so they do not overlap and an epoch sees each token once. r_e is drawn from [0, R) with R =
 * min(T, N - T) for N training tokens; the number of excerpts, n = (N - R) / T rounded down, therefore holds for every
 * r_e. Their order is permuted. Read in columns, the excerpts are dealt to as many columns as a step has samples, each
 * a part of the sequence, and sample g of an epoch is excerpt g / columns of column g mod columns; what does not fill
 * one of all columns is dropped. Validation excerpts start at k T in file order; a remainder that does not fill one is
 * dropped. The program's texts call them windows.
 */
#ifndef MR_DATA_EXCERPTS_H
#define MR_DATA_EXCERPTS_H

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

/* The order of training excerpts. */
#define MR_DATA_ORDER \
	{ \
		"order", MR_OPT_ENUM, "random", 0, 0, "random|columns", NULL, \
			"windows in a random order, or in columns, one for each sample of a step, so that a state " \
			"can be carried" \
	}

/* First member of a dataset made of excerpts. */
typedef struct mr_excerpts {
	mr_dataset base;
	mr_token_range train, valid; /* borrowed from the embedding dataset */
	uint64_t reach; /* R */
} mr_excerpts;

/** A model without a context cannot read excerpts: MR_ECONFIG. */
mr_status mr_excerpts_check_context(const char *source, const mr_data_want *want) MR_MUST_USE;

/**
 * Fill in shapes and counts from @w->train and @w->valid, and the order from the options MR_DATA_ORDER. @name begins
 * messages, and @valid_name the message that the validation part is too short for an excerpt; NULL: such a part means
 * no validation. Errors: MR_EDATA.
 */
mr_status mr_excerpts_init(mr_excerpts *w, const char *name, const char *valid_name, const mr_values *values,
			   const mr_data_want *want) MR_MUST_USE;

/* As in mr_dataset_ops, for datasets whose first member is an mr_excerpts. */
void mr_excerpts_sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target);
void mr_excerpts_train(const mr_dataset *d, uint64_t g, void *input, void *target);
void mr_excerpts_valid(const mr_dataset *d, uint64_t i, void *input, void *target);
mr_status mr_excerpts_check(const mr_dataset *d);

#endif
