/*
 * clock.h - the time of this process, in nanoseconds.
 *
 * CLOCK_MONOTONIC through the vDSO: about 20 ns a call, no system call, never steps back, does not run during
 * suspend. All times in traces, watchdogs and benchmarks come from here, so that they can be subtracted.
 */
#ifndef MR_HOST_CLOCK_H
#define MR_HOST_CLOCK_H

#include <stdint.h>

/** Nanoseconds since an arbitrary start that is the same for all threads. Thread: any. */
uint64_t mr_clock_ns(void);

/** The same in seconds: the clock of systems whose search for a plan has a time limit (ir/sched.h). */
double mr_clock_s(void);

/**
 * Sleep at least @ns nanoseconds; signals do not shorten it. For tests, probes and the watchdog, never on the step
 * path.
 */
void mr_clock_sleep(uint64_t ns);

#endif
