/*
 * merges.h - which stages of a session have their weight gradients late and together (train.gradients,
 * planner/merge_w.h).
 *
 * No weight depends on it. So the answer may follow from the memory at hand, and a run may be resumed with another.
 */
#ifndef MR_SESSION_MERGES_H
#define MR_SESSION_MERGES_H

#include "session/session.h"

/** Make s->merges for @s, which is cut, if any stage is to merge. Errors: MR_ERESOURCE. */
mr_status mr_session_find_merges(mr_session *s) MR_MUST_USE;

/** If the plan of @s is open, merged by itself, and needs more memory than there is, make it again without. Errors:
 * those of mr_session_open. */
mr_status mr_session_weigh_merges(mr_session *s) MR_MUST_USE;

#endif
