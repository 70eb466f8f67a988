/*
 * frozen.h - the layers of a session whose weights stay as they are (train.frozen), and what this makes of its stages.
 */
#ifndef MR_SESSION_FROZEN_H
#define MR_SESSION_FROZEN_H

#include "session/session.h"

/** Freeze the layers of @s->graph that its job names. Errors: MR_ECONFIG a name is no layer's. */
mr_status mr_session_freeze(mr_session *s) MR_MUST_USE;

/** Make s->frozen for @s, which is cut, if any layer is frozen: a stage is where all its layers with parameters are.
 * Errors: MR_ECONFIG a frozen parameter is shared, or the plan of @s does not suit; MR_ERESOURCE. */
mr_status mr_session_find_frozen(mr_session *s) MR_MUST_USE;

#endif
