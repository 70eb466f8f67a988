/*
 * team_delay.h - the scheduling delay of a worker's threads, read now and then between its work.
 *
 * A look costs a system call a thread, so it is due once in MR_TEAM_DELAY_EVERY_NS for each thread of the team: a
 * thousandth of the time. It shows what happened since the look before. Of the team the largest delay counts, since
 * the others wait for the last thread at the end of each parallel region.
 */
#ifndef MR_HOST_TEAM_DELAY_H
#define MR_HOST_TEAM_DELAY_H

#include "host/sched_delay.h"

#define MR_TEAM_DELAY_EVERY_NS 1000000u /* between looks, a thread */
/* An operation or wait that took this long is worth a look: the kernel seldom takes a core for less. */
#define MR_TEAM_DELAY_LONG_NS 500000u

/* Used by the leader alone. All zeros: never opened, and never due. */
typedef struct mr_team_delay {
	uint32_t n;              /* threads whose delay is known; 0: this kernel does not count it */
	mr_sched_delay *of;      /* [n] the leader's first */
	uint64_t *seen_ns;       /* [n] at the last look */
	uint64_t due_ns;         /* time of the next look */
} mr_team_delay;

/* Delay since the look before, in nanoseconds. */
typedef struct mr_team_delayed {
	uint64_t leader_ns, most_ns; /* of the leader; of the thread that was delayed most */
} mr_team_delayed;

/**
 * Open the counters of the calling thread and of its OpenMP team of @n_threads. If one cannot be opened, none is, and
 * d->n is 0. Thread: the leader, after mr_thread_setup.
 */
void mr_team_delay_open(mr_team_delay *d, uint32_t n_threads);
void mr_team_delay_close(mr_team_delay *d);

/** Is a look worth its cost at @now, after work or a wait that took @took_ns? */
static inline bool mr_team_delay_due(const mr_team_delay *d, uint64_t now, uint64_t took_ns)
{
	return (now >= d->due_ns || took_ns >= MR_TEAM_DELAY_LONG_NS) && d->n;
}

/** The delay since the last look (or the opening). @now: the present time. */
mr_team_delayed mr_team_delay_look(mr_team_delay *d, uint64_t now);

#endif
