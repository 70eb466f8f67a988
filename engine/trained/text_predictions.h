/* text_predictions.h - what predicting by a language model writes: a row a text, or a row a token. */
#ifndef MR_TRAINED_TEXT_PREDICTIONS_H
#define MR_TRAINED_TEXT_PREDICTIONS_H

#include "reader/texts.h"
#include "trained/predictions.h"
#include "trained/trained.h"

/* As in mr_predict_file. */
typedef struct mr_text_predictions {
	const char *path, *output;
	mr_predictions_format format;
	mr_texts_kind input;
	bool by_token;
	void (*wrong)(void *arg, const char *text);
	void *arg;
} mr_text_predictions;

/** Read the texts that @p names, and write what @t, which is open, says of them; the whole is a notice. Errors: those
 * of mr_texts_next, MR_EIO, MR_EUSAGE. */
mr_status mr_text_predictions_run(const mr_text_predictions *p, mr_trained *t) MR_MUST_USE;

#endif
