/*
 * group.h - a worker's threads: one leader (a pthread) and its OpenMP team, each pinned to one CPU.
 *
 * oneDNN opens teams only outside parallel regions, and libgomp keeps a pool per pthread: so a worker is a pthread
 * that opens its own teams. Its leader is given the worker's whole CPU set first (the team inherits it), then one
 * parallel region pins each member to its own CPU, sets flush-to-zero and denormals-are-zero, and a second one reads
 * back what the kernel and the CPU say. The pins persist because the pool keeps its threads; so no code may change the
 * team's size afterwards. A group of one thread never enters the OpenMP runtime's team code (omp_set_num_threads(1)
 * keeps libraries out of it too).
 *
 * The set-up is one function for all: mr_thread_setup runs in leaders and in the thread of a single-thread
 * replay, so that rounding, denormals and kernel choice are the same. OMP_PROC_BIND and friends break the pins: see
 * env.h.
 *
 * A pin that fails is a warning with its reason in mr_thread_report, never an error.
 */
#ifndef MR_HOST_GROUP_H
#define MR_HOST_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "host/memory.h"
#include "host/place.h"

/* Result of a thread's set-up. */
typedef struct mr_thread_report {
	uint32_t n_threads; /* members the team really has, leader included */
	uint32_t n_pinned;  /* members that sched_getaffinity shows on their own CPU alone */
	uint32_t n_ftz;     /* members whose FTZ and DAZ bits are set */
	char text[200];     /* the first thing that failed, with its reason; "" = nothing failed */
} mr_thread_report;

typedef struct mr_group mr_group;

/**
 * Set up the calling thread as the leader of @w: pins (if w->bindable), team of w->n_threads, FTZ/DAZ in every member,
 * omp_set_dynamic(0). May be called again. Never fails; *@report has what did not succeed.
 */
void mr_thread_setup(const mr_place_worker *w, mr_thread_report *report);

/**
 * Start a leader named @name (such as "mr-w0", at most 15 characters) with all signals but MR_BACKTRACE_SIGNAL blocked,
 * set it up for @w, then run
 * @fn(@arg) on it. Returns after the set-up, so the report is there. *@w is not used afterwards.
 * Errors: MR_ERESOURCE the thread could not be started. Give back with mr_group_join.
 */
mr_status mr_group_start(const mr_place_worker *w, const char *name, void (*fn)(void *arg), void *arg,
			 mr_group **group) MR_MUST_USE;

/** The result of the leader's set-up. Valid until the join. */
const mr_thread_report *mr_group_report(const mr_group *group);

/**
 * Log a warning if a real machine refused a part of the set-up: such a run is slower, not wrong, so it goes on. Call it
 * before the join.
 */
void mr_group_warn(const mr_group *group);

/** On a leader, outside parallel regions: @fn(@arg, i) for all i below @n by its team, each in the same thread whenever
 * @n is the same. */
void mr_team_each(uint64_t n, void (*fn)(void *arg, uint64_t i), void *arg);

/** On a leader: mr_region_prefault of all of @r by its team, of which each member touches one part. */
void mr_team_prefault(const mr_region *r);

/** Wait for @fn to return and free the group. NULL is fine. */
void mr_group_join(mr_group *group);

/** Whether the calling thread flushes denormals (FTZ and DAZ both set); true where the CPU has no such bits. */
bool mr_thread_flushes_denormals(void);

#endif
