/*
 * partition.h - cuts a model into stages.
 *
 * A partition is a pure function of the configuration: the cut decides how stale a weight gets in an
 * asynchronous pipeline, so timings of this machine, which are never twice the same, must not decide it. The
 * automatic partition therefore balances a static cost of each node and not a measured one.
 *
 * Stages begin at nodes with a single live value (mr_graph_is_narrow) as long as the model has enough such places,
 * since every further value that crosses is copied, kept and transferred. Otherwise any layer but the loss may begin
 * a stage, and the bytes that cross into a stage are then part of its cost.
 *
 * It is exact: among all ways to cut at these places it takes one with the smallest largest stage
 * cost, since the slowest stage sets the pace of a pipeline; among those the one with the smallest sum of squared stage
 * costs, which is the most even one; among those the one whose second stage begins earliest, then the third, and so on.
 * It compares costs as whole numbers, so rounding breaks no tie. If stages have different numbers of
 * workers, the cost of each counts as often as one worker carries it out.
 *
 * What a link between hosts carries beside the workers is a cost like that of a stage: no boundary over a link takes
 * longer than the slowest stage if that can be, and its square counts among those of the stages.
 */
#ifndef MR_PLANNER_PARTITION_H
#define MR_PLANNER_PARTITION_H

#include "planner/graph.h"

/* Nominal speeds of one core for the static cost: a typical f32 GEMM rate of a server core with AVX-512, and its memory
 * bandwidth. Only their ratio counts: a byte costs as much as 5 FLOPs. */
#define MR_PARTITION_FLOPS 100e9 /* floating-point operations a second */
#define MR_PARTITION_BYTES 20e9  /* bytes a second */

typedef struct mr_partition {
	uint16_t n_stages;
	uint32_t *first; /* [n_stages + 1]: stage s is the nodes [first[s], first[s + 1]); owned */
} mr_partition;

/** Free the contents that the functions below give @p; a zeroed partition is fine. */
void mr_partition_fini(mr_partition *p);

/**
 * Nominal seconds that one micro-batch of @samples samples takes at @node, forward, backward and update: the FLOPs of
 * F, I (if needed) and W at MR_PARTITION_FLOPS, plus bytes at MR_PARTITION_BYTES. Bytes, in the dtype of @k (nothing
 * else of @k counts): every input and output passes once in F and its gradient once in B; a weight is read by F and by
 * I if it multiplies, its gradient is written by W, and the update passes seven times over it (Adam: weight,
 * gradient and two moments in, three of them out), unless the owner of its storage does the update. Of a frozen layer
 * only what F and I go through counts, and before the first layer that trains what F does.
 */
double mr_partition_cost(const mr_graph *g, uint32_t node, int64_t samples, const mr_kernels *k);

/**
 * Cut @g into @n_stages stages for micro-batches of @samples samples. The cost of stage s counts @weight[s] times, 1 to
 * 255 (NULL: once each). The caller calls mr_partition_fini.
 * Errors: MR_ECONFIG with a message when the model cannot be cut into that many stages, or when that takes more than
 * MR_PARTITION_MOST_STEPS; MR_ERESOURCE.
 */
mr_status mr_partition_auto(const mr_graph *g, uint16_t n_stages, const uint32_t *weight, int64_t samples,
			    const mr_kernels *k, mr_partition *p) MR_MUST_USE;

/**
 * The same over links: what crosses into stage s, and the gradients that leave it there, take @byte_s[s] seconds a byte
 * of MR_PARTITION_FLOPS; 0: the stage before is at hand.
 */
mr_status mr_partition_over_links(const mr_graph *g, uint16_t n_stages, const uint32_t *weight, const double *byte_s,
				  int64_t samples, const mr_kernels *k, mr_partition *p) MR_MUST_USE;

/* The most steps that a search for a cut may take, here and in replica_partition.h: some ten seconds. They are
 * counted or computed, not timed: whether a cut is found depends on no machine. */
#define MR_PARTITION_MOST_STEPS 4e9

/* The largest sum of all costs of mr_partition_solve: squares of sums then fit 64 bits. */
#define MR_PARTITION_MAX_COST ((uint64_t)1 << 31)

/**
 * The algorithm of mr_partition_auto on plain numbers. Element i costs @cost[i]; a stage may begin at the @n_points
 * elements @points, ascending, the first of them 0, and costs @enter[i] more if it begins at point i (NULL: 0). Stage s
 * counts @weight[s] times (NULL: once each). A link into stage s that begins at point i costs @across[s * n_points + i]
 * beside the stages (NULL: 0). The limit above includes these factors, every @enter and for each stage its largest
 * @across. Fills @first[0 .. @n_stages], @n_stages <= @n_points.
 * Time: n_stages * n_points^2 at worst, n_points^2 where costs are even.
 * Errors: MR_ECONFIG it takes more than MR_PARTITION_MOST_STEPS; MR_ERESOURCE.
 */
mr_status mr_partition_solve(const uint64_t *cost, uint32_t n, const uint32_t *points, const uint64_t *enter,
			     const uint64_t *across, uint32_t n_points, uint16_t n_stages, const uint32_t *weight,
			     uint32_t *first) MR_MUST_USE;

/**
 * The cut that the user names: each of @names is the begin of the second or a later stage, a layer ("h.1.ln_1"), a
 * block ("h.1": its first layer) or a layer's number ("7"), in the model's order; so there are n_names + 1 stages.
 * Errors: MR_ECONFIG with a message: an unknown name (with the nearest known one), the wrong order, or the loss;
 * MR_ERESOURCE.
 */
mr_status mr_partition_explicit(const mr_graph *g, const char *const *names, uint32_t n_names,
				mr_partition *p) MR_MUST_USE;

/** Layers of @kind (a name in layers.def) in @g. */
uint32_t mr_partition_count(const mr_graph *g, const char *kind);

/** The cut in which each layer of @kind is a stage by itself, and all layers between two of them are one. Errors:
 * MR_ECONFIG a stage would be empty; MR_ERESOURCE. */
mr_status mr_partition_around(const mr_graph *g, const char *kind, mr_partition *p) MR_MUST_USE;

/** The stage that holds @node. */
uint16_t mr_partition_stage(const mr_partition *p, uint32_t node);

#endif
