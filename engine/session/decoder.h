/*
 * decoder.h - a language model token by token: the activations that enter the loss behind the last token of a text.
 *
 * The first tokens go through the model at once, and its layers keep what later rows need of them (nn/layer.h, past):
 * attention its keys and values, recurrent layers their state. Each further token is then one row. Matrices of linear
 * layers are stored [out, in], so that the product of a row reads them in the order of memory, once.
 *
 * Where the text is longer than the window, the last tokens of the window go through the model as a whole, each time
 * from the beginning: with every token all positions shift, and with them all keys and values. The same happens where a
 * layer cannot decode. Where the model ends with a linear layer, only the last row of several goes through it.
 *
 * Logits are those of the whole window but for the order of sums: products and attention of a single row add in another
 * order (nn/kernels/loops/row.inc). In f32 the difference is some 1e-6 of the largest logit, in bf16 a rounding of
 * activations may turn out the other way. They do not depend on the number of threads more than the whole does.
 */
#ifndef MR_SESSION_DECODER_H
#define MR_SESSION_DECODER_H

#include "session/session.h"

typedef struct mr_decoder mr_decoder;

/** For the model of @s, which takes tokens, with the weights and states in @model (exec/state.h); @whole: every token
 * by the whole window. Borrows @s. Errors: MR_EINVAL when they are those of another model; MR_ERESOURCE, MR_EDNN. */
mr_status mr_decoder_create(const mr_session *s, const mr_state_list *model, bool whole, mr_decoder **out) MR_MUST_USE;
void mr_decoder_destroy(mr_decoder *d); /* accepts NULL */

/** The activations behind the last of the @n (1 or more) tokens at @text, until the next call. Fast where @text is
 * that of the call before and one token more. Errors: MR_EDNN; MR_ERESOURCE. */
mr_status mr_decoder_next(mr_decoder *d, const int32_t *text, int64_t n, const void **logits) MR_MUST_USE;

#endif
