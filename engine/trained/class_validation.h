/*
 * class_validation.h - a trained model on the validation samples of its data: scores and curves of its classes as
 * predict has them, and a temperature for its probabilities.
 */
#ifndef MR_TRAINED_CLASS_VALIDATION_H
#define MR_TRAINED_CLASS_VALIDATION_H

#include "trained/trained.h"

typedef struct mr_class_validation {
	const char *scores, *curves; /* files; "": none */
	bool calibrate;              /* fit a temperature, and keep it beside the weights */
} mr_class_validation;

/** Is anything asked for? */
static inline bool mr_class_validation_wanted(const mr_class_validation *v)
{
	return *v->scores || *v->curves || v->calibrate;
}

/** Do for @checkpoint, a folder, what @v says, on the evaluation samples of @d, which is loaded. Prints the calibration
 * to standard output. Errors: MR_EUSAGE a model without classes; MR_ECKPT, MR_EDATA, MR_EIO, MR_EDNN, MR_ERESOURCE. */
mr_status mr_class_validation_run(const mr_class_validation *v, const char *checkpoint,
				  const mr_dataset *d) MR_MUST_USE;

#endif
