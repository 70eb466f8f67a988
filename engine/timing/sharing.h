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

/** When each node of @g, whose W nobody steals, begins and ends: as mr_unroll_times, with @sharing. @use: [1]. Errors:
 * MR_ECONFIG the plan cannot finish; MR_ERESOURCE. */
mr_status mr_unroll_times_shared(const mr_unroll *g, const mr_cost *cost, const mr_sharing *sharing, double *begin,
				 double *end, mr_shared_use *use) MR_MUST_USE;

#endif
