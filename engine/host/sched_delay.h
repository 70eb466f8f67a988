/*
 * sched_delay.h - the time for which a thread was ready to run while other threads had its core.
 *
 * The kernel counts it for each thread (CONFIG_SCHED_INFO; the second number of /proc/thread-self/schedstat, "run
 * delay"): from the moment a thread becomes runnable, or is preempted, to the moment it runs. Sleep does not count, the
 * delay of a wake-up does. The value of a running thread is complete; that of a thread that waits for its
 * core lags until it runs again. Time that the host of a virtual machine takes is not in it.
 *
 * A reading is one system call, about a microsecond: for intervals of a millisecond and more.
 */
#ifndef MR_HOST_SCHED_DELAY_H
#define MR_HOST_SCHED_DELAY_H

#include <stdbool.h>
#include <stdint.h>

/* One thread's counter. All zeros: never opened; reads 0. */
typedef struct mr_sched_delay {
	int fd_plus_1; /* of the thread's schedstat; 0: none */
} mr_sched_delay;

/**
 * Open the counter of the calling thread; @path NULL, or another file of the same form. False: this kernel does not
 * count it, or the process has no file descriptor left; then readings are 0. Any thread may read it until
 * mr_sched_delay_close.
 */
bool mr_sched_delay_open(mr_sched_delay *d, const char *path);
void mr_sched_delay_close(mr_sched_delay *d);

/** Whether the counter was opened. */
bool mr_sched_delay_known(const mr_sched_delay *d);

/** Nanoseconds of delay since the thread began; only differences of it mean anything. Thread: any; allocates nothing.
 */
uint64_t mr_sched_delay_ns(const mr_sched_delay *d);

#endif
