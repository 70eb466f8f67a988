/*
 * lower_internal.h - the steps of the lowering, in the order in which lower.c takes them. For files of the lowering
 * only.
 */
#ifndef MR_LOWER_LOWER_INTERNAL_H
#define MR_LOWER_LOWER_INTERNAL_H

#include "ir/unroll.h"
#include "lower/lower.h"

/** Mark first sums and add AR, N and U (or MR_INSTR_UPDATE) with their targets. */
mr_status mr_lower_commits(mr_plan *plan, const mr_lower_opts *opts) MR_MUST_USE;

/* In place of an index: at the end of the list. */
#define MR_AT_END UINT32_MAX

/* Where and in which order stages are reduced and stepped. */
typedef struct mr_steps {
	uint32_t *before; /* [P][S] the instruction of its worker's list before which AR stands, or MR_AT_END */
	uint16_t *stages; /* [S] all stages, in the order in which their gradients are complete */
} mr_steps;

/** Fill @steps. @g is the plan, not lowered yet, as unrolled; @order a topological order of it. Errors: MR_ERESOURCE.
 */
mr_status mr_lower_eager(const mr_plan *plan, const mr_unroll *g, const uint32_t *order, mr_steps *steps) MR_MUST_USE;

/** Set read on F, R, B, I, W and the version buffers of each stage. */
mr_status mr_lower_versions(mr_plan *plan) MR_MUST_USE;

/**
 * Choose the kind of storage; set the activation slots, and the boundaries inside one worker, to the peak by list
 * order; set the boundaries between workers to their starting numbers. Sets plan->lowered.
 */
mr_status mr_lower_storage(mr_plan *plan, const mr_lower_opts *opts) MR_MUST_USE;

/** Raise boundaries between workers until unlimited buffers would not be faster. */
mr_status mr_lower_raise(mr_plan *plan, const mr_lower_opts *opts) MR_MUST_USE;

/**
 * MR_STORED: number the buffers of one boundary between workers in the lists of iteration 0 of @g (`out` of the
 * writers, `in` of the readers). Errors: MR_ECONFIG when no numbering works with that number of buffers.
 */
mr_status mr_lower_number(mr_plan *plan, const mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward) MR_MUST_USE;

/* The instruction behind a node, for writing: the lowering owns the lists that its graphs borrow. */
static inline mr_instr *mr_lower_instr(const mr_unroll *g, uint32_t node)
{
	return (mr_instr *)(uintptr_t)g->at[node].in;
}

#endif
