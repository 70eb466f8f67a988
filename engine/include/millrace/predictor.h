/*
 * millrace/predictor.h - predicts by a trained model, as the program's `predict` does. A checkpoint, or the folder of a
 * run, is enough: the configuration, the columns and how they were scaled, the names of classes and a tokenizer stand
 * in it.
 *
 *	mr_predictor *p;
 *
 *	MR_TRY(mr_predictor_open("runs/iris", NULL, &p));
 *	st = mr_predictor_file(p, &(mr_predictor_input){.path = "rows.csv", .output = "classes.csv"});
 *	mr_predictor_close(p);
 *
 * One thread at a time calls functions of a model, and only in the process that opened it.
 */
#ifndef MILLRACE_PREDICTOR_H
#define MILLRACE_PREDICTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "millrace/status.h"

typedef struct mr_predictor mr_predictor;

/* All zero: the best checkpoint, and batches as large as memory allows. */
typedef struct mr_predictor_opts {
	const char *checkpoint;  /* of a run's folder: "best", "last" or "step-00000100"; NULL or "": the best, or the
	                            newest where none was evaluated */
	const char *const *sets; /* [n_sets] "key=value" in place of what the configuration of the training says */
	size_t n_sets;
	int64_t batch;           /* samples at once; 0: as many as memory allows, up to 512 */
	bool calibrated;         /* of classes: probabilities with the temperature that was fitted for the checkpoint
	                            (calibrate below, or eval --calibrate) */
} mr_predictor_opts;

/* The predictions of some samples. */
typedef bool mr_predictor_rows(void *arg, uint64_t n, const double *values, const double *targets);

/* A file, a folder or standard input to predict. What is zero is as if it were not given. */
typedef struct mr_predictor_input {
	const char *path;    /* "-": standard input */
	const char *output;  /* the predictions go to this file; "-": standard output; NULL: to no file */
	const char *format;  /* "csv", "jsonl", "npy"; NULL: by the ending of output, else csv, and of texts jsonl */
	const char *scores;  /* of classes, where the file has targets: file for the confusion matrix, as JSON */
	const char *curves;  /* likewise for the points of each class's ROC and precision-recall curves, as CSV */
	bool calibrate;      /* likewise: fit a temperature to the samples, which the training should not have seen, and
	                        keep it beside the weights; these predictions are without it, later ones with it */
	const char *input;   /* of a language model: "text", "lines", "jsonl" or "tokens"; NULL: by the ending of path
	                        */
	bool by_token;       /* of a language model: a row a token, not a text */
	mr_predictor_rows *rows; /* not of a language model: called with each batch, @values [n]["values"] and
	                        @targets [n]: of classes their numbers, -1 for one that the model does not know; NAN
	                        where the file has none. False: the end, with MR_ESTOPPED */
	void *arg;
} mr_predictor_input;

/** Open the checkpoint @path, or one in the folder of a run; @opts may be NULL. The caller closes *@out, which is NULL
 * after an error. Errors: MR_ECKPT: there is none, it is damaged, or its model cannot predict; MR_EUSAGE, MR_ECONFIG,
 * MR_EINVAL, MR_ERESOURCE. */
MR_API mr_status mr_predictor_open(const char *path, const mr_predictor_opts *opts, mr_predictor **out) MR_MUST_USE;
/** Accepts NULL. */
MR_API void mr_predictor_close(mr_predictor *p);

/** What the model is, as a JSON object: "checkpoint", "step", "data" (its source), "language", "task" ("classes",
 * "numbers" or "tokens"), "classes" (their names), "columns" (of CSV, each with "name" and "kind", "number" or
 * "category", in the order of a row), "target" (its column), "width" (numbers of a row) and "values" (numbers of a
 * prediction). What it has not is missing. The caller frees *@json with free(). Errors: MR_EINVAL, MR_ERESOURCE. */
MR_API mr_status mr_predictor_about(mr_predictor *p, char **json) MR_MUST_USE;

/** Predict @n samples that are rows of "width" numbers: of CSV a number for each of "columns", NAN where there is none;
 * of LIBSVM the features; of pictures their pixels from 0 to 255. @values [n]["values"]: the probability of each class,
 * or the number in the target's own unit. Errors: MR_EDATA with row and column, MR_EINVAL, MR_EDNN, MR_ERESOURCE. */
MR_API mr_status mr_predictor_numbers(mr_predictor *p, const double *rows, uint64_t n, double *values) MR_MUST_USE;

/** Predict the samples of a file. A sample that cannot be read is an error, and so is a column that is missing, or of
 * another kind than in training; both are named. Errors: MR_EDATA, MR_EUSAGE, MR_EIO, MR_ESTOPPED, MR_EINVAL, MR_EDNN,
 * MR_ERESOURCE. */
MR_API mr_status mr_predictor_file(mr_predictor *p, const mr_predictor_input *file) MR_MUST_USE;

/** What the last function of @p has to say, a line each: how many samples there were and how good their predictions,
 * "warning: ..." about values that were taken as unknown; after a failure other samples that cannot be read. "":
 * nothing. Valid until the next function of it. */
MR_API const char *mr_predictor_notices(const mr_predictor *p);

#endif
