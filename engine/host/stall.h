/*
 * stall.h - decides when work that counts its own progress has stalled.
 *
 * A thread that does not take part in the work looks about ten times a second. Its own heartbeat is taken into account:
 * when the whole process was stopped (SIGSTOP, suspend), the missing time does not count.
 *
 * The automatic limit is MR_STALL_TIMES the longest operation so far, at least MR_STALL_LEAST_NS; before the first
 * progress, when the durations of operations are unknown, it is six times MR_STALL_LEAST_NS.
 */
#ifndef MR_HOST_STALL_H
#define MR_HOST_STALL_H

#include <stdbool.h>
#include <stdint.h>

#define MR_STALL_LEAST_NS 10000000000u
#define MR_STALL_TIMES 20u

typedef struct mr_stall {
	uint64_t limit_ns;   /* 0: never; UINT64_MAX: automatic */
	uint64_t idle_ns;    /* time without progress while this process was running */
	uint64_t seen_ns;    /* time of the last look */
	uint64_t beats;      /* at the last progress */
	uint64_t longest_ns; /* the longest time without progress so far that ended with progress */
	bool moved;          /* there was progress */
} mr_stall;

/** Give up after @seconds without progress; 0: never; below 0: the automatic limit. */
void mr_stall_init(mr_stall *s, double seconds);

/** The work begins, or continues after a pause; the longest times so far are kept. */
void mr_stall_go_on(mr_stall *s);

/**
 * @beats changes whenever the work progresses; @longest_ns is the longest operation so far if the caller measures it,
 * else 0. True: there was no progress for the limit.
 */
bool mr_stall_look(mr_stall *s, uint64_t beats, uint64_t longest_ns);

#endif
