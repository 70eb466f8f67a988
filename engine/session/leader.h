/*
 * leader.h - a worker's threads (host/group.h) that stay and carry out one job after the other, and their context of
 * the kernels.
 *
 * One thread calls it at a time and waits for each job. Between jobs the threads sleep.
 */
#ifndef MR_SESSION_LEADER_H
#define MR_SESSION_LEADER_H

#include "host/place.h"
#include "nn/kernels.h"

typedef struct mr_leader mr_leader;

/** Start the threads of @w, with a context of @k, which is borrowed. Errors: MR_ERESOURCE, those of the context. */
mr_status mr_leader_start(const mr_place_worker *w, const mr_kernels *k, mr_leader **out) MR_MUST_USE;
/** The context, for calls by the leader's jobs. */
mr_kctx *mr_leader_context(const mr_leader *l);
/** Let the leader call @job(@arg). Errors: the job's, with its message. */
mr_status mr_leader_run(mr_leader *l, mr_status (*job)(void *arg), void *arg) MR_MUST_USE;
void mr_leader_stop(mr_leader *l); /* accepts NULL */

#endif
