/*
 * sim.h - carries out a plan in virtual time: the walk (timing/walk.h) on a machine that is not perfect.
 *
 * Instructions take the times of the cost table, changed by:
 *   jitter      each instruction's time is multiplied by a random factor of mean 1, drawn for (micro-batch, stage,
 *               pipe, op) and not for its place in an order: two systems, two cuts of a run and two runs with one seed
 *               meet the same factors
 *   stragglers  a worker computes slower by a factor, for the whole run or in an interval of virtual time. Work that is
 *               under way when the interval begins or ends is slowed for its part inside
 *   links       a transfer between workers on different nodes takes longer than one inside a node
 * Without any of them a simulation is the walk, to the last bit: there is one function that computes times.
 *
 * W that any worker may take (ir/plan.h, "Stealing") are taken by the same rule as in the engine: a worker in its tail
 * that would have to wait takes the next W of the worker that has most of them left. The result is a walk of the
 * plan that has them where they were carried out (walk->plan). Its period is the distance of the steps of a longer run
 * with stealing and with its barrier.
 *
 * The result is a mr_walk: figures as walk.h defines them, and the times of every instruction. timing/walk_trace.h
 * makes trace records of it, timing/metrics.h figures. A simulation without an end, event by event, is stream.h.
 */
#ifndef MR_TIMING_SIM_H
#define MR_TIMING_SIM_H

#include "ir/cost.h"
#include "ir/plan.h"
#include "ir/steal.h"
#include "timing/walk.h"

typedef enum mr_jitter {
	MR_JITTER_NONE,
	MR_JITTER_LOGNORMAL, /* exp(a z - a^2/2), z standard normal: about a of spread, never 0, rare long delays */
	MR_JITTER_UNIFORM,   /* 1 - a to 1 + a */
} mr_jitter;

typedef struct mr_straggler {
	uint16_t worker;
	double factor;   /* > 0: times as long; below 1 it is a fast worker. Several on one worker multiply */
	double from, to; /* in virtual time; 0 and INFINITY: always */
} mr_straggler;

typedef struct mr_sim_params {
	uint32_t n_bodies;             /* iterations of the body */
	mr_jitter jitter;
	double amount;                 /* a; MR_JITTER_UNIFORM: at most 1 */
	uint64_t seed;
	const mr_straggler *straggler; /* [n_stragglers], borrowed */
	uint32_t n_stragglers;
	const uint16_t *node;          /* [n_workers] node of each worker, borrowed; NULL: all on one */
	double far;                    /* hand-over between nodes, in place of the table's c */
	bool unlimited;                /* boundary buffers without limit */
	bool no_period;                /* leave out the period: it takes several further iterations */
	uint32_t window;               /* streams: instructions unrolled at once; 0: a suitable number */
} mr_sim_params;

/**
 * Simulate prologue, n_bodies bodies and epilogue of @plan with the costs of its stages. @out is owned by the caller
 * and borrows @plan. A million instructions take a fraction of a second.
 * Errors: MR_EINVAL a parameter that makes no sense, with a message; otherwise those of mr_plan_walk.
 */
mr_status mr_sim_run(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, mr_walk **out) MR_MUST_USE;

/**
 * Find which worker takes which W in @params->n_bodies iterations of @plan, which is lowered and whose contract has
 * steal: [*@n] moves in *@out for mr_steal_plan; the caller frees them. Errors: those of mr_sim_run.
 */
mr_status mr_sim_steals(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, mr_steal **out,
			size_t *n) MR_MUST_USE;

/** Put @n_workers on @n_nodes in equal runs, workers 0, 1, ... on node 0: fills @node [n_workers]. */
void mr_sim_spread(uint16_t n_workers, uint16_t n_nodes, uint16_t *node);
/** Are there two workers on different nodes? */
bool mr_sim_are_apart(const uint16_t *node, uint16_t n_workers);

#endif
