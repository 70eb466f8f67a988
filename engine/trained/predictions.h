/*
 * predictions.h - what predicting writes: a row a sample as CSV or JSON lines, or all of them as a NumPy array;
 * and how good they are where the file has targets.
 */
#ifndef MR_TRAINED_PREDICTIONS_H
#define MR_TRAINED_PREDICTIONS_H

#include <stdio.h>

#include "reader/reader.h"
#include "trained/class_scores.h"

typedef enum mr_predictions_format {
	MR_PREDICTIONS_CSV,
	MR_PREDICTIONS_JSONL,
	MR_PREDICTIONS_NPY
} mr_predictions_format;

typedef struct mr_predictions {
	FILE *file;             /* NULL: nothing is written, and samples are scored alone */
	mr_predictions_format format;
	const mr_form *form;
	bool classes;           /* values are probabilities of classes; else one number in the target's unit */
	size_t width;           /* numbers of a prediction */
	bool named;             /* samples have names */
	uint64_t n;             /* written so far */
	uint64_t n_scored, n_right, n_unknown; /* with a target; rightly predicted; of a class the model lacks */
	mr_class_scores *scores; /* of classes; NULL: nobody asks for them. Borrowed */
	double squares, distances; /* of the errors */
	double mean, spread;    /* of the targets: Welford's mean and sum of squared distances from it */
} mr_predictions;

/** The name of class @i, or its number. Valid until the next call with the same @room. */
const char *mr_predictions_class(const mr_form *f, size_t i, char room[24]);

/** Write a field of CSV, in quotes where it needs them. */
void mr_predictions_field(FILE *f, const char *text);
/** Write the head of an array of NumPy's format 1.0, of doubles: first for no rows, and again when all @n are written.
 * Errors: MR_EIO when @f cannot be written again at its beginning. */
void mr_predictions_npy(FILE *f, uint64_t n, size_t width);
mr_status mr_predictions_npy_again(FILE *f, uint64_t n, size_t width) MR_MUST_USE;

/** Write the head. @p has its first five members set. */
void mr_predictions_begin(mr_predictions *p);
/** Write the prediction @value [width] of @sample. */
void mr_predictions_put(mr_predictions *p, const mr_reader_sample *sample, const double *value);
/** Write the end. Errors: MR_EIO when a NumPy array goes to what cannot be written again at its beginning. */
mr_status mr_predictions_end(mr_predictions *p) MR_MUST_USE;
/** A notice says how many samples there were, and how good their predictions are. */
void mr_predictions_say(const mr_predictions *p);

#endif
