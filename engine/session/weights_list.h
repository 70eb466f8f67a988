/*
 * weights_list.h - memory for all weights and states of a session's model, for what reads a checkpoint without
 * training.
 */
#ifndef MR_SESSION_WEIGHTS_LIST_H
#define MR_SESSION_WEIGHTS_LIST_H

#include "session/session.h"

/** A list with memory of its own for every parameter and state of the model of @s. Free with mr_weights_list_fini.
 * Errors: MR_ERESOURCE. */
mr_status mr_weights_list(const mr_session *s, mr_state_list *out) MR_MUST_USE;
void mr_weights_list_fini(mr_state_list *l);

#endif
