/*
 * level_partition.h - PipeDream's hierarchical partition: workers in groups, groups in groups, each level with its own
 * bandwidth.
 *
 * Level k joins n_k parts of the level below, at level 0 workers, by links of bandwidth B_k. With T, W the sums of
 * times and weights over layers i to j, and a the output of a layer (Narayanan et al., SOSP'19, section 3.1):
 *
 *	A_0(i, j)    = T
 *	R_k(i, j, m) = max(A_(k-1)(i, j, n_(k-1)), sync) / m, all layers on m parts that share the micro-batches
 *	A_k(i, j, m) = the least of R_k(i, j, m) and, over all s and m',
 *	               max(A_k(i, s, m - m'), 2 a_s / B_k, R_k(s+1, j, m'))
 *
 * with sync = 2 (m - 1) W / B_k, or 4 (m - 1) / m W / B_k by the rule of 2018. The answer is A_L(0, last, n_L). So each
 * stage of a level is cut alike on all its parts: 15 workers of 4 groups of 4 cannot share a stage, where
 * replica_partition.h, whose stages take workers in order, may let them. Of cuts that are equally fast the one with the
 * fewest stages at the highest level is taken, then the latest cut. Time: layers^3 n_k^2 a level.
 */
#ifndef MR_PLANNER_LEVEL_PARTITION_H
#define MR_PLANNER_LEVEL_PARTITION_H

#include "planner/replica_partition.h"

enum { MR_LEVELS_MOST = 4 };

typedef struct mr_level {
	uint32_t parts;
	double bandwidth; /* bytes per unit of time; 0: transfers take no time */
} mr_level;

typedef struct mr_level_problem {
	const mr_layer_row *layer; /* [n_layers] */
	uint32_t n_layers;
	mr_level level[MR_LEVELS_MOST]; /* the lowest first */
	uint32_t n_levels;
	mr_sync_rule sync;
} mr_level_problem;

/* A stage of one level: layers on `parts` parts of the level below; what each part does with them follows it. */
typedef struct mr_level_stage {
	uint32_t first, end; /* layers [first, end) */
	uint32_t level;      /* from 0 */
	uint32_t parts;
	double time;         /* R */
	double boundary;     /* into this stage; 0 for the first of its part */
} mr_level_stage;

typedef struct mr_level_partition {
	mr_level_stage *stage; /* [n_stages] a stage of the highest level, then those of one of its parts; owned */
	uint32_t n_stages;
	double bottleneck;     /* A of all */
} mr_level_partition;

/** Solve @p. The caller calls fini. Errors: MR_ECONFIG more than MR_PARTITION_MOST_STEPS (partition.h);
 * MR_ERESOURCE. */
mr_status mr_level_partition_solve(const mr_level_problem *p, mr_level_partition *out) MR_MUST_USE;

/** All layers on all workers, which share the micro-batches: the time of data parallel training by the same rule. */
double mr_level_partition_shared(const mr_level_problem *p);

void mr_level_partition_fini(mr_level_partition *c);

#endif
