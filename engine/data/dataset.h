/*
 * dataset.h - sources of samples: one file of this folder and one line in data.def each. A source decodes; it starts no
 * thread (the loader that feeds a pipeline is threads/loader.h).
 *
 * A sample is an input of shape `input` and a target of shape `target`. Training sample number g of a run (from 0) is
 * element g mod n of epoch g / n's order, so it is a pure function of (seed, g): nothing to save in a checkpoint. Text:
 * the excerpts of epoch e start at r_e + k * context, r_e random, and the order of the excerpts is permuted; one epoch
 * sees each token once. Validation: everything, in file order, no randomness; text in excerpts of the context length,
 * the remainder that does not fill one is dropped. A source of rows without a validation part evaluates the training
 * rows, and then nothing of it is called validation.
 *
 * A source opens in two parts, so that its memory can be checked before any of it is taken: open reads options and
 * scans files (if needed as a whole, a piece at a time) and finds all shapes, counts and bytes; load reads or makes the
 * samples, and computes the fingerprint. Files up to a given size are read into memory; larger ones are read sample by
 * sample.
 *
 * Thread: open and load on any thread; train and valid are pure functions of the loaded dataset, so any threads may
 * call them at once. They do not allocate, unless they decode a file (bytes.reading): sizes, magic numbers and value
 * ranges are checked by open and load, which report a wrong, truncated or empty file as one message, MR_EDATA. Where a
 * file is read on the way and fails, samples are zeros, and mr_dataset_check says why.
 */
#ifndef MR_DATA_DATASET_H
#define MR_DATA_DATASET_H

#include "base/json.h"
#include "base/option.h"
#include "base/status.h"
#include "nn/tensor.h"
#include "token/tokenizer.h"

typedef struct mr_dataset mr_dataset;

typedef struct mr_data_want {
	mr_dtype dtype;       /* of float inputs and targets */
	uint64_t seed;
	int64_t context;      /* rows of a token sample; 0: the model takes no sequences */
	int64_t batch;        /* samples of a step: the columns of text that is read in columns; 0: it cannot be */
	const char *base_dir; /* relative paths in the options start here (the config file's folder); NULL: current
	                         folder */
	uint64_t keep_bytes;  /* files up to this size are read into memory; 0: MR_DATA_KEEP */
	const char *alphabet; /* of a trained model, for reading text (see mr_dataset); NULL: that of the text itself */
} mr_data_want;

/* Memory of a source from load on, and the part that stays on the disk. */
typedef struct mr_data_bytes {
	uint64_t kept;        /* until it is closed */
	uint64_t opened;      /* part of this that is there since open */
	uint64_t passing;     /* more, while it loads */
	uint64_t on_disk;     /* read as samples are asked for */
	uint64_t reading;     /* more, for each thread that asks for a sample, while it does */
} mr_data_bytes;

#define MR_DATA_KEEP ((uint64_t)64 << 20)

/* What a sample of an evaluation is in the file that it comes from. All is valid in the call alone. */
typedef struct mr_data_origin {
	size_t which;              /* its place in the list that was asked for */
	const char *file;
	uint64_t line;             /* at which it begins, from 1; 0: it is the whole file */
	char *const *column, *const *value; /* [n] the columns' names, and what stands in them */
	size_t n;
} mr_data_origin;

typedef mr_status mr_data_origin_fn(void *arg, const mr_data_origin *o);

typedef struct mr_dataset_ops {
	const char *name;
	const char *summary;
	const mr_option *options;
	bool halves;
	size_t bytes; /* of the source's own struct, whose first member is an mr_dataset */
	/** Fill in @d, which is zeroed; it is closed after a failure, too. */
	mr_status (*open)(mr_dataset *d, const mr_values *values, const mr_data_want *want);
	/** In place of both, for a source that makes its struct itself; NULL: it does not. */
	mr_status (*make)(const mr_values *values, const mr_data_want *want, mr_dataset **out);
	/** Read or make the samples, once; NULL: open has done so. */
	mr_status (*load)(mr_dataset *d);
	/** The first failure of reading a sample; NULL: reading cannot fail, since all is in memory. */
	mr_status (*check)(const mr_dataset *d);
	/** Free what the source holds; the dataset itself and its line are not its part. NULL: it holds nothing. */
	void (*close)(mr_dataset *d);
	/** Training sample @g (from 0, without end). @input and @target hold one sample each; where `halves` is set,
	 * one of them may be NULL, and that half is not made. */
	void (*train)(const mr_dataset *d, uint64_t g, void *input, void *target);
	/** Sample @i < n_valid of an evaluation. */
	void (*valid)(const mr_dataset *d, uint64_t i, void *input, void *target);
	/** Sample @i of the list, the first n_train of which train, changed as training sample @g of a run is: for
	 * mr_data_train, and mr_data_valid where the samples behind these validate (data/part.h). As train. */
	void (*sample)(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target);
	bool in_order; /* the list is read in its order, again and again; else in a random one each time */
	/* What a file is that a model of such data predicts: "csv", "libsvm", "pictures", "language"; "numbers": rows
	 * of the input's numbers. NULL: none can be predicted. */
	const char *files;
	/** Of loaded data: write, as fields of an open object, how what a file holds becomes an input, and what the
	 * classes are called (mr_dataset_form). NULL: nothing has to be said. */
	void (*form)(const mr_dataset *d, mr_json_writer *w);
	/** Of loaded data: call @each for the evaluation samples @at [n], in any order; a file of rows is read once
	 * more for it. On the thread that loads. Errors: those of @each; MR_EDATA; MR_ERESOURCE. NULL: nothing is known
	 * of a sample but its number. */
	mr_status (*origin)(mr_dataset *d, const uint64_t *at, size_t n, mr_data_origin_fn *each, void *arg);
} mr_dataset_ops;

