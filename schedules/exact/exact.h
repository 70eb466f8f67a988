/*
 * exact.h - the shortest order of a placement with one pipe, or how far it may still be away.
 *
 * Passes are split in halves and micro-batches alike (exact_job.h); costs, hand-overs between workers and a limit of
 * activations a worker are given. In turn, until the makespan and its lower bound meet:
 *   1. the least makespan that windows do not refute (exact_window.h), which begin with what crossings of micro-batches
 *      allow (exact_cross.h) if each worker has one stage;
 *   2. an order by beams where room decides (exact_beam.h), and swaps on the longest path of the shortest order
 *      (exact_order.h) in turns with sections of it that are found anew (exact_patch.h); beams and sections only if
 *      enough swaps are asked for, and for one stage a worker;
 *   3. the same bound with each open pair of passes on trial;
 *   4. a tree search (exact_tree.h): first for an order as short as the bound, which raises the bound where there is
 *      none; when that takes too many nodes, for any order shorter than the best one.
 * The measure of work is nodes: how often windows are narrowed. No clock is read: the same arguments, the same order.
 */
#ifndef MR_SCHEDULES_EXACT_H
#define MR_SCHEDULES_EXACT_H

#include "schedules/exact/exact_order.h"

typedef struct mr_exact_result {
	double makespan, bound;  /* of the order; no order of the problem is shorter than the bound */
	uint64_t nodes;          /* made */
} mr_exact_result;

/**
 * Shorten *@order, whose passes begin at @begin [3][S][T] (mr_list_rank_at), into passes of @job in the order in which
 * workers carry them out. At most about @nodes nodes and @steps swaps. Errors: MR_ECONFIG a cap below the floor;
 * MR_EINVAL @begin keeps more than the cap; MR_ERESOURCE.
 */
mr_status mr_exact_solve(const mr_exact_job *job, const int64_t *begin, uint64_t nodes, uint64_t steps,
			 mr_exact_order *order, mr_exact_result *out) MR_MUST_USE;

#endif
