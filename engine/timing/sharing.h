/*
 * sharing.h - workers that share the memory of their nodes, the links between nodes, and those between hosts (hosts.h).
 *
 * An instruction takes the time of the cost table where it has node and link to itself. While it runs it takes bytes at
 * an even rate. Where the instructions that run on a node take more bytes a second from its memory, or over its link,
 * than there are, all that take any there slow down in proportion, until one begins or ends: rates are solved anew at
 * each begin and end, so workers in different phases overlap as they would.
 *
 * Bytes are tables like those of times: an instruction takes of a resource what mr_instr_cost says of its table.
 */
#ifndef MR_TIMING_SHARING_H
#define MR_TIMING_SHARING_H

#include "ir/cost.h"
#include "ir/unroll.h"
#include "timing/hosts.h"
#include "timing/unroll_time.h"

typedef struct mr_sharing {
	const uint16_t *node;            /* [n_workers], borrowed */
	uint16_t n_nodes;
	mr_cost memory, link;            /* bytes in place of times; c does not count */
	double memory_rate, link_rate;   /* bytes per unit of time of each node; 0: without limit */
	const mr_hosts *hosts;           /* over which the workers are spread; NULL: there is one. Borrowed */
} mr_sharing;

/* What sharing did to a run. */
typedef struct mr_shared_use {
	double memory, link; /* most of the rate that was in use at any time, 0 to 1 */
	double slowed;       /* the part of the instructions' time that sharing added */
} mr_shared_use;

/** Does any instruction take bytes? */
bool mr_sharing_has_bytes(const mr_sharing *sharing);

/* What is simulated. All are borrowed. */
typedef struct mr_shared_times_of {
	const mr_unroll *g; /* whose W nobody steals */
	const mr_cost *cost;
	const mr_time_hooks *hooks; /* finish and handoff count; NULL: none */
	const mr_sharing *sharing;
} mr_shared_times_of;

/* When nodes begin and end with sharing, found event by event. */
typedef struct mr_shared_times mr_shared_times;

/** Nothing has begun. @begin, @end [n_all]: times, filled as they become known; @binding [n_all]: the source that each
 * node waited for last, MR_NO_NODE when it begins at 0; a list predecessor wins a tie. Errors: MR_ERESOURCE. */
mr_status mr_shared_times_create(const mr_shared_times_of *of, double *begin, double *end, uint32_t *binding,
				 mr_shared_times **out) MR_MUST_USE;
void mr_shared_times_destroy(mr_shared_times *s);

/** Go on until all has ended, or just before an instruction of iteration @until or a later one ends. Errors:
 * MR_ECONFIG the plan cannot finish. */
mr_status mr_shared_times_play(mr_shared_times *s, uint32_t until) MR_MUST_USE;

/** The first node of @worker that has not begun, or not ended. */
uint32_t mr_shared_times_begun(const mr_shared_times *s, uint16_t worker);
uint32_t mr_shared_times_ended(const mr_shared_times *s, uint16_t worker);

/** Iteration n + @by of the graph becomes iteration n. What has not ended, and what may wait for it, lies where all
 * iterations are alike, before and after. The caller moves `begin` and `end`. */
void mr_shared_times_move(mr_shared_times *s, uint32_t by);

/** What sharing did until now. */
mr_shared_use mr_shared_times_use(const mr_shared_times *s);

#endif
