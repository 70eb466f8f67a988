/*
 * dataset.h - what a source of samples is: one file in nn/data, one line in data.def. It decodes; it starts no thread
 * (the loader that feeds a pipeline lives in run/).
 *
 * A sample is an input of shape `input` and a target of shape `target`. Training sample number g of a run (from 0) is
 * element g mod n of epoch g / n's order, so it is a pure function of (seed, g): nothing to save in a checkpoint. Text: the
 * windows of epoch e start at r_e + k * context, r_e random, and the order of the windows is permuted; one epoch sees each
 * token once. Validation: everything, in file order, no randomness; text in windows of the context length,
 * the remainder that does not fill one is dropped.
 *
 * Thread: open on any thread; train and valid are pure functions of the open dataset, so any threads may call them at once.
 * They do not allocate and do not fail: sizes, magic
 * numbers and value ranges are checked by open, which reports a wrong, truncated or empty file as one sentence, MR_EDATA.
 */
#ifndef MR_NN_DATASET_H
#define MR_NN_DATASET_H

#include "base/option.h"
#include "base/status.h"
#include "nn/tensor.h"

typedef struct mr_dataset mr_dataset;

typedef struct mr_data_want {
	mr_dtype dtype;       /* of float inputs and targets */
	uint64_t seed;
	int64_t context;      /* rows of a token sample; 0: the model takes no sequences */
	const char *base_dir; /* relative paths in the options start here (the config file's folder); NULL: current folder */
} mr_data_want;

typedef struct mr_dataset_ops {
	const char *name;
	const char *summary;
	const mr_option *options;
	mr_status (*open)(const mr_values *values, const mr_data_want *want, mr_dataset **out);
	void (*close)(mr_dataset *d);
	/** Training sample @g (from 0, without end). @input and @target hold one sample each. */
	void (*train)(const mr_dataset *d, uint64_t g, void *input, void *target);
	/** Validation sample @i < n_valid. */
	void (*valid)(const mr_dataset *d, uint64_t i, void *input, void *target);
} mr_dataset_ops;

/* First member of every dataset; plain data for everyone else. */
struct mr_dataset {
	const mr_dataset_ops *ops;
	mr_shape input;       /* tokens: [context, 1] int32; else [1, features] */
	mr_shape target;      /* classes: [rows, 1] int32; else [1, outputs] of the dtype */
	int64_t classes;      /* vocabulary or number of classes; 0 for regression */
	double target_low, target_high; /* least and greatest target where it is one number; else 0 */
	uint64_t n_train;     /* samples an epoch */
	uint64_t n_valid;     /* 0: no validation data */
	/* Text: decoding of tokens for `sample`. NULL where there is none. */
	const char *(*token_text)(const mr_dataset *d, int32_t token); /* bytes of a token, NUL-terminated, owned by @d */
	int32_t (*token_of)(const mr_dataset *d, const char *text, size_t *used); /* first token of @text; -1: unknown */
	char *describe;       /* one line for the start table, owned by the dataset */
	uint64_t fingerprint; /* hash of the data: goes into the manifest */
};

const mr_dataset_ops *mr_dataset_at(uint32_t i);
const mr_dataset_ops *mr_dataset_find(const char *name);
mr_status mr_dataset_open(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want, mr_dataset **out) MR_MUST_USE;
void mr_dataset_close(mr_dataset *d);

#endif
