/*
 * leader.h - a worker's threads (host/group.h) that stay and carry out one job after the other.
 *
 * One thread calls it at a time and waits for each job. Between jobs the threads sleep.
 */
#ifndef MR_SESSION_LEADER_H
#define MR_SESSION_LEADER_H

#include "host/place.h"

typedef struct mr_leader mr_leader;

/** Start the threads of @w. Errors: MR_ERESOURCE. */
mr_status mr_leader_start(const mr_place_worker *w, mr_leader **out) MR_MUST_USE;
/** Let the leader call @job(@arg). Errors: the job's, with its message. */
mr_status mr_leader_run(mr_leader *l, mr_status (*job)(void *arg), void *arg) MR_MUST_USE;
void mr_leader_stop(mr_leader *l); /* accepts NULL */

#endif
