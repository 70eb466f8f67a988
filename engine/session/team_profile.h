/* team_profile.h - measures the times of a session's layers by teams of several sizes (team_costs.h). */
#ifndef MR_SESSION_TEAM_PROFILE_H
#define MR_SESSION_TEAM_PROFILE_H

#include "costs/costs.h"
#include "session/session.h"

/** Measure 1, 2, 4 .. threads, up to those of an L3, of a node and of the machine of @s, @seconds each, into @c.
 * Errors: those of a measurement. */
mr_status mr_team_costs_measure(const mr_session *s, double seconds, mr_costs *c) MR_MUST_USE;

#endif
