/*
 * survey.h - reads every sample of a source once, and says what is in them: before a training, whether the data are
 * whole, and what a model will get to see.
 */
#ifndef MR_STARTER_SURVEY_H
#define MR_STARTER_SURVEY_H

#include "base/str.h"
#include "data/dataset.h"

/* Numbers, or tokens, of all samples together. */
typedef struct mr_survey_values {
	uint64_t n, n_odd;        /* how many; how many of them are not finite, or below 0 where they are tokens */
	double least, most, sum;  /* of the others */
} mr_survey_values;

typedef struct mr_survey {
	const mr_dataset *data;
	mr_dtype inputs, compute;  /* types of inputs that are numbers, and of such targets */
	uint64_t read[2];          /* samples that were read: training, validation */
	mr_survey_values number, token, target;
	uint64_t *of_class;        /* [classes] training samples of each, with one target a sample; NULL: none */
	double *low, *high;        /* [columns] of inputs that are rows of numbers; NULL: they are none */
	int64_t columns;
} mr_survey;

/** Read all samples of @d, which is loaded, with inputs of @inputs and targets of @compute. The caller calls fini, also
 * after an error. Errors: those of reading a sample (MR_EDATA with the file); MR_ERESOURCE. */
mr_status mr_survey_make(const mr_dataset *d, mr_dtype inputs, mr_dtype compute, mr_survey *out) MR_MUST_USE;
void mr_survey_fini(mr_survey *s);

/** Append it as lines of text. */
void mr_survey_print(const mr_survey *s, mr_strbuf *out);

#endif
