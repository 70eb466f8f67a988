/*
 * replica_partition.h - cuts layers into stages and gives each stage workers, so that the slowest stage or boundary is
 * as fast as possible: the partitioning problem of PipeDream, for workers that lie on NUMA nodes and have a memory.
 *
 * Stages take workers 0, 1, ... in order. With T, W, A the sums of times, weights and saved bytes over the layers of a
 * stage of r workers, and m workers from its first one to the end:
 *
 *	time      max(T, sync) / r, where replicas exchange gradients: sync = 4 (r - 1) / r W / B (MR_SYNC_2018: Harlap
 *	          et al., arXiv:1806.03377) or 2 (r - 1) W / B (MR_SYNC_2019: Narayanan et al., SOSP'19)
 *	boundary  2 a / B for the output a of the layer before it: the activation and its gradient
 *	in flight f = ceil(m / r) micro-batches a worker
 *	memory    (v + 1 + state) W + f A of each worker: v versions of the weights, their gradient, the optimizer's
 *	          state; v is f, min(f, 2) or 1. Recomputed: f a + A for the last two, and the forward pass twice
 *
 * B is the bandwidth within a node, or between nodes where the replicas, or the two workers at a boundary, do not lie
 * on one.
 *
 * A dynamic programme over (first layer, workers left) from the end: that pair fixes the number in flight and the
 * nodes, so the memory of a stage is exact. All workers are used. Among the cuts with the smallest bottleneck the one
 * with the smallest sum of squared stage times is taken, then that of the fewest stages, then the earliest cuts, then
 * the fewest replicas first. Time: layers^2 workers^2.
 */
#ifndef MR_PLANNER_REPLICA_PARTITION_H
#define MR_PLANNER_REPLICA_PARTITION_H

#include <stdbool.h>

#include "planner/layer_table.h"

typedef enum mr_sync_rule { MR_SYNC_2018, MR_SYNC_2019 } mr_sync_rule;

/* Versions of its weights that a stage keeps. */
typedef enum mr_kept { MR_KEPT_EACH, MR_KEPT_TWO, MR_KEPT_ONE } mr_kept;

typedef struct mr_replica_problem {
	const mr_layer_row *layer; /* [n_layers] */
	uint32_t n_layers, n_workers;
	uint32_t node_workers;     /* workers a node; 0: one node has all */
	double local, remote;      /* bytes per unit of time; 0: transfers take no time */
	mr_sync_rule sync;
	mr_kept kept;
	double state;              /* bytes of the optimizer's state for each byte of weights */
	double capacity;           /* bytes of a worker; 0: no limit */
	bool recompute;            /* all stages recompute their activations */
	bool straight;             /* one worker a stage */
} mr_replica_problem;

typedef struct mr_replica_stage {
	uint32_t first, end;   /* layers [first, end) */
	uint32_t worker, replicas, in_flight;
	double time, boundary; /* boundary: into this stage; 0 for the first */
	double bytes;          /* of each of its workers */
} mr_replica_stage;

typedef struct mr_replica_partition {
	mr_replica_stage *stage; /* [n_stages]; owned */
	uint32_t n_stages;
	double bottleneck;       /* the largest time or boundary */
} mr_replica_partition;

/**
 * Solve @p. *@found: whether some cut fits the capacity; @out is empty if none does. The caller calls fini. Errors:
 * MR_ECONFIG more than MR_PARTITION_MOST_STEPS (partition.h); MR_ERESOURCE no memory.
 */
mr_status mr_replica_partition_solve(const mr_replica_problem *p, mr_replica_partition *out, bool *found) MR_MUST_USE;

/** The smallest capacity with which @p has a solution: the least largest memory of a worker; infinite where no cut
 * uses all workers. Errors: MR_ECONFIG, MR_ERESOURCE, as above. */
mr_status mr_replica_partition_least(const mr_replica_problem *p, double *bytes) MR_MUST_USE;

/** Micro-batches under way that keep all workers busy: workers over those of the first stage, rounded up. */
uint32_t mr_replica_partition_in_flight(const mr_replica_problem *p, const mr_replica_partition *c);

void mr_replica_partition_fini(mr_replica_partition *c);

#endif
