/*
 * watchdog.h - notices that a run makes no progress, and says who waits for what.
 *
 * Looked at by the steering thread about ten times a second. Progress = any worker finished an instruction. Its own heartbeat
 * is taken into account: when the whole process was stopped (SIGSTOP, suspend), the missing time does not count.
 */
#ifndef MR_EXEC_WATCHDOG_H
#define MR_EXEC_WATCHDOG_H

#include "exec/run.h"

typedef struct mr_watchdog {
	uint64_t limit_ns;  /* 0: never */
	uint64_t idle_ns;   /* without progress, as far as we were running */
	uint64_t seen_ns;   /* last look */
	uint64_t beats;     /* sum over the workers at the last progress */
} mr_watchdog;

void mr_watchdog_init(mr_watchdog *d, double seconds);

/** MR_ESTALLED with a line per worker once nothing has moved for the limit. */
mr_status mr_watchdog_look(mr_watchdog *d, mr_run *run) MR_MUST_USE;

#endif
