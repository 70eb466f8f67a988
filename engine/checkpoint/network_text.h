/*
 * network_text.h - what a network computes beyond the shapes of its tensors, as text in the metadata of a checkpoint's
 * model.safetensors ("network"): heads, epsilons, bases of positions, activations, windows.
 *
 *	wte embedding
 *	h.0.ln_1 layer_norm eps=1e-05
 *	h.0.attn attention heads=2
 *
 * A line a layer: name, operation, and the fields of its configuration that are not 0, in the order of MR_LAYER_CFG.
 * Left out are losses, dropout and penalties, and the fields that tensors show or that only concern how a network
 * begins and is trained. Weights of a network with another text fit by their shapes, and compute something else.
 */
#ifndef MR_CHECKPOINT_NETWORK_TEXT_H
#define MR_CHECKPOINT_NETWORK_TEXT_H

#include "session/session.h"

/** The text of the network of @s, made at the first call; it lives as long as @s. Errors: MR_ERESOURCE. */
mr_status mr_network_text(mr_session *s, const char **out) MR_MUST_USE;

/** Is @text, out of @file, that of @g? NULL, of a file that has none: yes. Errors: MR_ECKPT with the first layer that
 * is otherwise; MR_ERESOURCE. */
mr_status mr_network_check(const mr_graph *g, const char *file, const char *text) MR_MUST_USE;

#endif
