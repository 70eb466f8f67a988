/*
 * watchdog.h - notices that a run makes no progress, and says which worker waits for what and which thread stands.
 *
 * Progress = any worker finished an instruction; host/stall.h has the limits. Most threads of a run that stands are
 * victims: they wait for another. Following what each waits for leads to the one that does not wait: that is the one to
 * look at.
 */
#ifndef MR_EXEC_WATCHDOG_H
#define MR_EXEC_WATCHDOG_H

#include "exec/run.h"
#include "host/stall.h"

typedef struct mr_watchdog {
	mr_stall stall;
	char stands[16]; /* once stalled: the name of the thread that stands, "" when all wait for each other */
} mr_watchdog;

/** @seconds: as mr_stall_init. */
void mr_watchdog_init(mr_watchdog *d, double seconds);

/** MR_ESTALLED with a line per worker once nothing has moved for the limit; d->stands is set then. */
mr_status mr_watchdog_look(mr_watchdog *d, mr_run *run) MR_MUST_USE;

/** Warn in the log where the threads called @name stand, frame by frame. */
void mr_watchdog_show(const char *name);

#endif
