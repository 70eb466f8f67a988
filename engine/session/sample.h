/*
 * sample.h - writes text with a trained language model.
 *
 * One token at a time: the logits behind the last token, of which the last `context` count (session/decoder.h), are
 * divided by the temperature, all but the top_k are dropped, and one token is drawn by a random number that depends on
 * (seed, position) alone. The random number runs through the tokens from the most probable one on, of which only as
 * many are put in order as are needed.
 */
#ifndef MR_SESSION_SAMPLE_H
#define MR_SESSION_SAMPLE_H

#include <stdio.h>

#include "session/session.h"

/** Can the model and the data of @s write text? Errors: MR_ECONFIG. */
mr_status mr_sample_check(const mr_session *s) MR_MUST_USE;

/**
 * Write sample.tokens tokens after sample.prompt to @out, with the weights in @model (mr_state's list).
 * Errors: MR_ECONFIG when the model or the data cannot write text, or the prompt holds a character that the vocabulary
 * lacks.
 */
mr_status mr_sample_write(const mr_session *s, const mr_state_list *model, FILE *out) MR_MUST_USE;

/** At the end of a training whose configuration has a sample group: print a sample, with a heading. Else do nothing.
 */
mr_status mr_sample_at_end(mr_session *s) MR_MUST_USE;

#endif
