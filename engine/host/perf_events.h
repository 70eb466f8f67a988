/*
 * perf_events.h - the kernel's and the processor's counters for the threads of a worker (perf_event_open(2)).
 *
 * Each event is optional: a virtual machine has no cycles, a plain user may not see the kernel's side. What cannot be
 * counted on all threads of a team is NAN, never 0, and one sentence says why. If the processor has fewer registers
 * than events, the kernel takes turns, and counts are scaled to the whole time.
 *
 * A reading is a system call for each thread and group of events, about half a microsecond.
 */
#ifndef MR_HOST_PERF_EVENTS_H
#define MR_HOST_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mr_perf_event {
#define MR_PERF_EVENT(member, name, type, config, group) MR_PERF_##member,
#include "host/perf_events.def"
#undef MR_PERF_EVENT
	MR_N_PERF_EVENTS
} mr_perf_event;

/* Counts; NAN where one is unknown. The task clock is nanoseconds. */
typedef struct mr_perf_counts {
	double at[MR_N_PERF_EVENTS];
} mr_perf_counts;

/* Where events come from. Tests fill it with their own. Numbers of events are file descriptors. */
typedef struct mr_perf_source {
	/* Begin to count @event for the calling thread, in the group of event @leader (-1: its own); a negative errno
	 * when that cannot be. */
	int (*open)(mr_perf_event event, int leader);
	/* Read @n events of the group of @leader as { n, time enabled, time running, count... }; false: unreadable. */
	bool (*read)(int leader, uint64_t *to, uint32_t n);
	void (*close)(int event);
} mr_perf_source;

/* The kernel's. */
extern const mr_perf_source mr_perf_kernel;

/* The events of a team. All zeros: none is open. */
typedef struct mr_perf_events {
	const mr_perf_source *source;
	uint32_t n_threads;
	int (*fd)[MR_N_PERF_EVENTS]; /* [n_threads] < 0: not counted */
	bool known[MR_N_PERF_EVENTS]; /* on all threads */
	int error[MR_N_PERF_EVENTS]; /* errno of an event that is not known */
} mr_perf_events;

/** Open the events of the calling thread and of its OpenMP team of @n_threads; @source: usually &mr_perf_kernel.
 * Thread: the leader, after mr_thread_setup. */
void mr_perf_events_open(mr_perf_events *e, const mr_perf_source *source, uint32_t n_threads);
void mr_perf_events_close(mr_perf_events *e);

/** The counts of all threads together, since the opening. Thread: any. */
void mr_perf_events_read(const mr_perf_events *e, mr_perf_counts *out);

/** Add @after - @before to @sum. */
void mr_perf_counts_add(mr_perf_counts *sum, const mr_perf_counts *before, const mr_perf_counts *after);

/** "cycles". */
const char *mr_perf_event_name(mr_perf_event event);

/** One sentence about the events that @e has not, and why, without a final newline; "" when it has all. Returns @text.
 */
char *mr_perf_events_missing(const mr_perf_events *e, char *text, uint32_t size);

#endif
