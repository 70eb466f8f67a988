/*
 * watchdog.h - detects that a run makes no progress, and reports what each worker waits for and which thread hangs.
 *
 * Progress = any worker finished an instruction; host/stall.h has the limits. Most threads of a stalled run are
 * victims: they wait for another thread. Following what each waits for leads to the thread that does not wait, which is
 * the one to examine.
 */
#ifndef MR_THREADS_WATCHDOG_H
#define MR_THREADS_WATCHDOG_H

#include "exec/run.h"
#include "host/stall.h"

typedef struct mr_watchdog {
	mr_stall stall;
	char stands[16]; /* once stalled: the name of the thread that hangs, "" when all wait for each other */
} mr_watchdog;

/** @seconds: as mr_stall_init. */
void mr_watchdog_init(mr_watchdog *d, double seconds);

/** MR_ESTALLED with a line per worker after the limit without progress; d->stands is then set. */
mr_status mr_watchdog_look(mr_watchdog *d, mr_run *run) MR_MUST_USE;

/** The same at once, of all ranks' workers as far as rank 0 has heard of them. */
mr_status mr_watchdog_stalled(mr_watchdog *d, const mr_run *run);

/** A rank is lost, as this thread's error text says: MR_ESTALLED with what the workers known here do behind it. */
mr_status mr_watchdog_lost(const mr_run *run);

/** Log the stacks of the threads called @name as warnings, frame by frame. */
void mr_watchdog_show(const char *name);

#endif
