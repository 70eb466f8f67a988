/*
 * walk.h - the as-soon-as-possible walk of a plan in virtual time: the one answer to when instructions begin and end.
 *
 * Every worker begins its next instruction when the one before it has ended and everything that deps.h names has ended
 * (plus the hand-over time c of the producing stage where the edge crosses workers). F and R cost f, I costs i, W costs
 * w a micro-batch, g less for each but the first of those that it handles at once, B costs i + w, U costs u and the
 * flag MR_INSTR_UPDATE u - s; U and AR of several pipes each take their part of u and r, AVG its part of a, N takes n
 * and V takes v. Times are doubles in the unit of the cost table.
 *
 * A machine that is not perfect is a walk with options; without any of them the result is the same to the last bit:
 *   jitter      each instruction's time is multiplied by a random factor of mean 1, drawn for (micro-batch, stage,
 *               pipe, op) and not for its place in an order: two systems, two cuts of a run and two runs with one seed
 *               meet the same factors
 *   stragglers  a worker computes slower by a factor, for the whole run or in an interval of virtual time. Work that is
 *               under way when the interval begins or ends is slowed for its part inside
 *   nodes       a transfer between workers on different nodes takes longer than one inside a node
 *   sharing     workers share the memory of their nodes and the links between nodes (sharing.h)
 *   steals      W that any worker may take (ir/plan.h, "Stealing") are taken by the same rule as in the engine: a
 *               worker in its tail that would have to wait takes the next W of the worker that has most of them left.
 *               The result is a walk of the plan that has them where they were carried out (walk->plan); its period is
 *               the distance of the steps of a longer run with its barrier. Nothing is shared then
 * A walk without an end, event by event, is stream.h; walk_trace.h makes trace records of a walk, metrics.h figures.
 *
 * Figures, as the literature mixes them:
 *   makespan       first start to last end over all workers
 *   span           the longest worker's own last end - first start of F, R, B, I, W
 *   period         steady distance of iterations of the body run back to back; of a BARRIER plan as if every update
 *                  were local and waited for no other worker, but with its barrier where W may be stolen, which it
 *                  takes; 0 for a plan without a body, and of a BARRIER plan with sharing. With irregular times a mean
 *                  (period.h)
 *   bubble_flush   1 - sum of busy / (D makespan)
 *   bubble_span    1 - longest busy / span
 *   bubble_period  1 - longest busy of one iteration / period; 0 for a plan without a body
 * Peaks of activations count, by list order, what F took and B|W (until_W) or B|I (until_I) has not yet given back,
 * over all stages of the worker; a stage counts D/S (a chunk is 1/v of a worker's share). A micro-batch that is
 * recomputed counts while its F runs and from its R on; the boundary tensor it keeps in between is no saved activation
 * (it lies in a boundary buffer, of which the lowering counts as many as are in flight).
 */
#ifndef MR_TIMING_WALK_H
#define MR_TIMING_WALK_H

#include "ir/cost.h"
#include "ir/plan.h"
#include "ir/steal.h"
#include "ir/trace.h"
#include "timing/sharing.h"
#include "timing/unroll_time.h"

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

typedef struct mr_walk_opts {
	bool unlimited;  /* boundary buffers without limit, as the literature's simulators have them */
	bool no_barrier; /* BARRIER plans without what waits for other workers between iterations, as for the period */
	bool no_period;  /* leave out the period (it takes several further iterations) */
	bool steals;     /* workers take W from each other, where the plan allows it */
	mr_jitter jitter;
	double amount;                 /* a; MR_JITTER_UNIFORM: at most 1 */
	uint64_t seed;
	const mr_straggler *straggler; /* [n_stragglers], borrowed */
	uint32_t n_stragglers;
	const uint16_t *node;          /* [n_workers] node of each worker, borrowed; NULL: all on one */
	double far;                    /* hand-over between nodes, in place of the table's c */
	const mr_sharing *sharing;     /* borrowed; NULL: each worker has memory and links to itself */
	mr_shared_use *use;            /* what sharing did to the walk; NULL: not wanted */
	uint32_t window;               /* streams: instructions unrolled at once; 0: a suitable number */
} mr_walk_opts;

/* One instruction instance. */
typedef struct mr_walk_rec {
	const mr_instr *in; /* in the plan's lists */
	uint32_t n;         /* iteration */
	uint32_t rank;      /* place in one order of all instances in which everything comes after what it waits for */
	uint8_t cause;      /* mr_wait_cause of what it waited for last; MR_WAIT_NONE when it did not wait */
	double begin, end;
} mr_walk_rec;

typedef struct mr_walk {
	uint16_t n_workers;
	uint32_t n_bodies;
	mr_walk_rec *at; /* worker after worker, each in list order */
	size_t *first;   /* [n_workers + 1] where worker w begins in at */
	double makespan, span, period;
	double bubble_flush, bubble_span, bubble_period;
	double *busy;         /* [n_workers] over everything walked */
	double *peak_until_w; /* [n_workers] */
	double *peak_until_i; /* [n_workers] */
	mr_plan *plan;        /* where the lists that `at` points to are not those of the plan that was given: these;
	                         owned. Else NULL */
	size_t n_stolen;      /* then: W that were taken from another worker */
} mr_walk;

/**
 * Walk prologue, @n_bodies bodies and epilogue of @plan. An unlowered plan is walked with unlimited buffers and without
 * U.
 * @cost has plan->n_stages rows. @opts may be NULL (all false). @out is owned by the caller and borrows @plan. A
 * million instructions take a fraction of a second.
 * Errors: MR_EINVAL a cost table of another size, or an option that makes no sense; MR_ECONFIG the plan cannot finish:
 * the text has the cycle, or names the instruction whose input no instruction makes.
 */
mr_status mr_plan_walk(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *opts,
		       mr_walk **out) MR_MUST_USE;
void mr_walk_destroy(mr_walk *walk);

/** The period alone, without further options; 0 for a plan without a body. Errors as above. */
mr_status mr_plan_period(const mr_plan *plan, const mr_cost *cost, bool unlimited, double *period) MR_MUST_USE;

/**
 * Find which worker takes which W in @n_bodies iterations of @plan, which is lowered and whose contract has steal:
 * [*@n] moves in *@out for mr_steal_plan; the caller frees them. Errors: those of mr_plan_walk.
 */
mr_status mr_walk_steals(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *opts,
			 mr_steal **out, size_t *n) MR_MUST_USE;

/** Put @n_workers on @n_nodes in equal runs, workers 0, 1, ... on node 0: fills @node [n_workers]. */
void mr_nodes_spread(uint16_t n_workers, uint16_t n_nodes, uint16_t *node);
/** Are there two workers on different nodes? */
bool mr_nodes_are_apart(const uint16_t *node, uint16_t n_workers);

/** Fill @stage [plan->n_stages] with shares of a worker's costs (f, i, w times D/S; all else 0), and @cost with it. */
void mr_cost_share(const mr_plan *plan, double f, double i, double w, mr_stage_cost *stage, mr_cost *cost);

#endif
