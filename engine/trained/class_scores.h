/*
 * class_scores.h - where predictions of classes err: the confusion matrix, precision, recall and F1 of each class, the
 * areas of its curves (class_samples.h), the mean logarithm of the target's probability, and how far probabilities are
 * from what comes true.
 *
 * Of all classes together: accuracy; the means over the classes of precision, recall and F1, where one that is not
 * defined counts as 0; and balanced accuracy, the mean recall of the classes that occur (as scikit-learn).
 *
 * Expected calibration error (Guo et al.: "On Calibration of Modern Neural Networks", 2017): predictions go into ten
 * bins by the probability of the most probable class; the mean distance between that probability and the part that is
 * right, weighted by the bins' numbers.
 */
#ifndef MR_TRAINED_CLASS_SCORES_H
#define MR_TRAINED_CLASS_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "trained/class_samples.h"

#define MR_CLASS_SCORES_BINS 10

typedef struct mr_class_scores {
	size_t n;          /* classes */
	uint64_t *count;   /* [target][prediction] of n each */
	double loss;       /* sum of -log of the target's probability */
	uint64_t bin[MR_CLASS_SCORES_BINS], right[MR_CLASS_SCORES_BINS];
	double confidence[MR_CLASS_SCORES_BINS]; /* sums */
	mr_class_samples samples;
} mr_class_scores;

/** Of @n classes, at most 4096. The caller calls fini, also after an error. Errors: MR_ERESOURCE, MR_EUSAGE. */
mr_status mr_class_scores_init(mr_class_scores *s, size_t n) MR_MUST_USE;
void mr_class_scores_fini(mr_class_scores *s);

/** One more sample of class @target, whose prediction is @best, of the probabilities @p [n]. */
void mr_class_scores_add(mr_class_scores *s, size_t target, size_t best, const double *p);

double mr_class_scores_calibration(const mr_class_scores *s);

/** The most probable class of @p [n], the first of several. */
size_t mr_class_of(const double *p, size_t n);

/** Write all as fields of an open object, with the names of classes that @f has. Errors: MR_ERESOURCE. */
mr_status mr_class_scores_put(const mr_class_scores *s, const mr_form *f, mr_json_writer *w) MR_MUST_USE;

/** Write the scores as JSON, or the points of the curves as CSV, to @path, as an option names it; "" or NULL: to no
 * file. Errors: MR_EIO, MR_EUSAGE, MR_ERESOURCE. */
mr_status mr_class_scores_write(const mr_class_scores *s, const mr_form *f, const char *path) MR_MUST_USE;
mr_status mr_class_curves_write(const mr_class_scores *s, const mr_form *f, const char *path) MR_MUST_USE;

#endif
