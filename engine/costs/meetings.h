/*
 * meetings.h - what shares of a worker on different ranks send each other (exec/shares.h): in time, and in bytes.
 *
 * At a meeting each share sends what the others need to every other rank that has shares of the worker, and goes on
 * when what they send has come: latency, and the bytes of all shares of its host through the port of that host, both
 * ways at once. Meetings of several workers of a host do not wait for each other here.
 */
#ifndef MR_COSTS_MEETINGS_H
#define MR_COSTS_MEETINGS_H

#include "costs/workload.h"
#include "ir/cost.h"

/** The shares of worker 0 that are on the rank of its first. */
uint32_t mr_meetings_together(const mr_workload *of);

/** Add the time of the meetings of @of to its stages: to passes forward, for inputs and for weights. Nothing where
 * shares are together. */
void mr_meetings_lengthen(const mr_workload *of, mr_stage_cost *stage);

/** Add what they send in a step from rank i to rank j to @out[i * ranks + j]. Norms are left out. */
void mr_meetings_of_step(const mr_workload *of, const mr_hosts *hosts, double *out);

#endif
