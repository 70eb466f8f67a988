/*
 * class_samples.h - the predictions of samples of known classes, all of them: for what needs them in order (areas under
 * curves) or again and again (a temperature).
 *
 * Areas are of one class against all others, with its probability as the score:
 *
 *	roc_auc            under the curve of the true over the false positive rate, by trapezoids: the probability that
 *	                   a sample of the class has a higher score than another one, equal scores counted as half
 *	average_precision  under the curve of precision over recall, as steps: the sum over thresholds of the precision
 *	                   there times the recall that is gained there (no trapezoids, which would promise too much)
 *
 * As in scikit-learn. NAN: all samples are of the class, or none is.
 */
#ifndef MR_TRAINED_CLASS_SAMPLES_H
#define MR_TRAINED_CLASS_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/form.h"

typedef struct mr_class_samples {
	size_t classes, n;
	double *p;       /* [n][classes] */
	int32_t *target; /* [n] */
	bool failed;     /* there was no memory for one of them */
} mr_class_samples;

/** One more sample of class @target, with the probabilities @p. Failure is sticky (mr_class_samples_check). */
void mr_class_samples_add(mr_class_samples *s, size_t target, const double *p);
mr_status mr_class_samples_check(const mr_class_samples *s) MR_MUST_USE;
void mr_class_samples_fini(mr_class_samples *s);

typedef struct mr_class_areas {
	double roc_auc, average_precision;
} mr_class_areas;

/** The areas of @class. Errors: MR_ERESOURCE. */
mr_status mr_class_areas_of(const mr_class_samples *s, size_t class, mr_class_areas *out) MR_MUST_USE;

/** What stands for a model of these areas of its classes [@n]: of two classes those of the second, else the means over
 * the classes that have them. */
mr_class_areas mr_class_areas_all(const mr_class_areas *of, size_t n);

/**
 * Write the points of both curves of all classes, which @f names, as CSV, "class,threshold,true_positive_rate,
 * false_positive_rate,precision" (the true positive rate is the recall): for each class a point where nothing is
 * predicted, and one for each different probability, from the highest on. Classes whose areas are NAN have no points.
 * Errors: MR_ERESOURCE.
 */
mr_status mr_class_curves_put(const mr_class_samples *s, const mr_form *f, FILE *file) MR_MUST_USE;

#endif
