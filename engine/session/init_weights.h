/*
 * init_weights.h - begins a training with the weights of a safetensors file in place of random ones: of a run of
 * millrace, or GPT-2's as Hugging Face publishes them.
 *
 * A parameter takes the tensor of its name, or of its name behind "transformer." or "model.". Tensors that the model
 * has no parameter for, such as GPT-2's masks (h.0.attn.bias), are left alone. Numbers of another type are converted.
 * Three differences of published GPT-2 are bridged: positions beyond the model's context are left out; a head of its
 * own that the file lacks begins as the token embedding; and one that lies there as [vocabulary, width] is transposed.
 */
#ifndef MR_SESSION_INIT_WEIGHTS_H
#define MR_SESSION_INIT_WEIGHTS_H

#include "session/session.h"

/** Fill the weights of @s, which has started and done no step, from @path. *@n: parameters that were filled. Errors:
 * MR_ECKPT: the file is damaged, or lacks a parameter, or has another shape of it; MR_ERESOURCE, MR_EIO. */
mr_status mr_init_weights(mr_session *s, const char *path, size_t *n) MR_MUST_USE;

#endif
