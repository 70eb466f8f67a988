/* class_files.h - files about predictions of classes: scores as JSON, points of curves as CSV. */
#ifndef MR_TRAINED_CLASS_FILES_H
#define MR_TRAINED_CLASS_FILES_H

#include "reader/form.h"
#include "trained/class_scores.h"

/** Write the scores, or the points of the curves (class_samples.h), of a model with the form @f to @path, as an option
 * names it; "" or NULL: to no file. Errors: MR_EIO, MR_EUSAGE, MR_ERESOURCE. */
mr_status mr_class_scores_write(const mr_class_scores *s, const mr_form *f, const char *path) MR_MUST_USE;
mr_status mr_class_curves_write(const mr_class_scores *s, const mr_form *f, const char *path) MR_MUST_USE;

#endif
