/* lone_profile.h - measures the layers of a session's model by one worker, without a pipeline. */
#ifndef MR_SESSION_LONE_PROFILE_H
#define MR_SESSION_LONE_PROFILE_H

#include "costs/costs.h"
#include "profile/profile.h"
#include "session/session.h"

typedef struct mr_lone_profile {
	mr_job job;     /* of sequential training */
	mr_session at;  /* beside the session that is measured */
	mr_costs costs; /* of its layers */
	double worst;   /* the largest spread (profile/profile.h) */
	bool open;      /* there is a session */
} mr_lone_profile;

/**
 * Measure one worker of @threads threads of the machine of @s, with @n_micro micro-batches a step (0: those of @s), by
 * @method, for at least @seconds. @s has loaded its data and outlives @out. The caller calls fini, also after an error.
 * Errors: those of a measurement.
 */
mr_status mr_lone_profile_measure(const mr_session *s, uint32_t threads, uint32_t n_micro, mr_profile_method method,
				  double seconds, mr_lone_profile *out) MR_MUST_USE;
void mr_lone_profile_fini(mr_lone_profile *p);

#endif
