/*
 * worker_levels.h - the levels of a hierarchical partition (level_partition.h) from where the workers of a machine are:
 * groups of one L3 domain, of one node, of one host.
 */
#ifndef MR_PLANNER_WORKER_LEVELS_H
#define MR_PLANNER_WORKER_LEVELS_H

#include "planner/level_partition.h"

enum { MR_WORKER_KINDS = 3 }; /* L3 domains, nodes, hosts */

typedef struct mr_worker_places {
	uint32_t n_workers;
	const uint32_t *domain[MR_WORKER_KINDS];       /* [n_workers] the lowest first: each lies in one of the next */
	double (*byte_s)(const void *arg, uint32_t from, uint32_t to); /* seconds a byte between two workers */
	const void *arg;
} mr_worker_places;

/**
 * Fill level and n_levels of @out: a level for each kind of domain of which several with equally many workers make up
 * one of the next kind, and one for the workers of the smallest; its bandwidth is that of the slowest link between
 * neighbours of two parts. A kind whose domains have different numbers of workers makes none, and one worker has one
 * level of one part.
 */
void mr_worker_levels(const mr_worker_places *p, mr_level_problem *out);

/* The stages of a hierarchical partition on workers, without groups. */
typedef struct mr_flat_stage {
	uint32_t first, end; /* layers [first, end) */
	uint32_t replicas;
} mr_flat_stage;

typedef struct mr_flat_partition {
	mr_flat_stage *stage; /* [n_stages] owned */
	uint32_t n_stages;
	uint32_t *worker;     /* [n_workers] those of stage 0, then those of stage 1 ...; owned */
	bool in_order;        /* these are 0, 1, 2 ... */
} mr_flat_partition;

/** @c, which solves @p. The caller calls fini, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_level_partition_flatten(const mr_level_problem *p, const mr_level_partition *c,
				     mr_flat_partition *out) MR_MUST_USE;
void mr_flat_partition_fini(mr_flat_partition *f);

#endif
