/*
 * lower.h - from the compute instructions of a schedule to a plan that can be carried out.
 *
 * In: a plan with its contract, its placement and F, B, I, W, R. Out: the same lists plus
 *   - AR, N, U (deps.h says what they wait for and which worker carries them out). Their places:
 *       no clipping, no AR   U directly behind the last B|W of its count at that stage
 *       clipping             N directly behind the last B|W; every U of a worker at the end of its list
 *       AR                   at the end of the worker's list: stage by stage its AR and U; with clipping all AR, then
 *                            all N, then all U. Several pipes: in a gap before that, without waits (lower_eager.c)
 *       released sums        AR and U behind the last B|W of the next lower stage that trains
 *       replicas of stages   AR (of several parts) and U directly behind the B of the part
 *       VALIDATED            as with clipping, and V of all its stages in front of a worker's first instruction that is
 *                            no F
 *     Hence on every worker compute < AR < N < U wherever an edge crosses workers (U waits for the AR before it alone
 *     where there is no N), except for AR and U in a gap, which are placed by time. Edges only lead from left to
 *     right: no cycle that the compute instructions did not have can arise.
 *   - read, target, MR_INSTR_FIRST_SUM: found by walking the lists under the contract's rule; a schedule never states a
 *     version.
 *   - version buffers of each stage (cap): 1 + the largest distance between latest and a version read, at the place of
 *     the read; VALIDATED: 2, for steps that are rolled back.
 *   - MR_INSTR_ANY: if the contract has `steal`, on the W of each worker's tail.
 *   - MR_INSTR_DROP: on each F whose micro-batch is recomputed at that stage.
 *   - activation slots: exactly the peak in flight by list order; a recomputed F counts while it runs, and its R from
 *     there on (MR_MODULO: the smallest n >= peak for which the numbers do not
 *     clash). Racing: at every stage but the last as many as at stage 0, and as many forward buffers.
 *   - boundary buffers. Inside one worker: exactly the peak by list order. Between workers: micro-batches in
 *     flight at the consumer + 1 forward, gradients in flight at the consumer + 1 backward, between hosts at least
 *     those in flight at the stage before, and then one more at a time where a critical path waits for one, until
 *     makespan and period equal those with unlimited buffers, for the cost ratios f : i : w of 1:1:1, 2:1:1, 2:2:1,
 *     2:3:1 and 2:1:2 (equal stages) and for each of the given cost tables. A number never exceeds the micro-batches
 *     that pass. MR_STORED numbers: the k-th content takes the buffer that is
 *     released (k-n)-th, as first come, first served would give it.
 *
 * Storage is MR_MODULO when the plan repeats without a flush (its iterations overlap) or updates one stage a step, else
 * MR_STORED.
 *
 * Repeating plans: versions are found on enough unrolled iterations that every micro-batch of the prologue has left,
 * then turned into offsets and compared with every unrolled iteration, and with the epilogue; from there on all
 * repeats, shifted.
 */
#ifndef MR_LOWER_LOWER_H
#define MR_LOWER_LOWER_H

#include "ir/cost.h"
#include "ir/plan.h"

typedef struct mr_lower_opts {
	bool update_inside;   /* MR_INSTR_UPDATE on the completing B or W in place of a U (not with clipping or AR) */
	bool handoff_first; /* except in a flushing plan where another worker waits for the gradient that the same B
	                       sends on: it would wait for the step, too, and with it the whole drain of the pipeline */
	const mr_plan *room; /* a plan of the same stages: boundaries between workers, and weights, get at least as many
				buffers as it has, so that an order that is possible there is possible here; NULL: no
				such plan. Borrowed */
	const uint16_t *host; /* [n_workers] the host of each; NULL: all on one. Borrowed */
	const mr_cost *costs; /* further cost tables that boundary buffers must not slow down; borrowed */
	uint32_t n_costs;
	uint64_t *visits;     /* incremented for each time an instruction is ordered or timed while buffers are raised;
	                         NULL: not counted */
} mr_lower_opts;

/**
 * Lower @plan in place. @opts may be NULL (all zero). On error the plan is left half lowered: destroy it.
 * Errors: MR_EINVAL already lowered or not compute only; MR_ECONFIG the contract cannot be kept: clipping without a
 * barrier, tied weights or several pipes without a flush (stage replicas excepted), gradients of two counts
 * interleaved, a deadlock (the text has the cycle).
 */
mr_status mr_plan_lower(mr_plan *plan, const mr_lower_opts *opts) MR_MUST_USE;

#endif
