/* text_predictions.h - what `millrace predict` writes for a language model: a row a text, or a row a token. */
#ifndef MR_CLI_TEXT_PREDICTIONS_H
#define MR_CLI_TEXT_PREDICTIONS_H

#include "cli/args.h"
#include "cli/predictions.h"
#include "trained/trained.h"

/** Read the texts of the second operand, as --input and --tokens of @args say, and write what @t, which is open, says
 * of them to --output in @format; the whole on standard error. Errors: those of mr_texts_next, MR_EIO. */
mr_status mr_text_predictions(const mr_args *args, mr_trained *t, mr_predictions_format format) MR_MUST_USE;

#endif
