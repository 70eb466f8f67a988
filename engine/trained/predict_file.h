/*
 * predict_file.h - the predictions of a trained model for a file, a folder, or standard input: read (reader/reader.h,
 * reader/texts.h), predicted in batches, and written, handed to a caller, or both. The command `predict` and the
 * library (millrace/predictor.h) have the same course from here.
 *
 * A sample that cannot be read is named, and then nothing behind it is predicted.
 */
#ifndef MR_TRAINED_PREDICT_FILE_H
#define MR_TRAINED_PREDICT_FILE_H

#include "reader/texts.h"
#include "trained/predictions.h"
#include "trained/trained.h"

typedef struct mr_predict_file {
	const char *path;       /* "-": standard input */
	const char *output;     /* "", "-": standard output; NULL: nothing is written */
	const char *format;     /* "csv", "jsonl", "npy"; "auto": by the ending of output, else csv, of texts jsonl */
	const char *scores;     /* file for the scores of classes; "": none */
	const char *curves;     /* file for the points of their curves (class_samples.h); NULL or "": none */
	bool calibrate;         /* of classes: fit a temperature (temperature.h) to the samples, keep it beside the
	                           weights, and use it from then on; predictions are without one */
	mr_texts_kind input;    /* of language models */
	bool by_token;          /* of language models: a row a token, not a text */
	/** Called for the predictions of a batch of samples, if it is not NULL: @value [n][n_values], @target [n], as
	 * mr_reader_sample has it, and NAN where a sample has none. False: end with MR_ESTOPPED. */
	bool (*rows)(void *arg, uint64_t n, const double *value, const double *target);
	/** Called for each sample that cannot be read but the only one, up to 20; NULL: nothing. */
	void (*wrong)(void *arg, const char *text);
	void *arg;
} mr_predict_file;

/** Do the options of @p fit the model of @t, which was found? Errors: MR_EUSAGE. */
mr_status mr_predict_file_check(const mr_predict_file *p, const mr_trained *t) MR_MUST_USE;

/** Predict what @p says by @t, which is open. Notices (base/notice.h) say how many samples there were, how good their
 * predictions are, and what was odd about them. Errors: MR_EDATA, MR_EUSAGE, MR_EIO, MR_EDNN, MR_ERESOURCE,
 * MR_ESTOPPED. */
mr_status mr_predict_file_run(const mr_predict_file *p, mr_trained *t) MR_MUST_USE;

/** The same of texts by a language model, in @format: text_predictions.c. Errors: those of mr_texts_next, MR_EIO,
 * MR_EUSAGE. */
mr_status mr_predict_texts(const mr_predict_file *p, mr_predictions_format format, mr_trained *t) MR_MUST_USE;

#endif
