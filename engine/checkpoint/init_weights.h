/*
 * init_weights.h - begins a training with weights of files in place of random ones: of a run of millrace, or of a
 * model that Hugging Face publishes (store/tensor_files.h), GPT-2's, Llama's, Qwen2's.
 *
 * A parameter takes the tensor of its name, or of its name behind "transformer." or "model.". Numbers of another type
 * (F32, F64, F16, BF16) are converted. Two differences are bridged: positions beyond the model's context are left
 * out; and a head of its own that the file lacks, because it is tied there, begins as a copy of the token embedding.
 *
 * Nothing else of a file may be left over: a tensor that the network has no parameter for is an error that names it,
 * and so is a difference between the network and config.json beside the file (foreign_config.h), or between it and what
 * a file of a run says of its own (network_text.h). Left out without a word are masks (GPT-2's h.0.attn.bias), tables
 * of positions and counts, and the copy of a tied head.
 */
#ifndef MR_CHECKPOINT_INIT_WEIGHTS_H
#define MR_CHECKPOINT_INIT_WEIGHTS_H

#include "session/session.h"

/** Fill the weights of @s, which has started and done no step, from @path. @anyway: what is left over, and differences
 * of the networks, are warnings. *@n: parameters that were filled. Errors: MR_ECKPT: a file is damaged, or lacks a
 * parameter, or has another shape of it, or more than the network takes; MR_ERESOURCE, MR_EIO. */
mr_status mr_init_weights(mr_session *s, const char *path, bool anyway, size_t *n) MR_MUST_USE;

#endif
