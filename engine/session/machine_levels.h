/* machine_levels.h - the levels of PipeDream's hierarchical partition, from the machine and the hosts of a session. */
#ifndef MR_SESSION_MACHINE_LEVELS_H
#define MR_SESSION_MACHINE_LEVELS_H

#include "planner/worker_levels.h"
#include "session/host_map.h"

/** Fill the levels of @out for the workers of @place on @topo, and on @hosts (NULL: one), where a byte takes @near_s
 * to another worker of the node and @far_s to one of another node. Errors: MR_ERESOURCE. */
mr_status mr_machine_levels(const mr_topo *topo, const mr_place *place, const mr_hosts *hosts, double near_s,
			    double far_s, mr_level_problem *out) MR_MUST_USE;

/** Those of @s, as --levels of millrace partition takes them: "4@12e9,2@1.25e9". Errors: MR_ERESOURCE. */
mr_status mr_session_levels_text(const mr_session *s, mr_strbuf *out) MR_MUST_USE;

#endif
