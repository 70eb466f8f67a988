/*
 * exact_tree.h - is there an order of a problem (exact_job.h) that ends by a target? A tree search without a clock.
 *
 * A node has the first passes of each chain in their places, in order of time. Of the passes that could come next the
 * one that would end first decides the worker; one of those that can begin there before that end comes next (Giffler
 * and Thompson 1960: some shortest order is among these, for if the next pass there began later, the one that ends
 * first could be put before it, and no pass would be later). Windows (exact_window.h) are narrowed at each node, which
 * refutes most of them. A node with the same passes done as an earlier one, and none of its workers free nor outputs
 * there earlier, is left out: micro-batches are alike, so counts of passes say all about the past.
 */
#ifndef MR_SCHEDULES_EXACT_TREE_H
#define MR_SCHEDULES_EXACT_TREE_H

#include "schedules/exact/exact_order.h"
#include "schedules/exact/exact_window.h"

/* Problems of more passes than this get no tree. */
#define MR_EXACT_TREE_PASSES 2000u

typedef enum mr_exact_answer { MR_EXACT_NONE, MR_EXACT_FOUND, MR_EXACT_UNKNOWN } mr_exact_answer;

/** *@answer: FOUND, with an order in @out that ends by @target; NONE; or UNKNOWN after @most nodes. @root:
 * windows narrowed for @target or a later one. Errors: MR_ERESOURCE. */
mr_status mr_exact_tree(const mr_exact_job *job, mr_exact_narrower *narrower, const mr_exact_window *root,
			int64_t target, uint64_t most, mr_exact_order *out, mr_exact_answer *answer) MR_MUST_USE;

#endif
