/*
 * logits.h - the model as a function: the activations that enter the loss, for some samples. For predictions; text is
 * written by decoder.h.
 *
 * It has its own copy of the weights, and one stage of all layers but the loss, whose memory and threads are those of
 * worker 0 of the session. One thread calls it at a time.
 */
#ifndef MR_SESSION_LOGITS_H
#define MR_SESSION_LOGITS_H

#include "session/session.h"

typedef struct mr_logits mr_logits;

/** For the model of @s with the weights and states in @model (exec/state.h), and up to @samples at once. Borrows @s.
 * Errors: MR_EINVAL when they are those of another model; MR_ERESOURCE, MR_EDNN. */
mr_status mr_logits_create(const mr_session *s, const mr_state_list *model, int64_t samples,
			   mr_logits **out) MR_MUST_USE;
void mr_logits_destroy(mr_logits *x); /* accepts NULL */

/** The activations for @n samples, @input as the data give them; they stay until the next call. Errors: MR_EDNN;
 * MR_ERESOURCE. */
mr_status mr_logits_of(mr_logits *x, const void *input, int64_t n, const void **out) MR_MUST_USE;

/** Bytes that a model for @samples at once takes beside its weights. Errors: MR_ERESOURCE. */
mr_status mr_logits_bytes(const mr_session *s, int64_t samples, uint64_t *bytes) MR_MUST_USE;

/** Shapes of one sample's input and of these activations. */
mr_shape mr_logits_input(const mr_session *s);
mr_shape mr_logits_output(const mr_session *s);

#endif
