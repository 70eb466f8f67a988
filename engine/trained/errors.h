/*
 * errors.h - where a trained model errs on the data of its training, as JSON: what a report shows of it.
 *
 * It is of the validation samples, or of the training samples where there are none, up to a number of them that are
 * equally far apart. Classes: how often each was predicted for each. Numbers: predictions beside targets, and how the
 * differences are distributed. Then the samples with the largest losses, with what stands in the file, or with their
 * pictures. Tokens: the same of tokens, the excerpts with the largest losses, and what the model writes, by each
 * checkpoint that is there.
 *
 * store/FORMATS.md has the keys.
 */
#ifndef MR_TRAINED_ERRORS_H
#define MR_TRAINED_ERRORS_H

#include "trained/trained.h"

/**
 * Find where the best model of the run in the folder @run errs, on up to @most samples (of text: tokens), and keep it
 * in the file errors.json there; a folder that cannot be written is a notice. *@out, which the caller destroys, is that
 * file. @prepare is called when the configuration is known, before the model is loaded. Errors: those of @prepare and
 * of mr_trained_find_with_data; MR_EDATA when there are no samples, or one cannot be read; MR_EDNN, MR_ERESOURCE.
 */
mr_status mr_errors_find(const char *run, uint64_t most, mr_status (*prepare)(void *arg, const mr_config *config),
			 void *arg, mr_json **out) MR_MUST_USE;

#endif