#define MR_TOKENIZER_MARK "tokenizer "

/* First member of every dataset; all other code only reads it. */
struct mr_dataset {
	const mr_dataset_ops *ops;
	mr_shape input;       /* tokens: [context, 1] int32; else [1, features] */
	mr_shape image;       /* input as an image of [height, width, channels]; n_dims 0: as it says itself */
	mr_shape target;      /* classes: [rows, 1] int32; else [1, outputs] of the dtype */
	int64_t classes;      /* vocabulary or number of classes; 0 for regression */
	int64_t frames;       /* frames with captions: how many, of equally many numbers; the input is the bits of the
	                         frames' f32 numbers, and then as many tokens as the target has. Else 0 */
	int64_t source_classes; /* pairs of sequences (data/pair.h): vocabulary of the source; 0: no pairs */
	double target_low, target_high; /* least and greatest target if it is one number; else 0 */
	double target_mean, target_deviation; /* deviation not 0: a target that is one number is what the data say,
	                         less the mean, by the deviation, from load on. Else both 0 */
	int64_t numbers;      /* samples of numbers and categories: input is [1, numbers + categories] tokens, first
	                         the bits of f32 numbers, then categories from 0; -1: there is none. Else 0 */
	const int64_t *values; /* [input.cols - numbers] how many values each category has; NULL: they are not known */
	uint64_t n_train;     /* samples an epoch */
	uint64_t seed;        /* of their order, and of what is made up */
	uint64_t columns;     /* training sample g + columns continues sample g, unless it begins an epoch; n_train is a
	                         multiple; 0: samples come in a random order */
	uint64_t n_valid;     /* samples of an evaluation; 0: none */
	bool trains_only;     /* there is no validation part: an evaluation is of the training samples */
	/* Text: decoding of tokens for `sample`. NULL for other data. */
	/* bytes of a token, NUL-terminated, owned by @d */
	const char *(*token_text)(const mr_dataset *d, int32_t token);
	/* first token of @text; -1: unknown */
	int32_t (*token_of)(const mr_dataset *d, const char *text, size_t *used);
	mr_tokenizer *tokenizer; /* what gives text its tokens, and tokens their text, owned by @d; NULL: token_of and
				    token_text do so, or the data are no text */
	/* Text: the bytes that are tokens, in the order of their numbers, two hexadecimal digits each, or
	 * MR_TOKENIZER_MARK and the hash of the tokenizer. NULL for other data. */
	const char *alphabet;
	char *describe;       /* one line for the start table, owned by the dataset */
	uint64_t fingerprint; /* hash of the data, for the manifest. Known after load */
	mr_data_bytes bytes;
};

const mr_dataset_ops *mr_dataset_at(uint32_t i);
const mr_dataset_ops *mr_dataset_find(const char *name);
/** Open a source without loading it. */
mr_status mr_dataset_look(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want,
			  mr_dataset **out) MR_MUST_USE;
/** Load an open source; does nothing for a source without load. */
mr_status mr_dataset_load(mr_dataset *d) MR_MUST_USE;
/** Open and load a source. */
mr_status mr_dataset_open(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want,
			  mr_dataset **out) MR_MUST_USE;
/** The first failure of reading a sample, MR_EDATA with a message; MR_OK: all samples so far are right. At any time,
 * on any thread. */
mr_status mr_dataset_check(const mr_dataset *d) MR_MUST_USE;
/** As ops->origin; of data without it @each is never called. */
mr_status mr_dataset_origin(mr_dataset *d, const uint64_t *at, size_t n, mr_data_origin_fn *each,
			    void *arg) MR_MUST_USE;
void mr_dataset_close(mr_dataset *d);

/**
 * The form of loaded data as JSON: everything that reader/form.h needs to make inputs of other files as training made
 * them, without the data. *@out, which the caller frees, is NULL for a source without a form. Errors: MR_ERESOURCE.
 */
mr_status mr_dataset_form(const mr_dataset *d, char **out) MR_MUST_USE;

/* The type of targets that are numbers, for inputs of @dtype: the type in which a loss computes. */
static inline mr_dtype mr_data_target_type(mr_dtype dtype)
{
	return mr_dtype_is_narrow(dtype) ? mr_dtype_wide(dtype) : dtype;
}

#endif
