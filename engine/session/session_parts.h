/* session_parts.h - the inside of a session, shared by its files: session.c, session_plan.c. */
#ifndef MR_SESSION_SESSION_PARTS_H
#define MR_SESSION_SESSION_PARTS_H

#include "session/session.h"

/** Cut the model, place the workers, take the costs, and make the plan for them: of what the session has read so far. Errors: those of
 * mr_session_open. */
mr_status mr_session_make_plan(mr_session *s) MR_MUST_USE;

#endif
