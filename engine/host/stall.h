/*
 * stall.h - when work that counts its own progress counts as stalled.
 *
 * Looked at about ten times a second by a thread that does not take part. Its own heartbeat is taken into account: when
 * the whole process was stopped (SIGSTOP, suspend), the missing time does not count.
 *
 * The automatic limit is MR_STALL_TIMES the longest operation so far, at least MR_STALL_LEAST_NS; before anything has
 * been done, when nothing is known of how long things take here, six times the least.
 */
#ifndef MR_HOST_STALL_H
#define MR_HOST_STALL_H

#include <stdbool.h>
#include <stdint.h>

#define MR_STALL_LEAST_NS 10000000000u
#define MR_STALL_TIMES 20u

typedef struct mr_stall {
	uint64_t limit_ns;   /* 0: never; UINT64_MAX: automatic */
	uint64_t idle_ns;    /* without progress, as far as we were running */
	uint64_t seen_ns;    /* last look */
	uint64_t beats;      /* at the last progress */
	uint64_t longest_ns; /* the longest time without progress that came to an end */
	bool moved;          /* there was progress */
} mr_stall;

/** Give up after @seconds without progress; 0: never; below 0: the automatic limit. */
void mr_stall_init(mr_stall *s, double seconds);

/** The work begins, or goes on after a pause: what is known of it stays. */
void mr_stall_go_on(mr_stall *s);

/**
 * @beats changes whenever something has been done; @longest_ns is the longest operation so far, where the caller
 * measures it, else 0. True: nothing has been done for the limit.
 */
bool mr_stall_look(mr_stall *s, uint64_t beats, uint64_t longest_ns);

#endif
