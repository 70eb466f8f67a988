/*
 * suffix_cuts.h - the best few ways to cut a model into stages on the workers of a machine, for a planner that tries
 * each of them.
 *
 * Stages take workers 0, 1, ... in order, one or several each, which lie on the nodes where the machine places them. A
 * stage is a run of places (mr_graph_is_narrow) with its replicas; the caller gives the Pareto front of its time and
 * memory, such as with and without recomputation, for the workers that it would get. A dynamic programme over (first
 * place, workers left) from the end: the number left determines the number in flight, the nodes that are left and which
 * boundary crosses nodes, so the memory of a stage is exact.
 *
 * The time of a cut is that of its slowest stage, and only bounds the period of a plan; its memory is that of all
 * workers. So each state keeps up to MR_CUTS: the MR_CUTS / 2 fastest, by the slowest stage and then by the sum of
 * squares of stage times, and beside them those with less memory than all that are faster, the smallest among them.
 */
#ifndef MR_PLANNER_SUFFIX_CUTS_H
#define MR_PLANNER_SUFFIX_CUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define MR_CUTS 8u
#define MR_CUT_OPTIONS 4u

/* A stage that the caller is asked about: places [first, end) on workers [worker, worker + replicas). */
typedef struct mr_cut_stage {
	uint32_t first, end, worker, replicas;
	uint32_t left; /* workers from its first to the last one */
} mr_cut_stage;

/* A way to carry it out. */
typedef struct mr_cut_option {
	double time;    /* of a step */
	double bytes;   /* of each of its workers; more than a worker has is no option */
	bool recompute;
} mr_cut_option;

typedef struct mr_cut_question {
	uint32_t n_places, n_workers;
	uint32_t most_replicas; /* 1: a worker a stage */
	/* Fill @out with at most MR_CUT_OPTIONS ways, of which none is worse in both; returns their number, 0: it
	 * cannot be. More places take no less time and memory. */
	uint32_t (*options)(void *arg, const mr_cut_stage *stage, mr_cut_option *out);
	void *arg;
} mr_cut_question;

typedef struct mr_cut_part {
	uint32_t first; /* its first place */
	uint32_t replicas;
	mr_cut_option option;
} mr_cut_part;

typedef struct mr_cut {
	mr_cut_part *part; /* [n_parts]; owned */
	uint32_t n_parts;
	double time, bytes;
} mr_cut;

typedef struct mr_cuts {
	mr_cut cut[MR_CUTS]; /* [n] by time */
	uint32_t n;
} mr_cuts;

/** Find the cuts that use all workers and have places for each stage; none: @out->n is 0. The caller calls fini, also
 * after an error. Errors: MR_ERESOURCE. */
mr_status mr_suffix_cuts(const mr_cut_question *q, mr_cuts *out) MR_MUST_USE;
void mr_cuts_fini(mr_cuts *c);

#endif
